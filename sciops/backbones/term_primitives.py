"""Primitives of terms, by name: layers from `channels` to as many, sized from the Task.

    conv3 conv5 …         convolutions of so many taps an axis; pointwise has one tap and a bias
    dilated3 …            the same, taps two points apart;  depthwise3 …  each channel by itself
    fourier8 …            Fourier layers of so many frequencies of each sign, an even number
    xd8 …                 XD that starts as such a layer;  xdconv5 …  as a convolution of 5 × 5 taps
    xdgrid3 …             XD as published, on the grid of the Task only
    spatial_attention, channel_attention             x ⊙ A(x)
    dynamic_conv_3, dynamic_conv_5                   x ⊛ D(x)
    sep_conv_3, dil_conv_3, avg_pool_3, …            the feature transformations of DARTS
    avg_pool, max_pool                               over 3 points an axis
    relu, gelu, …                                    activations
    batch, instance, layer                           normalisation; layer: over channels and points
    lift16 …              pointwise, to so many channels
    down                  the mean over 3 points at every second one
    resBlock              of NAS-Bench-201: half the grid, twice the channels

All but the last two rows keep the grid, and all but lifts and resBlock the channels.
"""

import math
import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from sciops.operators.boundaries import (
    SameConvolution,
    average_of_3,
    batch_norm,
    maximum_of_3,
)
from sciops.operators.calibration import ATTENTIONS, KERNELS, dynamic_convolution
from sciops.operators.features import FEATURES
from sciops.suggestions import did_you_mean
from sciops.task import Task

from .choice import make_operator
from .fno_cnn import CONVOLUTIONS

NUMBERED = re.compile(r"([a-z]+?)([1-9]\d{0,2})")


class Part(NamedTuple):
    """A layer and what comes out of it.

    placed: whether it wants the coordinates of its points
    """

    module: nn.Module
    channels: int
    halvings: int = 0
    placed: bool = False


class Attended(nn.Module):
    """x ⊙ A(x)."""

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor) -> Tensor:
        return x * self.attention(x)


class DynamicConvolution(nn.Module):
    """x ⊛ D(x)."""

    def __init__(self, kernel: nn.Module, periodic: tuple[bool, ...]):
        super().__init__()
        self.kernel, self.periodic = kernel, periodic

    def forward(self, x: Tensor) -> Tensor:
        return dynamic_convolution(x, self.kernel(x), self.periodic)


class Pooling(nn.Module):
    """A pooling function over 3 points an axis."""

    def __init__(self, pool: Callable[..., Tensor], periodic: tuple[bool, ...], stride: int = 1):
        super().__init__()
        self.pool, self.periodic, self.stride = pool, periodic, stride

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(x, self.periodic, self.stride)


class Damped(nn.Module):
    """An operator divided by the root of its taps (see `fno_cnn`)."""

    def __init__(self, operator: nn.Module, taps: int):
        super().__init__()
        self.operator, self.gain = operator, 1 / math.sqrt(taps)

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        return self.gain * self.operator(x, coords)


class ResidualHalving(nn.Module):
    """Twice ReLU, convolution, norm, the first of stride 2; beside it mean of 2 and 1 × 1."""

    def __init__(self, channels: int, periodic: tuple[bool, ...]):
        super().__init__()
        out, n_axes = 2 * channels, len(periodic)
        self.periodic = periodic
        self.inner = nn.Sequential(
            nn.ReLU(),
            SameConvolution(channels, out, 3, periodic=periodic, stride=2),
            batch_norm(out, n_axes, affine=True),
            nn.ReLU(),
            SameConvolution(out, out, 3, periodic=periodic),
            batch_norm(out, n_axes, affine=True),
        )
        self.shortcut = SameConvolution(channels, out, 1, periodic=periodic)

    def forward(self, x: Tensor) -> Tensor:
        pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[len(self.periodic) - 1]
        mean = pool(x, 2, 2, ceil_mode=True, count_include_pad=False)
        return self.inner(x) + self.shortcut(mean)


def periodic_axes(task: Task) -> tuple[bool, ...]:
    return tuple(axis.periodic for axis in task.axes)


def _convolution(channels: int, task: Task, number: int, **options) -> Part:
    conv = SameConvolution(channels, channels, number, periodic=periodic_axes(task), **options)
    return Part(conv, channels)


