"""From weights of operations to a discrete cell and back, and cells drawn at random.

Weights are (edges, operations), one row for each edge, block after block: the earlier nodes, then
the second tier.  Of each block the derived cell keeps two operations of the first tier, on two
different edges: the strongest of all, and the strongest on another edge such that at least one of
the two is a feature transformation; and the strongest operation of the second tier.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sciops.backbones.genotype import OPERATIONS, Incoming, Node
from sciops.backbones.heterogeneous_cell import COLUMNS, rows_of_blocks
from sciops.operators.features import FEATURES

N_CALIBRATIONS = len(OPERATIONS) - len(FEATURES)


def derive_cell(weights: Tensor) -> tuple[Node, ...]:
    """The cell that weights of (edges, operations) stand for; of equal ones the first wins.

    >>> weights = torch.zeros(3, 11)
    >>> weights[0, 7], weights[1, 9], weights[1, 2], weights[2, 6] = 0.9, 0.8, 0.3, 0.5
    >>> print(*derive_cell(weights))
    spatial_attention(0) + dil_conv_3(1) > identity
    """
    n_nodes = _number_of_nodes(weights)
    blocks = weights.detach().cpu().split(rows_of_blocks(n_nodes))
    return tuple(Node(_first_tier(block[:-1]), _strongest(block[-1])) for block in blocks)


def _number_of_nodes(weights: Tensor) -> int:
    n_nodes = 1
    while sum(rows_of_blocks(n_nodes)) < len(weights):
        n_nodes += 1
    if tuple(weights.shape) != (sum(rows_of_blocks(n_nodes)), len(OPERATIONS)):
        raise ValueError(
            f"expected weights of (3, 7, 12 or 18, … edges, {len(OPERATIONS)} operations), got "
            f"{tuple(weights.shape)}"
        )
    if not bool(torch.isfinite(weights).all()):
        raise ValueError("the weights of the operations have NaN or infinite values")
    return n_nodes


def _strongest(row: Tensor) -> str:
    return OPERATIONS[int(row.argmax())]


def _first_tier(weights: Tensor) -> tuple[Incoming, Incoming]:
    ranked = sorted(
        (-strength, source, column)
        for source, row in enumerate(weights.tolist())
        for column, strength in enumerate(row)
    )
    _, source, column = ranked[0]
    best = Incoming(source, OPERATIONS[column])
    second = next(
        Incoming(other, OPERATIONS[column])
        for _, other, column in ranked
        if other != source and (best.operation in FEATURES or OPERATIONS[column] in FEATURES)
    )
    return tuple(sorted((best, second)))


def one_hot(nodes: Sequence[Node]) -> Tensor:
    """The weights, zero or one, with which a relaxed cell is the cell of these nodes."""
    rows = []
    for index, node in enumerate(nodes, start=2):
        block = torch.zeros(index + 1, len(OPERATIONS))
        for source, operation in node.first:
            block[source, COLUMNS[operation]] = 1
        block[-1, COLUMNS[node.second]] = 1
        rows.append(block)
    return torch.cat(rows)


def random_cell(n_nodes: int, generator: torch.Generator) -> tuple[Node, ...]:
    """A cell drawn from all of this many nodes, each as probable as any other."""

    def draw(n: int) -> int:
        return int(torch.randint(n, (), generator=generator))

    def node(index: int) -> Node:
        sources = sorted(torch.randperm(index, generator=generator)[:2].tolist())
        operations = OPERATIONS[draw(len(OPERATIONS))], OPERATIONS[draw(len(OPERATIONS))]
        while not FEATURES.keys() & operations:
            operations = OPERATIONS[draw(len(OPERATIONS))], OPERATIONS[draw(len(OPERATIONS))]
        first = tuple(Incoming(*one) for one in zip(sources, operations, strict=True))
        return Node(first, OPERATIONS[draw(len(OPERATIONS))])

    return tuple(node(index) for index in range(2, 2 + n_nodes))


def number_of_cells(n_nodes: int) -> int:
    """How many different cells there are.

    The paper's 5.6e14 for 4 nodes also counts those without a feature transformation.

    >>> f"{number_of_cells(4):.1e}"
    '3.2e+14'
    """
    pairs = len(OPERATIONS) ** 2 - N_CALIBRATIONS**2
    return math.prod(math.comb(i, 2) * pairs * len(OPERATIONS) for i in range(2, 2 + n_nodes))
