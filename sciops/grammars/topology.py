"""Topologies: how the arguments of a head are connected.

A topology is a list of edges between numbered nodes; argument i stands on edge i.  Node 1 is the
source, the node with the largest number the sink, and a node holds the sum of what its incoming
edges bring.  Edges go from smaller to larger numbers, so there are no cycles.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import count

Edges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Topology:
    """Edges from node to node.

    >>> Topology(((1, 2), (1, 3), (2, 3))).arity
    3
    """

    edges: Edges

    def __post_init__(self):
        wrong = [edge for edge in self.edges if not 1 <= edge[0] < edge[1]]
        if wrong or not self.edges:
            raise ValueError(
                "a topology needs edges i-j with 1 ≤ i < j, got "
                f"{'-'.join(map(str, wrong[0])) if wrong else 'none'}; number its nodes from the "
                "source, 1, to the sink"
            )
        dead = sorted(set(range(self.arity)) - set(self.used()))
        if dead:
            names = ", ".join("-".join(map(str, self.edges[i])) for i in dead)
            raise ValueError(
                f"edges {names} are on no way from node 1 to node {self.sink}; remove them or "
                "connect them"
            )
        nodes = {node for edge in self.edges for node in edge}
        if len(nodes) < self.sink:
            left_out = next(node for node in count(1) if node not in nodes)
            raise ValueError(
                f"no edge has node {left_out}, and the sink is {self.sink}; number the nodes 1, 2, "
                "3 … without leaving one out"
            )

    @property
    def arity(self) -> int:
        return len(self.edges)

    @property
    def sink(self) -> int:
        return max(head for _, head in self.edges)

    def used(self, removed: frozenset[int] = frozenset()) -> tuple[int, ...]:
        """Which edges are on a way from source to sink without some of them, in an order in which
        they can be computed; none if there is no way.

        >>> residual = Topology(((1, 2), (1, 3), (2, 3)))
        >>> residual.used(), residual.used(frozenset({0})), residual.used(frozenset({0, 1}))
        ((0, 1, 2), (1,), ())
        """
        return _used(self.edges, removed)


@lru_cache(maxsize=4096)
def _used(edges: Edges, removed: frozenset[int]) -> tuple[int, ...]:
    left = [i for i in range(len(edges)) if i not in removed]
    reached, useful = {1}, {max(head for _, head in edges)}
    for i in sorted(left, key=lambda i: edges[i][0]):
        if edges[i][0] in reached:
            reached.add(edges[i][1])
    for i in sorted(left, key=lambda i: edges[i][1], reverse=True):
        if edges[i][1] in useful:
            useful.add(edges[i][0])
    kept = [i for i in left if edges[i][0] in reached and edges[i][1] in useful]
    return tuple(sorted(kept, key=lambda i: edges[i]))


def chain(n: int) -> Topology:
    """n edges one after another."""
    return Topology(tuple((i, i + 1) for i in range(1, n + 1)))


TOPOLOGIES: dict[str, Topology] = {
    **{f"Linear{n}": chain(n) for n in range(1, 9)},
    "Residual2": Topology(((1, 2), (1, 3), (2, 3))),
    "Residual3": Topology(((1, 2), (2, 3), (1, 4), (3, 4))),
    "Parallel2": Topology(((1, 2), (1, 2))),
    "Parallel3": Topology(((1, 2), (1, 2), (1, 2))),
    "Diamond": Topology(((1, 2), (1, 3), (2, 4), (3, 4))),
    "Cell": Topology(((1, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 4))),  # NAS-Bench-201
    "Block": Topology(((1, 2), (1, 2), (2, 3), (3, 4))),  # operator + skip, norm, activation
    "Unary": chain(1),
    "Binary": Topology(((2, 3), (1, 2), (1, 2))),  # an operation, and two functions into it
    "Shared": chain(2),  # a network with places for a motif, and the motif
}
