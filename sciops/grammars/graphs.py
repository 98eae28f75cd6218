"""Terms as graphs, whole and level by level.

Argument i of a topology stands on its edge i, so a term is a network whose *edges* compute.  A
graph has nodes that compute: each edge becomes a node, between a node for the input and one for the
output.  `zero` is left out with all that lies on no way from input to output, and `id` is
contracted: what enters it enters whatever follows.

Level l has the topologies of the first l + 1 levels; those further inside are one node each, with
the name of the topology.  The last level is the whole term.
"""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import count

from .connectivity import without_dead_parts, zeros
from .grammar import IDENTITY, ZERO, Grammar, is_symbol
from .labelled_graph import LabelledGraph
from .motifs import SHARED, expanded
from .term import Term
from .topology import Topology

INPUT, OUTPUT = "input", "output"
Edge = tuple[int, int, str]  # from node, to node, what it computes


def term_graph(term: Term, topologies: Mapping[str, Topology]) -> LabelledGraph:
    """The whole term as a graph.

    >>> from .term import parse_term
    >>> from .topology import TOPOLOGIES
    >>> graph = term_graph(parse_term("Residual2(conv3, id, relu)"), TOPOLOGIES)
    >>> graph.labels, graph.edges
    (('input', 'conv3', 'relu', 'output'), ((0, 1), (0, 3), (1, 2), (2, 3)))
    """
    term = without_dead_parts(expanded(term), topologies)
    return _graph(_edges(term, topologies, term.depth))


def level_graphs(term: Term, grammar: Grammar, *, levels: int | None = None) -> list[LabelledGraph]:
    """Levels 0, 1, …, and the whole term last; a term of fewer levels repeats its deepest one.

    levels: how many graphs; None is as many as the deepest term of the grammar has
    """
    levels = hierarchy(grammar) if levels is None else levels
    if not isinstance(levels, int) or levels < 1:
        raise ValueError(f"levels={levels!r} must be a whole number ≥ 1")
    term = without_dead_parts(expanded(term), grammar.topologies)
    deepest = min(levels, term.depth)
    shown = [*range(deepest - 1), term.depth]  # the last one is the whole term
    graphs = [_graph(_edges(term, grammar.topologies, level)) for level in shown]
    return graphs + graphs[-1:] * (levels - deepest)


@lru_cache(maxsize=64)
def hierarchy(grammar: Grammar) -> int:
    """How many levels the deepest term has: its nested topologies, one at least."""
    if grammar.recursive:
        raise ValueError("the grammar is recursive and has any number of levels; say levels=…")

    @cache
    def nested(pattern: Term) -> int:
        if is_symbol(pattern):
            return max(map(nested, grammar.productions[pattern.head]))
        if pattern.head == SHARED:  # the part is at the places of the motif, somewhere inside
            return sum(map(nested, pattern.args))
        return 1 + max(map(nested, pattern.args)) if pattern.args else 0

    return max(1, nested(Term(grammar.start)))


def _edges(term: Term, topologies: Mapping[str, Topology], level: int) -> Iterator[Edge]:
    """Those on a way from node 0 to node 1, in an order in which they can be computed."""
    numbers = count(2)

    def expand(part: Term, source: int, sink: int, level: int) -> Iterator[Edge]:
        if not part.args or level < 0:
            yield source, sink, part.head
            return
        topology = topologies[part.head]
        nodes = {1: source, topology.sink: sink}
        for i in topology.used(zeros(part)):
            for node in topology.edges[i]:
                if node not in nodes:
                    nodes[node] = next(numbers)
            tail, head = topology.edges[i]
            yield from expand(part.args[i], nodes[tail], nodes[head], level - 1)

    return expand(term, 0, 1, level) if term.head != ZERO else iter(())


def _graph(term_edges: Iterator[Edge]) -> LabelledGraph:
    """Every edge as a node, except identities."""
    labels, edges = [INPUT], []
    arrives = {0: {0: None}}  # node of the term → what enters it, in order
    for tail, head, label in term_edges:
        coming = arrives[tail]
        if label != IDENTITY:
            edges += [(before, len(labels)) for before in coming]
            coming = {len(labels): None}
            labels.append(label)
        arrives.setdefault(head, {}).update(coming)
    edges += [(before, len(labels)) for before in arrives.get(1, ())]
    return LabelledGraph((*labels, OUTPUT), tuple(sorted(edges)))
