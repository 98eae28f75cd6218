"""PDNET's residual tower for distance maps (Adhikari 2020, after DEEPCON), with XD in its blocks.

    h ← conv₁ₓ₁( σ BN x )                                    or conv₃ₓ₃( x ), if x comes scaled
    h ← h + conv( σ dropout conv( σ BN h ) )                 B times, 3 × 3, the second one dilated
    y = σ₊( conv( σ BN h ) )                                 ≥ 0

It is named by its 2B + 2 convolutions.  In "xd-grid" and "xd-hybrid" those of the blocks become XD
operations that start as the same function.

Published is σ₊ = ReLU.  Distances are positive, and a step that makes the output negative
everywhere leaves a ReLU without any gradient, for good.  So σ₊ is the softplus log(1 + eʸ) unless
asked otherwise: the same to within 0.02 from 4 (Å) on, and it always learns.  For masks of images y
is a logit, of either sign, as is the scaled image x, which no ReLU may cut.
"""

from collections.abc import Callable, Sequence
from itertools import cycle, islice

import torch.nn.functional as F
from torch import Tensor, nn

from sciops.operators import AbstractOperator
from sciops.operators.operator import whole_numbers
from sciops.suggestions import did_you_mean
from sciops.task import Task

from .relaxed_convs import RELAXED as OPERATORS
from .relaxed_convs import applied, relaxed

OUTPUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "softplus": F.softplus,
    "relu": F.relu,
    "logits": lambda y: y,
}
CYCLE = (1, 2, 4)  # dilations of successive blocks of "dilated"


class Block(nn.Module):
    """h + second( σ dropout first( σ BN h ) )."""

    def __init__(self, width: int, first: nn.Module, second: nn.Module, dropout: float):
        super().__init__()
        self.norm, self.dropout = nn.BatchNorm2d(width), nn.Dropout(dropout)
        self.first, self.second = first, second

    def forward(self, h: Tensor, coords: tuple[Tensor, ...] | None) -> Tensor:
        inner = applied(self.first, F.relu_(self.norm(h)), coords)
        inner = applied(self.second, F.relu_(self.dropout(inner)), coords)
        return inner.add_(h)


class ResNet(nn.Module):
    """From the input channels of a task to its target channels.

    op:        "conv", "dilated", "xd-grid" (of the task's window only) or "xd-hybrid"
    depth:     convolutions in a row, 2B + 2
    dilations: of successive blocks, over and over; (1, 2, 4) if dilated, else (1,)
    output:    "softplus" or "relu", never negative, or "logits"
    scaled:    whether x comes scaled, so that it is neither normalised nor cut at zero
    options:   of the XD operations: `k_depth`, the depth of their K-matrices; those of `Hybrid`
    """

    def __init__(
        self,
        task: Task,
        op: str = "conv",
        *,
        depth: int = 18,
        width: int = 64,
        dilations: Sequence[int] | None = None,
        dropout: float = 0.3,
        output: str = "softplus",
        scaled: bool = False,
        **options,
    ):
        super().__init__()
        dilations = (CYCLE if op == "dilated" else (1,)) if dilations is None else dilations
        _check(task, op, depth, output)
        dilations = whole_numbers(dilations, len(dilations), "dilations")
        self.task, self.output = task, output
        mode = "circular" if all(axis.periodic for axis in task.axes) else "zeros"
        first = _conv(task.in_channels, width, 3 if scaled else 1, 1, mode)
        before = [] if scaled else [nn.BatchNorm2d(task.in_channels), nn.ReLU()]
        self.lift = nn.Sequential(*before, first)
        self.blocks = nn.ModuleList(
            Block(width, *(_conv(width, width, 3, d, mode) for d in (1, dilation)), dropout)
            for dilation in islice(cycle(dilations), depth // 2 - 1)
        )
        self.norm = nn.BatchNorm2d(width)
        self.project = _conv(width, task.out_channels, 3, 1, mode)
        window = tuple(axis.size for axis in task.axes)
        for block in self.blocks:  # when all weights are drawn: the same in every op
            block.first = relaxed(op, block.first, window, options, ResNet)
            block.second = relaxed(op, block.second, window, options, ResNet)

    @property
    def reach(self) -> int | None:
        """How many points away an output sees the input; None if it sees all of it."""
        layers = [layer for block in self.blocks for layer in (block.first, block.second)]
        if any(isinstance(layer, AbstractOperator) for layer in layers):
            return None
        return sum(conv.padding[0] for conv in (self.lift[-1], *layers, self.project))

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, n, m) -> (batch, out_channels, n, m).

        coords: points of each axis in units of the task's window, for "xd-hybrid"; None are those
        of a window that starts at 0
        """
        h = self.lift(x)
        for block in self.blocks:
            h = block(h, coords)
        return OUTPUTS[self.output](self.project(F.relu_(self.norm(h))))


def _conv(in_channels: int, out_channels: int, kernel: int, dilation: int, mode: str) -> nn.Conv2d:
    padding = dilation * (kernel // 2)
    conv = nn.Conv2d(
        in_channels, out_channels, kernel, padding=padding, dilation=dilation, padding_mode=mode
    )
    nn.init.xavier_uniform_(conv.weight, nn.init.calculate_gain("relu"))
    nn.init.zeros_(conv.bias)
    return conv


def _check(task: Task, op: str, depth: int, output: str) -> None:
    if len(task.axes) != 2:
        raise ValueError(f"a tower for maps has two axes, but {task.name!r} has {len(task.axes)}")
    for name, value, known in (("op", op, OPERATORS), ("output", output, OUTPUTS)):
        if value not in known:
            raise ValueError(
                f"there is no {name}={value!r}; there are {', '.join(known)}"
                f"{did_you_mean(value, known)}"
            )
    if not isinstance(depth, int) or depth < 4 or depth % 2:
        raise ValueError(
            f"depth={depth!r} must be an even number ≥ 4: two convolutions to a block, one before "
            "and one behind all blocks"
        )
