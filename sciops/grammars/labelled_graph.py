"""A directed graph with a label at each node: what kernels compare."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class LabelledGraph:
    """Node i has `labels[i]`; an edge is (from, to), by the numbers of its nodes."""

    labels: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]  # directed
