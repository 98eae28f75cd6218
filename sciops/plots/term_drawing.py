"""A term as a picture: what computes, and what goes into what.

Nodes are in layers, each as far to the right as the longest way from the input.  Within a layer
they are sorted by the mean height of their neighbours, a few times in both directions; an edge that
passes over layers keeps a place in each of them, so that it does not run through other nodes.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from sciops.grammars.graphs import INPUT, OUTPUT, term_graph
from sciops.grammars.labelled_graph import LabelledGraph
from sciops.grammars.term import Term, parse_term
from sciops.grammars.topology import TOPOLOGIES, Topology

from .style import INK, MUTED, PAPER, RULE, colour, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SWEEPS = 6
MOST_NODES = 400
BETWEEN, LETTER, ROW = 0.55, 0.085, 0.62  # inches: between layers, of a letter, of a row
Place = tuple[float, float]


@styled
def architecture(
    term: Term | str | LabelledGraph, topologies: Mapping[str, Topology] | None = None
) -> "Figure":
    """The graph of a term, from left to right; nodes of one name have one colour.

    term: a term, its text, or one of its `level_graphs`
    topologies: those that a grammar defines, beside the usual ones
    """
    term = parse_term(term) if isinstance(term, str) else term
    known = {**TOPOLOGIES, **(topologies or {})}
    graph = term if isinstance(term, LabelledGraph) else term_graph(term, known)
    if len(graph.labels) > MOST_NODES:
        raise ValueError(
            f"the graph has {len(graph.labels)} nodes, {MOST_NODES} can be read; draw one of its "
            "level_graphs"
        )
    rows = layers_of(graph)
    places = places_of(rows)
    across = BETWEEN + LETTER * max(len(label) for label in graph.labels)
    heights = [y for _, y in places.values()]
    tall = max(heights) - min(heights) + 1
    figure = new_figure(max(3.0, across * len(rows)), max(1.2, ROW * tall + 0.4))
    axes = figure.subplots()
    axes.set_axis_off()
    for way in _ways(rows, graph):
        _draw_way(axes, [places[node] for node in way])
    _draw_nodes(axes, graph, places)
    axes.set(xlim=(-0.5, len(rows) - 0.5), ylim=(min(heights) - 0.6, max(heights) + 0.6))
    return figure


def layers_of(graph: LabelledGraph) -> list[list]:
    """Nodes, and (tail, head, layer) where an edge passes, layer by layer and sorted within."""
    depth = [0] * len(graph.labels)
    for tail, head in sorted(graph.edges):  # edges go to larger numbers
        depth[head] = max(depth[head], depth[tail] + 1)
    depth[-1] = max(max(depth), 1)
    rows: list[list] = [[] for _ in range(depth[-1] + 1)]
    for node, layer in enumerate(depth):
        rows[layer].append(node)
    for tail, head in graph.edges:
        for layer in range(depth[tail] + 1, depth[head]):
            rows[layer].append((tail, head, layer))
    beside = _neighbours(graph, depth)
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        for layer in range(1, len(rows)) if forth else range(len(rows) - 2, -1, -1):
            before = rows[layer - 1] if forth else rows[layer + 1]
            height = {node: i - (len(before) - 1) / 2 for i, node in enumerate(before)}
            heights = {n: _mean([height[m] for m in beside[n] if m in height]) for n in rows[layer]}
            rows[layer].sort(key=heights.__getitem__)
    return rows


def places_of(rows: list[list]) -> dict:
    """Where each node is: its layer, and its height about the middle."""
    return {
        node: (float(layer), i - (len(row) - 1) / 2)
        for layer, row in enumerate(rows)
        for i, node in enumerate(row)
    }


def _steps(tail: int, head: int, depth: list[int]) -> list:
    """An edge as the places that it passes."""
    return [tail, *((tail, head, layer) for layer in range(depth[tail] + 1, depth[head])), head]


def _neighbours(graph: LabelledGraph, depth: list[int]) -> dict:
    beside: dict = {node: [] for node in range(len(graph.labels))}
    for tail, head in graph.edges:
        way = _steps(tail, head, depth)
        for a, b in pairwise(way):
            beside.setdefault(a, []).append(b)
            beside.setdefault(b, []).append(a)
    return beside


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _ways(rows: list[list], graph: LabelledGraph) -> list[list]:
    depth = {node: layer for layer, row in enumerate(rows) for node in row}
    return [_steps(tail, head, depth) for tail, head in graph.edges]


def _draw_way(axes: "Axes", points: list[Place]) -> None:
    """A smooth line through all points, flat at each of them."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    vertices, codes = [points[0]], [Path.MOVETO]
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (x0 + x1) / 2
        vertices += [(middle, y0), (middle, y1), (x1, y1)]
        codes += [Path.CURVE4] * 3
    axes.add_patch(PathPatch(Path(vertices, codes), fc="none", ec=MUTED, lw=1.1, zorder=1))


def _draw_nodes(axes: "Axes", graph: LabelledGraph, places: Mapping) -> None:
    names = [name for name in dict.fromkeys(graph.labels) if name not in (INPUT, OUTPUT)]
    for node, label in enumerate(graph.labels):
        end = label in (INPUT, OUTPUT)
        edge = RULE if end else colour(names.index(label))
        box = dict(boxstyle="round,pad=0.35", fc=PAPER, ec=edge, lw=1.0 if end else 1.6)
        text = dict(ha="center", va="center", fontsize=9, color=MUTED if end else INK, zorder=2)
        axes.text(*places[node], label, bbox=box, **text)
