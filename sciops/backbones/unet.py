"""A U-Net: the strong baseline without any spectral layer.

Two 3-point convolutions at each level, averages of 2 points down, interpolation up, skip
connections.  Works on every size, but its kernels are grid points, so it means something else on
another grid.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sciops.operators.convolution import Convolution
from sciops.task import Task

from .positions import position_channels, positions, unit_points

WIDTHS = {1: 32, 2: 32, 3: 16}  # of the first level, by dimension; doubled at each
POOLS = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
MODES = ("linear", "bilinear", "trilinear")


class Level(nn.Sequential):
    """Two convolutions, each normalised over groups of channels."""

    def __init__(self, in_channels: int, out_channels: int, periodic: tuple[bool, ...]):
        layers: list[nn.Module] = []
        for channels in (in_channels, out_channels):
            kernel = (3,) * len(periodic)
            conv = Convolution(channels, out_channels, kernel, periodic=periodic)
            layers += [conv, nn.GroupNorm(min(8, out_channels), out_channels), nn.GELU()]
        super().__init__(*layers)


class UNet(nn.Module):
    """From the input channels of a task to its target channels, on any grid of enough points.

    levels: None is 4, or as many as halve the shortest axis of the task to 2 points
    """

    def __init__(self, task: Task, *, width: int | None = None, levels: int | None = None):
        super().__init__()
        if levels is None:
            levels = max(1, min(4, int(math.log2(min(axis.size for axis in task.axes)))))
        self.task, ndim = task, len(task.axes)
        width = WIDTHS[ndim] if width is None else width
        periodic = tuple(axis.periodic for axis in task.axes)
        widths = [width * 2**i for i in range(levels)]
        before = [task.in_channels + position_channels(task), *widths[:-1]]
        pairs = zip(before, widths, strict=True)
        self.down = nn.ModuleList(Level(a, b, periodic) for a, b in pairs)
        self.up = nn.ModuleList(
            Level(small + large, small, periodic)
            for small, large in zip(widths[-2::-1], widths[:0:-1], strict=True)
        )
        self.project = nn.Conv1d(widths[0], task.out_channels, 1)

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *n) -> (batch, out_channels, *n)."""
        ndim, size = x.ndim - 2, tuple(x.shape[2:])
        least = 2 ** (len(self.down) - 1) * 2
        if min(size) < least:
            raise ValueError(
                f"a U-Net of {len(self.down)} levels needs {least} points or more on each axis, "
                f"got {size}; give it fewer levels or a finer grid"
            )
        points = unit_points(self.task, size) if coords is None else coords
        where = positions(self.task, points, x).expand(len(x), *[-1] * (x.ndim - 1))
        halve = partial(POOLS[ndim - 1], kernel_size=2, ceil_mode=True)
        up = [partial(_with_interpolated, level) for level in self.up]
        h = down_and_up(torch.cat([x, where], 1), self.down, halve, up)
        return self.project(h.flatten(2)).unflatten(2, size)


def _with_interpolated(level: nn.Module, skip: Tensor, h: Tensor) -> Tensor:
    h = F.interpolate(h, skip.shape[2:], mode=MODES[h.ndim - 3], align_corners=False)
    return level(torch.cat([skip, h], 1))


def down_and_up(
    x: Tensor,
    down: Iterable[Callable[[Tensor], Tensor]],
    halve: Callable[[Tensor], Tensor],
    up: Iterable[Callable[[Tensor, Tensor], Tensor]],
) -> Tensor:
    """Through the levels of a U-Net; those on the way up see what was there on the way down, too.

    up: from that and from h of the level below
    """
    first, *others = down
    h, skips = first(x), []
    for level in others:
        skips.append(h)
        h = level(halve(h))
    for level, skip in zip(up, reversed(skips), strict=True):
        h = level(skip, h)
    return h
