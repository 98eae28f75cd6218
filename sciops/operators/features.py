"""Feature transformations: the seven operations of DARTS (Liu et al. 2019, arXiv:1806.09055).

    sep_conv_3, sep_conv_5    twice ReLU, depthwise convolution, 1 × 1 convolution, batch norm
    dil_conv_3, dil_conv_5    once, taps two points apart
    avg_pool_3, max_pool_3    batch norm after it
    identity                  where it halves the grid: two 1 × 1 convolutions, of the even and of
                              the odd points, side by side

Each maps `(batch, channels, *n)` to `(batch, channels, *⌈n/stride⌉)` in one to three dimensions,
stride 1 or 2.  DARTS has batch norm after pooling in its supernet only; here it stays, so that a
chosen operation computes what it computed while it was searched.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .boundaries import SameConvolution, average_of_3, batch_norm, maximum_of_3

Boundaries = tuple[bool, ...]  # whether each axis is periodic


class Separable(nn.Sequential):
    """ReLU, a convolution of each channel by itself, one across channels, batch norm."""

    def __init__(
        self,
        channels: int,
        periodic: Boundaries,
        *,
        kernel: int,
        stride: int,
        affine: bool,
        dilation: int = 1,
    ):
        each = dict(stride=stride, dilation=dilation, groups=channels)
        super().__init__(
            nn.ReLU(),
            SameConvolution(channels, channels, kernel, periodic=periodic, **each),
            SameConvolution(channels, channels, 1, periodic=periodic),
            batch_norm(channels, len(periodic), affine=affine),
        )


class Pool(nn.Module):
    """A pooling function, then batch norm."""

    def __init__(
        self, channels: int, periodic: Boundaries, *, pool: Callable, stride: int, affine: bool
    ):
        super().__init__()
        self.pool, self.periodic, self.stride = pool, periodic, stride
        self.norm = batch_norm(channels, len(periodic), affine=affine)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.pool(x, self.periodic, self.stride))


class Projection(nn.Sequential):
    """ReLU, 1 × 1 convolution, batch norm: to another number of channels."""

    def __init__(self, in_channels: int, out_channels: int, periodic: Boundaries, *, affine: bool):
        super().__init__(
            nn.ReLU(),
            SameConvolution(in_channels, out_channels, 1, periodic=periodic),
            batch_norm(out_channels, len(periodic), affine=affine),
        )


class Halving(nn.Module):
    """Every second point without loss: the even points make half of the channels, the odd the rest.

    Where the last odd point is missing, it is the first point of a periodic axis, zero of others.
    """

    def __init__(self, in_channels: int, out_channels: int, periodic: Boundaries, *, affine: bool):
        super().__init__()
        if out_channels < 2:
            raise ValueError(f"expected two output channels or more, got {out_channels}")
        self.periodic = periodic
        half = out_channels // 2
        options = dict(periodic=periodic, stride=2)
        self.even = SameConvolution(in_channels, half, 1, **options)
        self.odd = SameConvolution(in_channels, out_channels - half, 1, **options)
        self.norm = batch_norm(out_channels, len(periodic), affine=affine)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(x)
        return self.norm(torch.cat([self.even(x), self.odd(self._next(x))], 1))

    def _next(self, x: Tensor) -> Tensor:
        """At every point the value of the next one, on all axes."""
        for axis, circular in enumerate(self.periodic):
            pad = [0, 0] * (len(self.periodic) - 1 - axis) + [-1, 1]  # counts from the last axis
            x = x.roll(-1, 2 + axis) if circular else F.pad(x, pad)
        return x


def _sep_conv(
    channels: int, periodic: Boundaries, *, kernel: int, stride: int, affine: bool
) -> nn.Module:
    options = dict(kernel=kernel, affine=affine)
    return nn.Sequential(
        Separable(channels, periodic, stride=stride, **options),
        Separable(channels, periodic, stride=1, **options),
    )


def _identity(channels: int, periodic: Boundaries, *, stride: int, affine: bool) -> nn.Module:
    return nn.Identity() if stride == 1 else Halving(channels, channels, periodic, affine=affine)


FEATURES: dict[str, Callable[..., nn.Module]] = {
    "sep_conv_3": partial(_sep_conv, kernel=3),
    "sep_conv_5": partial(_sep_conv, kernel=5),
    "dil_conv_3": partial(Separable, kernel=3, dilation=2),
    "dil_conv_5": partial(Separable, kernel=5, dilation=2),
    "avg_pool_3": partial(Pool, pool=average_of_3),
    "max_pool_3": partial(Pool, pool=maximum_of_3),
    "identity": _identity,
}
