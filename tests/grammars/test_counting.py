"""Sizes against lists of all terms, and the published ones."""

import math

import pytest

from sciops.grammars.connectivity import is_connected
from sciops.grammars.counting import size
from sciops.grammars.derivation import derivations
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.ready import ready_space
from tests.grammars.grammar_toys import TEXTS, toy
from tests.grammars.test_listing import listed


@pytest.mark.parametrize("name", TEXTS)
def test_sizes_are_those_of_lists(name):
    grammar, depth = toy(name)
    terms = listed(grammar, depth)
    connected = [t for t in terms if is_connected(t, grammar.topologies)]
    assert 0 < len(connected) <= len(terms)
    for some, option in ((terms, False), (connected, True)):
        bounds = dict(depth=depth, connected=option)
        assert size(grammar, distinct=True, **bounds) == len(some)
        assert size(grammar, **bounds) == sum(derivations(grammar, term) for term in some)


def test_published_sizes():
    hierarchical = ready_space("nasbench201-hierarchical").grammar
    assert math.log10(size(hierarchical)) == pytest.approx(446.09, abs=0.005)
    assert math.log10(size(hierarchical, distinct=True)) == pytest.approx(375.8, abs=0.05)
    assert size(hierarchical.unique()) == size(hierarchical, distinct=True)
    assert size(ready_space("nasbench201-cell").grammar) == 5**6
    assert size(ready_space("activations").grammar) == 393_762_525
    assert size(ready_space("activations").grammar, distinct=True) == 393_762_525


def test_recursive_grammars_need_a_depth():
    grammar = parse_grammar("A -> Linear2(A, A) | conv3")
    with pytest.raises(ValueError, match="infinitely many terms; say how deep"):
        size(grammar)
    sizes = [size(grammar, depth=depth) for depth in range(1, 6)]
    assert sizes == [1, 2, 5, 26, 677]  # n ↦ n² + 1
    for depth in (0, 65, 2.0):
        with pytest.raises(ValueError, match="whole number from 1 to 64"):
            size(grammar, depth=depth)


def test_depth_also_bounds_grammars_that_end():
    grammar = parse_grammar("A -> Linear1(B) | conv3\nB -> Linear1(id) | id")
    assert [size(grammar, depth=d) for d in (1, 2, 3, 4)] == [1, 2, 3, 3]


@pytest.mark.parametrize("connected", [False, True])
def test_numbers_too_large_to_count(connected):
    grammar = parse_grammar("A -> Linear8(A, A, A, A, A, A, A, A) | conv3 | id | zero")
    assert size(grammar, depth=5, connected=connected) > 10**300
    with pytest.raises(ValueError, match=r"more than 10\^19728 terms, .* allow a smaller depth=…"):
        size(grammar, depth=64, connected=connected)


def test_more_edges_that_may_go_than_can_be_looked_at_are_refused():
    ways = range(2, 11)
    edges = " ".join([*(f"1-{i}" for i in ways), *(f"{i}-11" for i in ways)])
    text = f"Many = {edges}\nNET -> Many({', '.join(['OP'] * 18)})\nOP -> conv3 | zero"
    assert size(parse_grammar(text)) == 2**18
    with pytest.raises(ValueError, match="18 edges that may be zero, and at most 16 are allowed"):
        size(parse_grammar(text), connected=True)
