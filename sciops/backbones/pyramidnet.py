"""PyramidNet (Han et al. 2017, arXiv:1610.02915): a residual network that widens at every unit.

    h ← pad(h) + norm( conv … ReLU( norm( conv( norm(h) ))))       w_u = 16 + α u / U,  u = 1 … U

The channels rise by the same number at each of the U units, three stages of U/3 each; the shortcut
is filled up with zeros, and averaged over 2 points where the grid is halved, at the beginning of
the second and the third stage.  A bottleneck unit goes 1 × 1, 3 × 3, 1 × 1 and has 4 w_u outputs.

It is the teacher of Neural Operator Search: 12 bottleneck units a stage (110 layers), α = 84.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from sciops.operators.boundaries import AVERAGES, SameConvolution, batch_norm

from .heads import FieldHead, GlobalHead
from .staged import AbstractStaged

FIRST_WIDTH = 16
EXPANSION = 4  # outputs of a bottleneck to its inner channels


class Unit(nn.Module):
    """One residual unit; `out_channels` of a bottleneck are 4 times its inner ones."""

    def __init__(
        self,
        in_channels: int,
        width: int,
        periodic: tuple[bool, ...],
        *,
        stride: int,
        bottleneck: bool,
    ):
        super().__init__()
        self.stride = stride
        self.out_channels = EXPANSION * width if bottleneck else width
        kernels = (1, 3, 1) if bottleneck else (3, 3)
        strides = (1, stride, 1) if bottleneck else (stride, 1)
        sizes = [in_channels, *[width] * (len(kernels) - 1), self.out_channels]
        layers = [batch_norm(in_channels, len(periodic), affine=True)]
        for i, (kernel, step) in enumerate(zip(kernels, strides, strict=True)):
            options = dict(periodic=periodic, stride=step)
            layers.append(SameConvolution(sizes[i], sizes[i + 1], kernel, **options))
            layers.append(batch_norm(sizes[i + 1], len(periodic), affine=True))
            layers.append(nn.ReLU())
        self.inner = nn.Sequential(*layers[:-1])

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.stride == 1 else AVERAGES[x.ndim - 3](x, 2, ceil_mode=True)
        missing = self.out_channels - x.shape[1]
        return F.pad(shortcut, [0, 0] * (x.ndim - 2) + [0, missing]) + self.inner(x)


def _stage(
    channels: int,
    widths: list[int],
    periodic: tuple[bool, ...],
    *,
    stride: int,
    bottleneck: bool,
) -> nn.Sequential:
    units: list[Unit] = []
    for width in widths:
        step = 1 if units else stride
        units.append(Unit(channels, width, periodic, stride=step, bottleneck=bottleneck))
        channels = units[-1].out_channels
    return nn.Sequential(*units)


class PyramidNet(AbstractStaged):
    """(batch, in_channels, *n) -> (batch, out_channels), or (batch, out_channels, *n) if dense.

    periodic: whether each axis is, which also says how many there are
    units:    of each of the three stages
    widening: α
    halving:  whether the second and the third stage halve the grid

    >>> teacher = PyramidNet(3, 10, (False, False), units=12, widening=84, bottleneck=True)
    >>> round(sum(p.numel() for p in teacher.parameters()) / 1e6, 1)
    2.5
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        periodic: tuple[bool, ...],
        *,
        units: int = 2,
        widening: int = 48,
        bottleneck: bool = False,
        dense: bool = False,
        halving: bool = True,
    ):
        super().__init__()
        if units < 1 or widening < 0:
            raise ValueError(f"expected units ≥ 1 and widening ≥ 0, got {units} and {widening}")
        self.stem = nn.Sequential(
            SameConvolution(in_channels, FIRST_WIDTH, 3, periodic=periodic),
            batch_norm(FIRST_WIDTH, len(periodic), affine=True),
        )
        self.stages, ends = nn.ModuleList(), [FIRST_WIDTH]
        for stage in range(3):
            widths = [
                FIRST_WIDTH + round(widening * (stage * units + unit) / (3 * units))
                for unit in range(1, units + 1)
            ]
            stride = 2 if halving and stage else 1
            options = dict(stride=stride, bottleneck=bottleneck)
            self.stages.append(_stage(ends[-1], widths, periodic, **options))
            ends.append(self.stages[-1][-1].out_channels)
        self.norm = batch_norm(ends[-1], len(periodic), affine=True)
        self.head = GlobalHead(ends[1:], out_channels)
        if dense:
            factors = (1, 2, 4) if halving else (1, 1, 1)
            self.head = FieldHead(ends[1:], factors, FIRST_WIDTH + widening, out_channels, periodic)

    def forward_stages(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        hidden, stages = self.stem(x), []
        for stage in self.stages:
            hidden = stage(hidden)
            stages.append(hidden)
        last = F.relu(self.norm(hidden))
        return self.head([*stages[:-1], last], tuple(x.shape[2:])), stages
