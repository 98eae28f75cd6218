"""The network of FNO, with any operator in its blocks.

    h ← lift(x, positions);    h ← σ( norm( g operator(h) + W h ) )  four times;    y = project(h)

lift, W and project act on channels only.  Without positions, and with operators that do, the
network commutes with every shift of a periodic axis, as some equations do.  Two recipes: "paper"
has batch normalisation, ReLU and none after the last block (Roberts et al. 2021 and the first FNO);
"modern" has GELU and no normalisation, on which later FNOs settled.

g = gain/√taps is a constant.  All the taps of a kernel act on one Fourier mode together, so a step
of Adam, of the same size for each, moves a mode by as many steps as there are taps.  Without batch
normalisation to tame it, "modern" divides by their root, which also lets the network start nearly
pointwise, as one with Fourier layers does.  How fast operators should learn beside lift, W and
project is another question: their weights are drawn `gain` times smaller, which leaves the start as
it is, and each step of theirs counts `gain` times.
"""

import math

import torch
from torch import Tensor, nn

from sciops.operators import Fixed
from sciops.suggestions import did_you_mean
from sciops.task import Task

from .choice import make_operator, taps_of
from .positions import position_channels, positions, unit_points

WIDTHS = {1: 64, 2: 32, 3: 20}  # as published, by dimension
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
STYLES = {"paper": nn.ReLU, "modern": nn.GELU}


class Block(nn.Module):
    """σ( norm( g operator(h) + W h ) )."""

    def __init__(
        self, operator: nn.Module, width: int, ndim: int, style: str, gain: float, *, last: bool
    ):
        super().__init__()
        self.operator, self.gain = operator, gain
        self.pointwise = CONVOLUTIONS[ndim - 1](width, width, 1)
        self.norm = NORMS[ndim - 1](width) if style == "paper" else nn.Identity()
        self.activation = nn.Identity() if last else STYLES[style]()

    def forward(self, h: Tensor, coords: tuple[Tensor, ...] | None) -> Tensor:
        of_one_grid = isinstance(self.operator.resolution, Fixed)  # and knows of no other points
        mixed = self.operator(h) if coords is None or of_one_grid else self.operator(h, coords)
        mixed = torch.add(self.pointwise(h), mixed, alpha=self.gain)
        return self.activation(self.norm(mixed))


class FnoCnn(nn.Module):
    """From the input channels of a task to its target channels, on any grid its operators take."""

    def __init__(
        self,
        task: Task,
        op: str = "xd",
        *,
        width: int | None = None,
        blocks: int = 4,
        hidden: int = 128,
        style: str = "modern",
        positions: bool = True,
        gain: float = 1.0,
        **options,
    ):
        super().__init__()
        if style not in STYLES:
            raise ValueError(
                f"style={style!r} is not known; choose one of {', '.join(STYLES)}"
                f"{did_you_mean(style, STYLES)}"
            )
        if blocks < 1:
            raise ValueError(f"blocks={blocks!r} must be a whole number ≥ 1")
        if not isinstance(gain, int | float) or not 0 < gain < math.inf:
            raise ValueError(f"gain={gain!r} must be a positive number")
        ndim = len(task.axes)
        width = WIDTHS[ndim] if width is None else width
        self.task, self.positioned = task, positions
        pointwise = CONVOLUTIONS[ndim - 1]
        channels = task.in_channels + (position_channels(task) if positions else 0)
        self.lift = pointwise(channels, width, 1)
        operators = [make_operator(op, width, task, **options) for _ in range(blocks)]
        with torch.no_grad():
            for operator in operators:
                operator.weight.div_(gain)
        tamed = 1.0 if style == "paper" else 1 / math.sqrt(taps_of(operators[0]))
        self.blocks = nn.ModuleList(
            Block(operator, width, ndim, style, gain * tamed, last=i == blocks)
            for i, operator in enumerate(operators, 1)
        )
        self.project = nn.Sequential(
            pointwise(width, hidden, 1), STYLES[style](), pointwise(hidden, task.out_channels, 1)
        )

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *n) -> (batch, out_channels, *n).

        coords: points of each axis in units of its length, for grids that are not uniform or do not
        reach the ends of the domain
        """
        if self.positioned:
            points = unit_points(self.task, tuple(x.shape[2:])) if coords is None else coords
            where = positions(self.task, points, x).expand(len(x), *[-1] * (x.ndim - 1))
            x = torch.cat([x, where], 1)
        h = self.lift(x)
        for block in self.blocks:
            h = block(h, coords)
        return self.project(h)
