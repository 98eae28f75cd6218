"""Terms as candidates: drawn, changed, written and read within the bounds of their grammar."""

import pickle

import numpy as np
import pytest

from sciops.grammars.connectivity import is_connected
from sciops.grammars.derivation import derive
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.graphs import level_graphs
from sciops.grammars.ready import NAMES, ready_space
from sciops.searching.term_candidates import TermCandidates

RECURSIVE = parse_grammar("NET -> Linear2(NET, OP) | OP\nOP -> conv3 | relu")


def candidates(name: str) -> TermCandidates:
    ready = ready_space(name)
    return TermCandidates(ready.grammar, connected=ready.connected)


@pytest.mark.parametrize("name", NAMES)
def test_children_stay_in_the_space_and_come_back_from_text(name):
    own = candidates(name)
    space, rng = own.space(), np.random.default_rng(0)
    first, second = space.sample(rng), space.sample(rng)
    children = [space.mutate(first, rng), *space.crossover(first, second, rng)]
    for term in (first, second, *children):
        assert derive(own.grammar, term) is not None
        assert not own.connected or is_connected(term, own.grammar.topologies)
        assert space.read(space.write(term)) == term
        assert list(space.levels(term)) == level_graphs(term, own.grammar)


def test_other_processes_draw_the_same():
    space = candidates("fields").space()
    there = pickle.loads(pickle.dumps(space))
    rngs = [np.random.default_rng(3) for _ in range(2)]
    drawn = [s.sample(rng) for s, rng in zip((space, there), rngs, strict=True)]
    assert drawn[0] == drawn[1] and space.levels(drawn[0]) == there.levels(drawn[1])


def test_where_nothing_can_be_exchanged_parents_are_their_children():
    own = TermCandidates(parse_grammar("NET -> conv3 | relu"))
    rng = np.random.default_rng(0)
    parents = own.read("conv3"), own.read("relu")
    assert own.space().crossover(*parents, rng) == parents


def test_recursive_grammars_need_a_depth():
    with pytest.raises(ValueError, match="depth="):
        TermCandidates(RECURSIVE).space()
    space, rng = TermCandidates(RECURSIVE, depth=3).space(), np.random.default_rng(0)
    terms = [space.sample(rng) for _ in range(60)]
    assert max(term.depth for term in terms) == 3
    assert {len(space.levels(term)) for term in terms} == {3}


def test_terms_of_other_grammars_are_not_read():
    with pytest.raises(ValueError, match="the term is not in the grammar"):
        candidates("digits").space().read("Linear2(lift9, conv3)")
