"""A directed graph whose nodes have labels: what kernels compare and drawings show."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LabelledGraph:
    """Node 0 is the input and the last one the output.

    >>> LabelledGraph(("input", "conv3", "output"), ((0, 1), (1, 2))).labels[1]
    'conv3'
    """

    labels: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]
