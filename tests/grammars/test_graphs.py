"""Graphs of terms, drawn by hand; levels; against a slow construction."""

import random

import pytest

from sciops.grammars.grammar import parse_grammar
from sciops.grammars.graphs import hierarchy, level_graphs, term_graph
from sciops.grammars.labelled_graph import LabelledGraph
from sciops.grammars.motifs import expanded
from sciops.grammars.ready import NAMES, ready_space
from sciops.grammars.sampling import Sampler
from sciops.grammars.term import Term, parse_term
from sciops.grammars.topology import TOPOLOGIES

NOTHING = LabelledGraph(("input", "output"), ())


def graph_of(text: str) -> LabelledGraph:
    return term_graph(parse_term(text), TOPOLOGIES)


@pytest.mark.parametrize(
    ("text", "inner", "edges"),
    [
        ("conv3", ["conv3"], [(0, 1), (1, 2)]),
        ("id", [], [(0, 1)]),
        ("zero", [], []),
        ("Linear2(conv3, zero)", [], []),
        ("Linear3(conv3, id, relu)", ["conv3", "relu"], [(0, 1), (1, 2), (2, 3)]),
        ("Residual2(conv3, zero, relu)", ["conv3", "relu"], [(0, 1), (1, 2), (2, 3)]),
        ("Residual2(zero, conv3, relu)", ["conv3"], [(0, 1), (1, 2)]),  # relu is pruned
        ("Residual2(conv3, id, id)", ["conv3"], [(0, 1), (0, 2), (1, 2)]),
        ("Parallel2(id, id)", [], [(0, 1)]),
        (
            "Diamond(conv3, conv1, relu, Linear1(zero))",
            ["conv3", "relu"],
            [(0, 1), (1, 2), (2, 3)],
        ),
        (
            "Binary(mul, Unary(x), Unary(sigmoid))",
            ["x", "sigmoid", "mul"],
            [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)],
        ),
        (
            "Shared(Linear2(motif, motif), conv3)",
            ["conv3", "conv3"],
            [(0, 1), (1, 2), (2, 3)],
        ),
    ],
)
def test_graphs_by_hand(text, inner, edges):
    assert graph_of(text) == LabelledGraph(("input", *inner, "output"), tuple(edges))


def slow_graph(term: Term, topologies) -> tuple[list[str], set[tuple], int]:
    """Edges as nodes, then zero removed, identities contracted and the rest pruned, one by one."""
    edges = [(("in",), ("out",), term)]
    while any(t.args for *_, t in edges):
        tail, head, t = edges.pop(next(i for i, e in enumerate(edges) if e[2].args))
        topology, name = topologies[t.head], (tail, head, len(edges), t)
        node = {n: (name, n) for n in range(1, topology.sink + 1)}
        node |= {1: tail, topology.sink: head}
        edges += [(node[i], node[j], a) for (i, j), a in zip(topology.edges, t.args, strict=True)]
    nodes = {i: t.head for i, (*_, t) in enumerate(edges) if t.head != "zero"} | {-1: "", -2: ""}
    ends = {-1: (None, ("in",)), -2: (("out",), None)} | {
        i: (a, b) for i, (a, b, _) in enumerate(edges)
    }
    arrows = {(i, j) for i in nodes for j in nodes if ends[i][1] == ends[j][0] is not None}
    for i in [i for i in nodes if nodes[i] == "id"]:
        before, after = ({a for a, b in arrows if b == i}, {b for a, b in arrows if a == i})
        arrows = {e for e in arrows if i not in e} | {(a, b) for a in before for b in after}
        del nodes[i]
    while True:
        dead = {i for i in nodes if i != -1 and all(b != i for _, b in arrows)}
        dead |= {i for i in nodes if i != -2 and all(a != i for a, _ in arrows)}
        dead -= {-1, -2}
        if not dead:
            break
        nodes = {i: n for i, n in nodes.items() if i not in dead}
        arrows = {e for e in arrows if not dead & set(e)}
    named = {(nodes[a], nodes[b]) for a, b in arrows}
    return sorted(nodes.values()), named, len(arrows)


