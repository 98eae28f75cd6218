"""Weisfeiler–Lehman subtree kernel of directed, labelled graphs.

    c₀(v) = label of v        cₜ₊₁(v) = ( cₜ(v), sorted cₜ(u) of all edges v → u )
    f(G)[c] = number of pairs (v, t), t ≤ h, with cₜ(v) = c
    k(G, G′) = ⟨f(G), f(G′)⟩ / ( ‖f(G)‖ ‖f(G′)‖ )

A colour cₜ(v) names the tree of labels that can be walked from v in t steps along the edges.
Shervashidze et al. 2011, Weisfeiler-Lehman graph kernels.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from scipy import sparse

from .labelled_graph import LabelledGraph


class ColourTable:
    """Colours as whole numbers, the same for every graph that is ever asked for."""

    def __init__(self):
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[LabelledGraph, list[list[int]]] = {}  # rows t = 0, 1, … of cₜ(v)

    def colours(self, graph: LabelledGraph, h: int) -> list[list[int]]:
        """Of each node after 0, 1, … h steps; nodes are the inner lists."""
        if h < 0:
            raise ValueError(f"h={h} must be a whole number ≥ 0")
        rows = self._known.setdefault(graph, [])
        if len(rows) <= h:
            self._refine(graph, rows, h)
        return rows[: h + 1]

    def _refine(self, graph: LabelledGraph, rows: list[list[int]], h: int) -> None:
        followers = _followers(graph)
        if not rows:
            rows.append([self._number(label) for label in graph.labels])
        while len(rows) <= h:
            now = rows[-1]
            around = (tuple(sorted(now[u] for u in followers[v])) for v in range(len(now)))
            rows.append([self._number(key) for key in zip(now, around, strict=True)])

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def features(self, graphs: Sequence[LabelledGraph], h: int) -> sparse.csr_array:
        """f(G) / ‖f(G)‖ as rows, (graph, colour)."""
        found = [np.ravel(self.colours(graph, h)) for graph in graphs]
        starts = np.cumsum([0, *map(len, found)])
        columns = np.concatenate([np.array([], int), *found])
        shape = len(found), len(self._numbers)
        counts = sparse.csr_array((np.ones(len(columns)), columns, starts), shape=shape)
        counts.sum_duplicates()
        norms = np.sqrt(counts.multiply(counts).sum(axis=1))
        return (sparse.diags_array(1 / norms) @ counts).tocsr()


def _followers(graph: LabelledGraph) -> dict[int, list[int]]:
    nodes = len(graph.labels)
    if nodes == 0:
        raise ValueError("a graph without nodes has no features; give it an input and an output")
    followers = defaultdict(list)
    for start, end in graph.edges:
        if not (0 <= start < nodes and 0 <= end < nodes):
            raise ValueError(f"edge {(start, end)} leaves the graph, whose nodes are 0…{nodes - 1}")
        followers[start].append(end)
    return followers


def products(rows: sparse.csr_array, columns: sparse.csr_array) -> np.ndarray:
    """Of features of one table, (graph, graph′); it may have grown between the two."""
    shared = min(rows.shape[1], columns.shape[1])
    return (rows[:, :shared] @ columns[:, :shared].T).toarray()


def wl_kernel(
    graphs: Sequence[LabelledGraph], others: Sequence[LabelledGraph] | None = None, *, h: int = 2
) -> np.ndarray:
    """k(G, G′) of all pairs, (graph, other); without others, of the graphs among themselves.

    >>> chain = LabelledGraph(("conv", "conv"), ((0, 1),))
    >>> alone = LabelledGraph(("conv",), ())
    >>> wl_kernel([chain], [chain, alone], h=0).round(3).tolist()
    [[1.0, 1.0]]
    >>> wl_kernel([chain], [chain, alone], h=1).round(3).tolist()  # 3 / √(6 · 2)
    [[1.0, 0.866]]
    """
    table = ColourTable()
    rows = table.features(graphs, h)
    return products(rows, rows if others is None else table.features(others, h))