def _depthwise(channels: int, task: Task, number: int) -> Part:
    return _convolution(channels, task, number, groups=channels)


def _operator(channels: int, task: Task, number: int, *, op: str, option: str) -> Part:
    operator = make_operator(op, channels, task, **{option: number})
    if op == "xd" and option == "taps":
        operator = Damped(operator, number ** len(task.axes))
    return Part(operator, channels, placed=op != "xd-grid")


def _lift(channels: int, task: Task, number: int) -> Part:
    return Part(CONVOLUTIONS[len(task.axes) - 1](channels, number, 1), number)


def _down(channels: int, task: Task) -> Part:
    return Part(Pooling(average_of_3, periodic_axes(task), stride=2), channels, halvings=1)


def _residual_halving(channels: int, task: Task) -> Part:
    return Part(ResidualHalving(channels, periodic_axes(task)), 2 * channels, halvings=1)


def _plain(channels: int, task: Task, *, make: Callable[[int, tuple[bool, ...]], nn.Module]):
    return Part(make(channels, periodic_axes(task)), channels)


def _pointwise(channels: int, periodic: tuple[bool, ...]) -> nn.Module:
    return CONVOLUTIONS[len(periodic) - 1](channels, channels, 1)


ACTIVATIONS = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
    "hardswish": nn.Hardswish,
    "mish": nn.Mish,
}
PLAIN: dict[str, Callable[[int, tuple[bool, ...]], nn.Module]] = {
    **{name: lambda c, p, make=make: make() for name, make in ACTIVATIONS.items()},
    "batch": lambda c, p: batch_norm(c, len(p), affine=True),
    "instance": lambda c, p: nn.GroupNorm(c, c),
    "layer": lambda c, p: nn.GroupNorm(1, c),
    "pointwise": _pointwise,
    "avg_pool": lambda c, p: Pooling(average_of_3, p),
    "max_pool": lambda c, p: Pooling(maximum_of_3, p),
    **{
        name: lambda c, p, make=make: make(c, p, stride=1, affine=True)
        for name, make in FEATURES.items()
        if name != "identity"
    },
    **{
        name: lambda c, p, make=make: Attended(make(c, p, stride=1, affine=True))
        for name, make in ATTENTIONS.items()
    },
    **{
        name: lambda c, p, make=make: DynamicConvolution(make(c, p, stride=1, affine=True), p)
        for name, make in KERNELS.items()
    },
}
PRIMITIVES: dict[str, Callable[[int, Task], Part]] = {
    **{name: partial(_plain, make=make) for name, make in PLAIN.items()},
    "down": _down,
    "resBlock": _residual_halving,
}
NUMBERED_PRIMITIVES: dict[str, Callable[[int, Task, int], Part]] = {
    "conv": _convolution,
    "dilated": partial(_convolution, dilation=2),
    "depthwise": _depthwise,
    "fourier": partial(_operator, op="fno", option="frequencies"),
    "xd": partial(_operator, op="xd", option="frequencies"),
    "xdconv": partial(_operator, op="xd", option="taps"),
    "xdgrid": partial(_operator, op="xd-grid", option="taps"),
    "lift": _lift,
}


def make_primitive(name: str, channels: int, task: Task) -> Part:
    """The layer that a primitive names, for so many channels and the axes of a task."""
    expect_primitive(name)
    if name in PRIMITIVES:
        return PRIMITIVES[name](channels, task)
    base, number = NUMBERED.fullmatch(name).groups()
    return NUMBERED_PRIMITIVES[base](channels, task, int(number))


def expect_primitive(name: str) -> None:
    """ValueError, with the nearest name, if no layer is named like that.

    >>> expect_primitive("conv3")
    """
    numbered = NUMBERED.fullmatch(name)
    if name in PRIMITIVES or (numbered and numbered[1] in NUMBERED_PRIMITIVES):
        return
    known = ", ".join([*PRIMITIVES, *(f"{base}N" for base in NUMBERED_PRIMITIVES)])
    number = name[len(name.rstrip("0123456789")) :] or "3"
    near = did_you_mean(name, [*PRIMITIVES, *(base + number for base in NUMBERED_PRIMITIVES)])
    raise ValueError(
        f"there is no primitive {name!r}; there are id, zero, {known}, N a number{near}"
    )
