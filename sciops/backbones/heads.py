"""From what cells or residual units hold to the answer: one for a sample, or one at each point."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sciops.operators.boundaries import SameConvolution, batch_norm

MODES = ("linear", "bilinear", "trilinear")


class GlobalHead(nn.Module):
    """The mean over all points of the last stage, then a linear map: (batch, out_channels)."""

    def __init__(self, channels: Sequence[int], out_channels: int):
        super().__init__()
        self.linear = nn.Linear(channels[-1], out_channels)

    def forward(self, stages: Sequence[Tensor], size: tuple[int, ...]) -> Tensor:
        return self.linear(stages[-1].flatten(2).mean(2))


class FieldHead(nn.Module):
    """All stages on the grid of the first, added up, then 1 × 1: (batch, out_channels, *size).

    channels: of each stage
    factors:  how many points of the grid each of them has to one of its own
    width:    channels of the sum
    """

    def __init__(
        self,
        channels: Sequence[int],
        factors: Sequence[int],
        width: int,
        out_channels: int,
        periodic: tuple[bool, ...],
    ):
        super().__init__()
        self.factors, self.periodic = tuple(factors), periodic
        self.reduce = nn.ModuleList(
            SameConvolution(c, width, 1, periodic=periodic) for c in channels
        )
        self.norm = batch_norm(width, len(periodic), affine=True)
        self.project = nn.Conv1d(width, out_channels, 1)

    def forward(self, stages: Sequence[Tensor], size: tuple[int, ...]) -> Tensor:
        fine = [
            refined(reduce(stage), factor, size, self.periodic)
            for reduce, stage, factor in zip(self.reduce, stages, self.factors, strict=True)
        ]
        hidden = F.relu(self.norm(sum(fine[1:], fine[0])))
        return self.project(hidden.flatten(2)).unflatten(2, size)


def refined(x: Tensor, factor: int, size: tuple[int, ...], periodic: tuple[bool, ...]) -> Tensor:
    """Linear interpolation to `size` points where point j of x is point j · factor.

    Behind its last point a periodic axis goes on with its first one, others stay as they are.
    """
    if factor == 1:
        return x
    for axis, circular in enumerate(periodic):
        end = x.narrow(2 + axis, 0 if circular else x.shape[2 + axis] - 1, 1)
        x = torch.cat([x, end], 2 + axis)
    whole = [factor * (n - 1) + 1 for n in x.shape[2:]]
    x = F.interpolate(x, whole, mode=MODES[len(size) - 1], align_corners=True)
    for axis, n in enumerate(size):
        x = x.narrow(2 + axis, 0, n)
    return x
