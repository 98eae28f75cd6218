"""Shared motifs: two grammars in one, and terms with the motif in all its places."""

import random

import pytest

from sciops.grammars.counting import size
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.motifs import expanded, with_motif
from sciops.grammars.ready import ready_space
from sciops.grammars.sampling import Sampler
from sciops.grammars.term import parse_term

NETWORKS = parse_grammar("NET -> Linear2(motif, relu) | Linear3(motif, relu, motif)")
PARTS = parse_grammar("Fork = 1-2 1-2\nPART -> Fork(OP, OP)\nOP -> conv3 | id | zero")


def test_sizes_multiply():
    joined = with_motif(NETWORKS, PARTS)
    assert size(joined) == size(NETWORKS) * size(PARTS) == 18
    assert size(joined, connected=True) == size(NETWORKS) * 8
    assert joined.start == "SHARED" and "Fork" in joined.topologies


def test_every_place_gets_the_same_part():
    joined = with_motif(NETWORKS, PARTS)
    rng = random.Random(0)
    for term in [Sampler(joined).draw(rng) for _ in range(20)]:
        network, part = term.args
        whole = expanded(term)
        places = [path for path, inner in network.parts() if inner.head == "motif"]
        assert places and all(whole.at(path) == part for path in places)
        assert "motif" not in str(whole) and "Shared" not in str(whole)


def test_a_motif_that_is_zero_is_disconnected():
    joined = with_motif(NETWORKS, parse_grammar("PART -> zero | conv3"))
    assert size(joined, connected=True) == 2


def test_the_cell_based_space_repeats_its_cell():
    term = Sampler(ready_space("nasbench201-cell").grammar).draw(random.Random(0))
    whole = expanded(term)
    cells = [part for _, part in whole.parts() if part.head == "Cell"]
    assert len(cells) == 15 and set(cells) == {term.args[1]}


def test_grammars_that_do_not_fit():
    with pytest.raises(ValueError, match="no primitive 'motif'"):
        with_motif(PARTS, NETWORKS)
    with pytest.raises(ValueError, match="both grammars have the symbol NET"):
        with_motif(NETWORKS, parse_grammar("NET -> conv3"))
    with pytest.raises(ValueError, match="the symbol PART"):
        with_motif(NETWORKS, PARTS, start="PART")
    other = parse_grammar("Fork = 1-2 2-3\nNET -> Fork(motif, relu)")
    with pytest.raises(ValueError, match="a topology Fork, with other edges"):
        with_motif(other, PARTS)


def test_terms_without_motifs_stay():
    term = parse_term("Linear2(conv3, id)")
    assert expanded(term) is term
