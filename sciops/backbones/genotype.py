"""Which operations a heterogeneous cell has: as an object, as text and as JSON.

A cell has two inputs, nodes 0 and 1, and inner nodes 2, 3, …; each of them takes two operations of
different earlier nodes, at least one of them a feature transformation, and then one more of what
they made together:

    normal:
      2 = sep_conv_3(0) + spatial_attention(1) > dynamic_conv_5
      3 = max_pool_3(0) + dil_conv_3(2) > identity
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sciops.operators.calibration import ATTENTIONS, KERNELS
from sciops.operators.features import FEATURES
from sciops.suggestions import did_you_mean

OPERATIONS = (*FEATURES, *ATTENTIONS, *KERNELS)
KINDS = "normal", "reduction"
LINE = re.compile(r"\s*(\d+) = (\w+)\((\d+)\) \+ (\w+)\((\d+)\) > (\w+)\s*")


class Incoming(NamedTuple):
    """An operation on an earlier node."""

    source: int
    operation: str


@dataclass(frozen=True)
class Node:
    """An inner node: two operations of the first tier, by source, and one of the second."""

    first: tuple[Incoming, Incoming]
    second: str

    def __str__(self) -> str:
        first = " + ".join(f"{operation}({source})" for source, operation in self.first)
        return f"{first} > {self.second}"


@dataclass(frozen=True)
class Genotype:
    """The inner nodes of a normal cell and of one that halves the grid; either may be missing.

    >>> node = Node((Incoming(0, "identity"), Incoming(1, "channel_attention")), "sep_conv_3")
    >>> print(Genotype(normal=(node,)))
    normal:
      2 = identity(0) + channel_attention(1) > sep_conv_3
    """

    normal: tuple[Node, ...] = ()
    reduction: tuple[Node, ...] = ()

    def __post_init__(self):
        for kind in KINDS:
            for index, node in enumerate(getattr(self, kind), start=2):
                _check_node(node, f"node {index} of the {kind} cell", index)

    def cell(self, kind: str) -> tuple[Node, ...]:
        return {"normal": self.normal, "reduction": self.reduction}[kind]

    def __str__(self) -> str:
        lines = []
        for kind in KINDS:
            nodes = [f"  {i} = {node}" for i, node in enumerate(self.cell(kind), start=2)]
            lines += [f"{kind}:", *nodes] if nodes else []
        return "\n".join(lines)

    @classmethod
    def parse(cls, text: str) -> "Genotype":
        """From what `str` makes of it."""
        cells: dict[str, list[Node]] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            kind = line.strip().removesuffix(":")
            if kind in KINDS and kind not in cells:
                nodes = cells[kind] = []
            elif cells:
                nodes.append(_parse_node(line, number, 2 + len(nodes)))
            else:
                raise ValueError(f"line {number}: expected 'normal:' or 'reduction:', got {line!r}")
        return cls(**{kind: tuple(nodes) for kind, nodes in cells.items()})

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            kind: [
                {"first": [list(one) for one in node.first], "second": node.second}
                for node in self.cell(kind)
            ]
            for kind in KINDS
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Genotype":
        try:
            cells = {
                kind: tuple(
                    Node(tuple(Incoming(*one) for one in node["first"]), node["second"])
                    for node in data[kind]
                )
                for kind in KINDS
            }
        except (KeyError, TypeError) as error:
            raise ValueError(f"expected a genotype as as_dict() gives it: {error!r}") from None
        return cls(**cells)


def _parse_node(line: str, number: int, index: int) -> Node:
    match = LINE.fullmatch(line)
    if match is None or int(match[1]) != index:
        raise ValueError(
            f"line {number}: expected '{index} = operation(source) + operation(source) > "
            f"operation', got {line!r}"
        )
    first = Incoming(int(match[3]), match[2]), Incoming(int(match[5]), match[4])
    return Node(first, match[6])


def _check_node(node: Node, where: str, index: int) -> None:
    if len(node.first) != 2:
        raise ValueError(f"{where}: expected two operations in the first tier, got {node.first}")
    for operation in (*(one.operation for one in node.first), node.second):
        if operation not in OPERATIONS:
            raise ValueError(
                f"{where}: there is no operation {operation!r}; there are {', '.join(OPERATIONS)}"
                f"{did_you_mean(operation, OPERATIONS)}"
            )
    a, b = (one.source for one in node.first)
    if not (isinstance(a, int) and isinstance(b, int) and 0 <= a < b < index):
        raise ValueError(
            f"{where}: expected two increasing sources among nodes 0 to {index - 1}, got {a}, {b}"
        )
    if not any(one.operation in FEATURES for one in node.first):
        known = ", ".join(FEATURES)
        raise ValueError(
            f"{where}: attention and kernels need features: one of the first tier must be among "
            f"{known}, got {node}"
        )
