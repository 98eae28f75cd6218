"""Pictures of terms: everything is in them, in layers, and nothing lies on anything else."""

import random
from io import BytesIO

import pytest

from sciops.grammars.grammar import parse_grammar
from sciops.grammars.graphs import level_graphs, term_graph
from sciops.grammars.ready import ready_space
from sciops.grammars.sampling import Sampler
from sciops.grammars.term import parse_term
from sciops.grammars.topology import TOPOLOGIES
from sciops.plots import architecture
from sciops.plots.term_drawing import layers_of, places_of

TERM = "Linear2(lift16, Diamond(Parallel2(conv3, fourier8), Linear3(relu, conv3, gelu), id, xd8))"


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_every_node_is_drawn_once():
    figure = architecture(TERM)
    graph = term_graph(parse_term(TERM), TOPOLOGIES)
    assert texts(figure) == list(graph.labels)
    assert len(figure.axes[0].patches) == len(graph.edges)
    figure.savefig(BytesIO())


@pytest.mark.parametrize("seed", range(5))
def test_layers(seed):
    space = ready_space("fields")
    term = Sampler(space.grammar, connected=True).draw(random.Random(seed))
    graph = term_graph(term, space.grammar.topologies)
    rows = layers_of(graph)
    places = places_of(rows)
    assert len(set(places.values())) == len(places) >= len(graph.labels)
    assert all(places[a][0] < places[b][0] for a, b in graph.edges)
    assert rows[0] == [0] and rows[-1] == [len(graph.labels) - 1]


def test_two_rows_do_not_cross():
    graph = term_graph(parse_term("Diamond(conv3, relu, conv5, gelu)"), TOPOLOGIES)
    places = places_of(layers_of(graph))
    height = {label: places[i][1] for i, label in enumerate(graph.labels)}
    assert (height["conv3"] < height["relu"]) == (height["conv5"] < height["gelu"])


def test_boxes_do_not_overlap():
    figure = architecture(TERM)
    figure.savefig(BytesIO())  # boxes have no size before
    boxes = [text.get_bbox_patch().get_window_extent() for text in figure.axes[0].texts]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])


def test_levels_own_topologies_and_disconnected_terms():
    grammar = parse_grammar("Fork = 1-2 1-2\nNET -> Fork(Linear1(conv3), id)")
    term = Sampler(grammar).draw(random.Random(0))
    top = level_graphs(term, grammar)[0]
    assert texts(architecture(top)) == ["input", "Linear1", "output"]
    assert texts(architecture(term, grammar.topologies)) == ["input", "conv3", "output"]
    assert texts(architecture("zero")) == ["input", "output"]


def test_graphs_that_nobody_can_read():
    space = ready_space("nasbench201-hierarchical")
    term = Sampler(space.grammar, by="terms").draw(random.Random(0))
    with pytest.raises(ValueError, match="draw one of its level_graphs"):
        architecture(term)
