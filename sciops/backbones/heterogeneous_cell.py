"""The heterogeneous cell of Neural Operator Search: features, attention and kernels in one block.

A block computes inner node k from all nodes before it in two tiers, joined by the surrogate k':

    G  = Σᵢ o_f(Fᵢ)     A  = Σᵢ o_a(Fᵢ)     D  = {o_d(Fᵢ)}        first tier, of each node i < k
    F' = G + G ⊙ A + Σ_D G ⊛ D
    G' = o_f(F')        A' = o_a(F')        D' = {o_d(F')}        second tier, of the sum
    Fₖ = G' + G' ⊙ A' + Σ_D' G' ⊛ D'

A *relaxed* block has every operation o on every edge, its output multiplied by a weight p_o; a
*derived* one has the chosen operations only, and no weights.  They are the same class.  Where the
one operation of the second tier is no feature transformation, it calibrates F' itself; so that the
relaxed block says the same, G' = Σ_f p_f o_f(F') + (Σ_a p_a + Σ_d p_d) F'.

A cell makes both of its inputs alike, has some blocks, and returns their outputs side by side.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sciops.operators.calibration import ATTENTIONS, KERNELS, add_kernels, calibrated
from sciops.operators.features import FEATURES, Halving, Projection

from .genotype import OPERATIONS, Node

COLUMNS = {name: column for column, name in enumerate(OPERATIONS)}
FACTORIES = {**FEATURES, **ATTENTIONS, **KERNELS}


class Layout(NamedTuple):
    """What all operations of a cell share."""

    channels: int
    periodic: tuple[bool, ...]
    affine: bool
    drop_path: float = 0.0  # the share of feature transformations left out in training


class Candidates(NamedTuple):
    """The operations of a block: those on each source, and those of the second tier."""

    first: dict[int, tuple[str, ...]]
    second: tuple[str, ...]


def all_candidates(n_nodes: int) -> tuple[Candidates, ...]:
    """Every operation everywhere."""
    return tuple(
        Candidates(dict.fromkeys(range(index), OPERATIONS), OPERATIONS)
        for index in range(2, 2 + n_nodes)
    )


def chosen_candidates(nodes: Sequence[Node]) -> tuple[Candidates, ...]:
    """Those of a genotype."""
    return tuple(
        Candidates({source: (operation,) for source, operation in node.first}, (node.second,))
        for node in nodes
    )


class Signals:
    """Sums of features, of attentions and of kernels; None where there were none."""

    def __init__(self):
        self.features: Tensor | None = None
        self.attention: Tensor | None = None
        self.kernel: Tensor | None = None

    def add(self, operation: str, value: Tensor) -> None:
        if operation in FEATURES:
            self.features = value if self.features is None else self.features + value
        elif operation in ATTENTIONS:
            self.attention = value if self.attention is None else self.attention + value
        else:
            self.kernel = value if self.kernel is None else add_kernels(self.kernel, value)

    def calibrated(self, periodic: tuple[bool, ...]) -> Tensor:
        return calibrated(self.features, self.attention, self.kernel, periodic)


class Edge(nn.ModuleDict):
    """Some operations by name, all of the same input."""

    def __init__(self, names: Sequence[str], layout: Layout, *, stride: int = 1):
        options = dict(stride=stride, affine=layout.affine)
        super().__init__(
            {name: FACTORIES[name](layout.channels, layout.periodic, **options) for name in names}
        )

    def send(
        self, x: Tensor, weights: Tensor | None, signals: Signals, drop_path: float = 0.0
    ) -> None:
        """Add what every operation makes of x to `signals`; weights: (11,) or None for ones."""
        for name, operation in self.items():
            value = operation(x)
            if name in FEATURES and not isinstance(operation, nn.Identity):
                value = dropped(value, drop_path if self.training else 0.0)
            signals.add(name, value if weights is None else weights[COLUMNS[name]] * value)


def dropped(x: Tensor, share: float) -> Tensor:
    """Zero for a random share of the samples, the others so much larger that the mean stays."""
    if not share:
        return x
    keep = x.new_empty(len(x), *[1] * (x.ndim - 1)).bernoulli_(1 - share)
    return x * keep / (1 - share)


class Block(nn.Module):
    """One inner node; sources below `halved` are of twice the resolution."""

    def __init__(self, candidates: Candidates, layout: Layout, *, halved: int = 0):
        super().__init__()
        self.layout = layout
        self.first = nn.ModuleDict(
            {
                str(source): Edge(names, layout, stride=2 if source < halved else 1)
                for source, names in candidates.first.items()
            }
        )
        self.second = Edge(candidates.second, layout)

    def forward(self, nodes: Sequence[Tensor], weights: Tensor | None = None) -> Tensor:
        """weights: (len(nodes) + 1, 11), a row for each earlier node and one for the second tier"""
        inner, outer = Signals(), Signals()
        for source, edge in self.first.items():
            row = None if weights is None else weights[int(source)]
            edge.send(nodes[int(source)], row, inner, self.layout.drop_path)
        surrogate = inner.calibrated(self.layout.periodic)
        last = None if weights is None else weights[-1]
        self.second.send(surrogate, last, outer)
        for name in self.second:
            if name not in FEATURES:
                outer.add(
                    "identity", surrogate if last is None else last[COLUMNS[name]] * surrogate
                )
        return outer.calibrated(self.layout.periodic)


class Cell(nn.Module):
    """From the outputs of the last two cells to its own, of len(blocks) · channels.

    inputs:    channels of the last cell but one and of the last
    reduction: whether the cell halves the grid
    uneven:    whether the last cell did, so that the one before it has twice the resolution
    """

    def __init__(
        self,
        blocks: Sequence[Candidates],
        inputs: tuple[int, int],
        layout: Layout,
        *,
        reduction: bool = False,
        uneven: bool = False,
    ):
        super().__init__()
        make = Halving if uneven else Projection
        size = layout.channels, layout.periodic
        self.before = make(inputs[0], *size, affine=layout.affine)
        self.last = Projection(inputs[1], *size, affine=layout.affine)
        halved = 2 if reduction else 0
        self.blocks = nn.ModuleList(Block(block, layout, halved=halved) for block in blocks)

    def forward(self, before: Tensor, last: Tensor, weights: Tensor | None = None) -> Tensor:
        """weights: (edges, 11), block after block"""
        nodes = [self.before(before), self.last(last)]
        rows = [None] * len(self.blocks)
        if weights is not None:
            rows = weights.split(rows_of_blocks(len(self.blocks)))
        for block, row in zip(self.blocks, rows, strict=True):
            nodes.append(block(nodes, row))
        return torch.cat(nodes[2:], 1)


def rows_of_blocks(n_nodes: int) -> list[int]:
    """How many edges each block has: one for each earlier node, one for the second tier.

    >>> rows_of_blocks(4), sum(rows_of_blocks(4))
    ([3, 4, 5, 6], 18)
    """
    return [index + 1 for index in range(2, 2 + n_nodes)]
