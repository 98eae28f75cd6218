"""From terms to modules: primitives on the edges of a graph, each node the sum of what comes in.

What flows along the edges is a *signal*: features, and where their points are.  The grid may be
halved on the way; the coordinates then follow.  Edges that `zero` has made useless are not built,
so every parameter has a use.
"""

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor, nn

from sciops.grammars.connectivity import without_dead_parts, zeros
from sciops.grammars.grammar import IDENTITY, ZERO
from sciops.grammars.motifs import expanded
from sciops.grammars.term import Term
from sciops.grammars.topology import TOPOLOGIES, Topology
from sciops.task import Task

from .positions import unit_points
from .term_primitives import Part, make_primitive


class Signal(NamedTuple):
    """Features (batch, channels, *n) at points; None: a uniform grid on the domain of the task."""

    features: Tensor
    coords: tuple[Tensor, ...] | None


class Layer(nn.Module):
    """A primitive."""

    def __init__(self, part: Part, task: Task):
        super().__init__()
        self.module, self.task = part.module, task
        self.placed, self.step = part.placed, 2**part.halvings

    def forward(self, signal: Signal) -> Signal:
        x, coords = signal
        with_points = self.placed and coords is not None
        y = self.module(x, coords) if with_points else self.module(x)
        if self.step > 1:
            points = unit_points(self.task, tuple(x.shape[2:])) if coords is None else coords
            coords = tuple(p[:: self.step] for p in points)
        return Signal(y, coords)


class Wiring(nn.Module):
    """A topology: parts on its edges."""

    def __init__(self, edges: list[tuple[int, int]], sink: int, parts: list[nn.Module]):
        super().__init__()
        self.edges, self.sink = edges, sink
        self.parts = nn.ModuleList(parts)

    def forward(self, signal: Signal) -> Signal:
        nodes = {1: signal}
        for (tail, head), part in zip(self.edges, self.parts, strict=True):
            new = part(nodes[tail])
            if head in nodes:
                new = Signal(nodes[head].features + new.features, new.coords)
            nodes[head] = new
        return nodes[self.sink]

    def extra_repr(self) -> str:
        return " ".join(f"{tail}-{head}" for tail, head in self.edges)


def build_term(
    term: Term, channels: int, task: Task, topologies: Mapping[str, Topology] = TOPOLOGIES
) -> Part:
    """The module of a term from signals of so many channels to signals, and what comes out."""
    unknown = sorted({p.head for _, p in term.parts() if p.args and p.head not in topologies})
    if unknown:
        raise ValueError(
            f"there is no topology {unknown[0]!r}; there are {', '.join(topologies)}, and a "
            "grammar may define others: give its topologies"
        )
    term = without_dead_parts(expanded(term), topologies)
    if term.head == ZERO:
        raise ValueError("no way leads through the term; draw terms with connected=True")
    return _build(term, channels, task, topologies)


def _build(term: Term, channels: int, task: Task, topologies: Mapping[str, Topology]) -> Part:
    if term.head == IDENTITY:
        return Part(nn.Identity(), channels)
    if not term.args:
        part = make_primitive(term.head, channels, task)
        return part._replace(module=Layer(part, task))
    topology = topologies[term.head]
    sizes, edges, parts = {1: (channels, 0)}, [], []
    for i in topology.used(zeros(term)):
        tail, head = topology.edges[i]
        part = _build(term.args[i], sizes[tail][0], task, topologies)
        size = part.channels, sizes[tail][1] + part.halvings
        if sizes.setdefault(head, size) != size:
            raise ValueError(
                f"in {term.head}, node {head} gets {sizes[head][0]} channels, halved "
                f"{sizes[head][1]} times, on one way and {size[0]}, halved {size[1]} times, on "
                "another; put what changes them, as lift, down and resBlock do, on every way"
            )
        edges.append((tail, head))
        parts.append(part.module)
    channels, halvings = sizes[topology.sink]
    return Part(Wiring(edges, topology.sink, parts), channels, halvings)
