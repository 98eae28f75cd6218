"""Convolutions and pooling along any axes, each axis continued as its boundary says.

Beyond the end of a periodic axis are the points of its other end; beyond other ends there are zeros
for a convolution and nothing for pooling.  With stride s the outputs stand at points 0, s, 2s, …:
n points become ⌈n/s⌉, whatever n and the kernel.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .convolution import CONVOLUTIONS

AVERAGES = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
MAXIMA = (F.max_pool1d, F.max_pool2d, F.max_pool3d)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def continued(x: Tensor, reach: int, periodic: tuple[bool, ...]) -> tuple[Tensor, tuple[int, ...]]:
    """x with `reach` more points at both ends of periodic axes; the padding the others need."""
    for axis, circular in enumerate(periodic):
        if circular and reach:
            x = _wrapped(x, reach, 2 + axis)
    return x, tuple(0 if circular else reach for circular in periodic)


def _wrapped(x: Tensor, reach: int, axis: int) -> Tensor:
    n = x.shape[axis]
    if reach <= n:
        return torch.cat([x.narrow(axis, n - reach, reach), x, x.narrow(axis, 0, reach)], axis)
    points = torch.arange(-reach, n + reach, device=x.device) % n  # more than once around
    return x.index_select(axis, points)


def same_convolution(
    x: Tensor,
    weight: Tensor,
    periodic: tuple[bool, ...],
    *,
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """(batch, in, *n) -> (batch, out, *⌈n/stride⌉) with a weight (out, in/groups, k, …), k odd."""
    x, padding = continued(x, dilation * (weight.shape[-1] // 2), periodic)
    convolve = CONVOLUTIONS[len(periodic) - 1]
    return convolve(x, weight, None, stride, padding, dilation, groups)


class SameConvolution(nn.Module):
    """A convolution of odd kernel size without bias.

    >>> SameConvolution(2, 4, 5, periodic=(True, False), stride=2)(torch.zeros(1, 2, 7, 8)).shape
    torch.Size([1, 4, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        periodic: tuple[bool, ...],
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
    ):
        super().__init__()
        if kernel_size % 2 == 0:
            raise ValueError(f"expected an odd kernel_size, which has a centre, got {kernel_size}")
        shape = out_channels, in_channels // groups, *[kernel_size] * len(periodic)
        self.weight = nn.Parameter(torch.empty(shape))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        self.periodic = periodic
        self.options = dict(stride=stride, dilation=dilation, groups=groups)

    def forward(self, x: Tensor) -> Tensor:
        return same_convolution(x, self.weight, self.periodic, **self.options)

    def extra_repr(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"weight={tuple(self.weight.shape)}, {options}"


def average_of_3(x: Tensor, periodic: tuple[bool, ...], stride: int = 1) -> Tensor:
    """The mean over the points within 1 of each, those beyond an end not counted."""
    x, padding = continued(x, 1, periodic)
    pool = AVERAGES[len(periodic) - 1]
    return pool(x, 3, stride, padding, count_include_pad=False)


def maximum_of_3(x: Tensor, periodic: tuple[bool, ...], stride: int = 1) -> Tensor:
    """The largest of the points within 1 of each."""
    x, padding = continued(x, 1, periodic)
    return MAXIMA[len(periodic) - 1](x, 3, stride, padding)


def batch_norm(channels: int, n_axes: int, *, affine: bool) -> nn.Module:
    """Batch normalisation of (batch, channels, *space)."""
    return NORMS[n_axes - 1](channels, affine=affine)
