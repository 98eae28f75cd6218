"""Fast features against trees written out as text, and against another library."""

from collections import Counter

import numpy as np
import pytest

from sciops.grammars.labelled_graph import LabelledGraph
from sciops.grammars.wl_kernel import ColourTable, products, wl_kernel
from tests.grammars.term_toy import full_graph, levels, sample


def random_graph(rng, nodes, labels="abc"):
    pairs = rng.integers(nodes, size=(2 * nodes, 2))
    edges = tuple((int(i), int(j)) for i, j in np.unique(pairs, axis=0) if i != j)
    return LabelledGraph(tuple(rng.choice(list(labels), nodes).tolist()), edges)


def random_graphs(seed, count=12):
    rng = np.random.default_rng(seed)
    return [random_graph(rng, int(rng.integers(1, 9))) for _ in range(count)]


def tree(graph, node, steps):
    """The colour of a node as the text of the tree it stands for."""
    if steps == 0:
        return graph.labels[node]
    below = sorted(tree(graph, end, steps - 1) for start, end in graph.edges if start == node)
    return f"({tree(graph, node, steps - 1)}:{','.join(below)})"


def naive_kernel(graphs, h):
    counts = [
        Counter((t, tree(g, v, t)) for t in range(h + 1) for v in range(len(g.labels)))
        for g in graphs
    ]
    dot = np.array([[sum(a[c] * b[c] for c in a) for b in counts] for a in counts])
    return dot / np.sqrt(np.outer(dot.diagonal(), dot.diagonal()))


@pytest.mark.parametrize("h", [0, 1, 2, 4])
def test_fast_features_agree_with_trees_as_text(h):
    graphs = random_graphs(h)
    np.testing.assert_allclose(wl_kernel(graphs, h=h), naive_kernel(graphs, h), atol=1e-14)


@pytest.mark.parametrize("h", [1, 2, 3])
def test_agrees_with_grakel(h):
    grakel = pytest.importorskip("grakel", reason="grakel, another library, is not installed")
    graphs = [g for g in random_graphs(h, 20) if g.edges]  # grakel wants edges
    given = [grakel.Graph(followers(g), dict(enumerate(g.labels))) for g in graphs]
    kernel = grakel.WeisfeilerLehman(
        n_iter=h, base_graph_kernel=grakel.VertexHistogram, normalize=True
    )
    np.testing.assert_allclose(wl_kernel(graphs, h=h), kernel.fit_transform(given), atol=1e-12)


def followers(graph):
    nodes = range(len(graph.labels))
    return {node: [end for start, end in graph.edges if start == node] for node in nodes}


def test_a_kernel_worked_out_by_hand():
    fork = LabelledGraph(("a", "b", "b"), ((0, 1), (0, 2)))
    path = LabelledGraph(("a", "b", "b"), ((0, 1), (1, 2)))
    # steps 0: a·1 b·2 in both; step 1 fork: a(bb) b()·2, path: a(b) b(b) b()
    assert wl_kernel([fork], [path], h=1)[0, 0] == pytest.approx(7 / np.sqrt(10 * 8))


def test_edges_have_a_direction():
    out, back = LabelledGraph(("a", "b"), ((0, 1),)), LabelledGraph(("a", "b"), ((1, 0),))
    assert wl_kernel([out], [back], h=0)[0, 0] == pytest.approx(1)
    assert wl_kernel([out], [back], h=1)[0, 0] < 0.9


@pytest.mark.parametrize("h", [0, 2, 4])
def test_positive_semi_definite_with_unit_diagonal(h):
    graphs = random_graphs(7, 40)
    kernel = wl_kernel(graphs, h=h)
    np.testing.assert_allclose(kernel, kernel.T, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(), 1, atol=1e-14)
    assert np.linalg.eigvalsh(kernel).min() > -1e-12


def test_numbering_of_nodes_does_not_matter():
    graph = random_graph(np.random.default_rng(3), 7)
    order = np.random.default_rng(4).permutation(7)
    place = np.argsort(order)
    moved = LabelledGraph(
        tuple(graph.labels[i] for i in order),
        tuple((int(place[a]), int(place[b])) for a, b in graph.edges),
    )
    assert wl_kernel([graph], [moved], h=4)[0, 0] == pytest.approx(1)


def test_a_table_may_grow_and_deepen_between_features():
    graphs = random_graphs(5, 10)
    table = ColourTable()
    table.features(graphs, 1)
    first, later = table.features(graphs[:4], 3), table.features(graphs[4:], 3)
    np.testing.assert_allclose(
        products(first, later), wl_kernel(graphs, h=3)[:4, 4:], atol=1e-14, rtol=0
    )
    np.testing.assert_allclose(products(later, first), products(first, later).T, atol=1e-14)


def test_a_thousand_graphs_share_few_colours():
    rng = np.random.default_rng(0)
    graphs = [full_graph(sample(rng)) for _ in range(1000)]
    features = ColourTable().features(graphs, 2)
    assert features.nnz < 1000 * 3 * len(graphs[0].labels)
    assert products(features, features).shape == (1000, 1000)
    assert len(levels(sample(rng))) == 3


def test_bad_graphs_and_depths_say_so():
    with pytest.raises(ValueError, match="without nodes"):
        wl_kernel([LabelledGraph((), ())])
    with pytest.raises(ValueError, match=r"edge \(0, 2\) leaves the graph, whose nodes are 0…1"):
        wl_kernel([LabelledGraph(("a", "b"), ((0, 2),))])
    with pytest.raises(ValueError, match="h=-1"):
        wl_kernel([LabelledGraph(("a",), ())], h=-1)