@pytest.mark.parametrize(
    "name", ["fields", "nasbench201-cell", "digits", "digits-cells", "digits-stages", "activations"]
)
def test_graphs_are_those_of_the_slow_construction(name):
    grammar = ready_space(name).grammar
    sampler, rng = Sampler(grammar), random.Random(0)  # also disconnected ones
    for term in [sampler.draw(rng) for _ in range(12)]:
        if name == "nasbench201-cell":
            term = term.args[1]
        graph = term_graph(term, grammar.topologies)
        labels = ["", *graph.labels[1:-1], ""]
        named = {(labels[a], labels[b]) for a, b in graph.edges}
        expected = slow_graph(expanded(term), grammar.topologies)
        assert (sorted(labels), named, len(graph.edges)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_edges_go_forward_and_every_node_is_of_use(name):
    space = ready_space(name)
    sampler, rng = Sampler(space.grammar, connected=space.connected), random.Random(0)
    for term in [sampler.draw(rng) for _ in range(5)]:
        for graph in level_graphs(term, space.grammar):
            last = len(graph.labels) - 1
            assert graph.labels[0] == "input" and graph.labels[last] == "output"
            assert all(0 <= a < b <= last for a, b in graph.edges)
            assert {a for a, _ in graph.edges} == set(range(last))
            assert {b for _, b in graph.edges} == set(range(1, last + 1))
            assert len(set(graph.edges)) == len(graph.edges)
            assert not {"id", "zero"} & set(graph.labels)


def test_levels_open_one_topology_after_another():
    grammar = parse_grammar(
        "A -> Linear2(B, C)\nB -> Residual2(C, id, C)\nC -> conv3 | Linear2(conv1, relu) | zero"
    )
    assert hierarchy(grammar) == 3
    term = parse_term("Linear2(Residual2(Linear2(conv1, relu), id, conv3), conv3)")
    labels = [graph.labels[1:-1] for graph in level_graphs(term, grammar)]
    assert labels == [
        ("Residual2", "conv3"),
        ("Linear2", "conv3", "conv3"),
        ("conv1", "relu", "conv3", "conv3"),
    ]
    shallow = parse_term("Linear2(Residual2(conv3, id, conv3), conv3)")
    graphs = level_graphs(shallow, grammar)
    assert [len(g.labels) for g in graphs] == [4, 5, 5] and graphs[1] == graphs[2]
    assert graphs[-1] == term_graph(shallow, grammar.topologies)


def test_dead_parts_are_dead_on_all_levels():
    grammar = parse_grammar("A -> Parallel2(B, B)\nB -> Linear2(conv3, C)\nC -> zero | relu")
    term = parse_term("Parallel2(Linear2(conv3, zero), Linear2(conv3, relu))")
    assert [g.labels[1:-1] for g in level_graphs(term, grammar)] == [
        ("Linear2",),
        ("conv3", "relu"),
    ]
    term = parse_term("Parallel2(Linear2(conv3, zero), Linear2(conv3, zero))")
    assert level_graphs(term, grammar) == [NOTHING, NOTHING]


def test_published_levels():
    space = ready_space("nasbench201-hierarchical")
    assert hierarchy(space.grammar) == 6  # levels 0 to 4, and the whole
    term = Sampler(space.grammar, connected=True).draw(random.Random(1))
    graphs = level_graphs(term, space.grammar)
    assert len(graphs) == 6
    inner = [set(graph.labels) - {"input", "output", "resBlock"} for graph in graphs]
    assert inner[2] <= {"Cell", "Linear1", "avg_pool"}  # a cell of D0 is a level further out
    assert inner[3] <= {"Linear1", "Linear3", "avg_pool"}
    assert inner[5].isdisjoint(TOPOLOGIES)


def test_recursive_grammars_need_a_number_of_levels():
    grammar = parse_grammar("A -> Linear2(A, A) | conv3")
    term = parse_term("Linear2(Linear2(conv3, conv3), conv3)")
    with pytest.raises(ValueError, match="say levels="):
        level_graphs(term, grammar)
    assert [len(g.labels) for g in level_graphs(term, grammar, levels=3)] == [4, 5, 5]
    assert len(level_graphs(term, grammar, levels=1)) == 1
    with pytest.raises(ValueError, match="levels=0 must be"):
        level_graphs(term, grammar, levels=0)
