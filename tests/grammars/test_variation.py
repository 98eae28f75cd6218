"""Every child is in the grammar and within its bounds, whatever the parents and the seed."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciops.grammars.connectivity import is_connected
from sciops.grammars.derivation import derive
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.ready import ready_space
from sciops.grammars.sampling import Sampler
from sciops.grammars.term import Term, parse_term
from sciops.grammars.variation import crossover, mutate, sites
from tests.grammars.grammar_toys import TEXTS, toy

READY = ("fields", "nasbench201-cell", "activations", "digits", "digits-cells", "digits-stages")
SAMPLERS = {
    (name, connected): Sampler(toy(name)[0], depth=toy(name)[1], connected=connected)
    for name in TEXTS
    for connected in (False, True)
}
for ready in map(ready_space, READY):
    SAMPLERS[ready.name, ready.connected] = Sampler(ready.grammar, connected=ready.connected)
ANY_SAMPLER = st.sampled_from(list(SAMPLERS.values()))
SEEDS = st.integers(0, 2**32)


def assert_allowed(term: Term, sampler: Sampler) -> None:
    assert derive(sampler.grammar, term) is not None
    assert term.depth <= sampler.depth
    assert not sampler.connected or is_connected(term, sampler.grammar.topologies)


@given(ANY_SAMPLER, SEEDS)
@settings(deadline=None, max_examples=150)
def test_mutants_are_other_terms_of_the_grammar(sampler, seed):
    rng = random.Random(seed)
    parent = sampler.draw(rng)
    child = mutate(parent, sampler, rng)
    assert child != parent
    assert_allowed(child, sampler)


@given(ANY_SAMPLER, SEEDS)
@settings(deadline=None, max_examples=150)
def test_children_of_two_are_terms_of_the_grammar(sampler, seed):
    rng = random.Random(seed)
    parents = sampler.draw(rng), sampler.draw(rng)
    children = crossover(*parents, sampler, rng)
    if children is None:
        return
    for child, parent in zip(children, parents, strict=True):
        assert child != parent
        assert_allowed(child, sampler)


def test_hierarchical_networks_vary():
    space = ready_space("nasbench201-hierarchical")
    sampler, rng = Sampler(space.grammar, connected=True), random.Random(0)
    first, second = sampler.draw(rng), sampler.draw(rng)
    children = [mutate(first, sampler, rng), *crossover(first, second, sampler, rng)]
    for child in children:
        assert_allowed(child, sampler)
    assert len({first, second, *children}) == 5


def test_the_same_seed_gives_the_same_children():
    sampler = SAMPLERS["fields", True]
    parents = [sampler.draw(random.Random(k)) for k in range(2)]
    one, two = (
        (mutate(parents[0], sampler, rng), crossover(*parents, sampler, rng))
        for rng in (random.Random(3), random.Random(3))
    )
    assert one == two


def test_most_mutants_differ_at_one_place():
    names = ", ".join(["B"] * 8)
    sampler = Sampler(parse_grammar(f"A -> Linear8({names})\nB -> conv3 | id"))
    rng = random.Random(0)
    parent = sampler.draw(rng)
    assert len(sites(parent, sampler)) == 9  # the root is one of them
    children = [mutate(parent, sampler, rng) for _ in range(400)]
    changes = [
        sum(a != b for a, b in zip(parent.args, child.args, strict=True)) for child in children
    ]
    assert Counter(changes).most_common(1)[0][0] == 1


def test_no_place_of_the_second_parent_is_left_out():
    """The published code never takes the first that fits."""
    grammar = parse_grammar("A -> Linear3(B, B, B)\nB -> conv3 | id | relu | gelu")
    sampler = Sampler(grammar)
    first, second = parse_term("Linear3(id, id, id)"), parse_term("Linear3(conv3, relu, gelu)")
    rng = random.Random(0)
    taken = Counter()
    for _ in range(600):
        child, _ = crossover(first, second, sampler, rng)
        taken.update(part.head for part in child.args if part.head != "id")
    assert set(taken) == {"conv3", "relu", "gelu"} and min(taken.values()) > 150


def test_crossover_keeps_what_it_exchanges():
    sampler = SAMPLERS["plain", False]
    first, second = parse_term("Linear2(conv3, conv3)"), parse_term("Linear2(relu, relu)")
    one, two = crossover(first, second, sampler, random.Random(0))
    assert sorted(a.head for t in (one, two) for a in t.args) == ["conv3"] * 2 + ["relu"] * 2


def test_nothing_to_exchange_or_to_change():
    sampler = Sampler(parse_grammar("A -> Linear2(B, B)\nB -> conv3 | conv3"))
    only = parse_term("Linear2(conv3, conv3)")
    assert crossover(only, only, sampler, random.Random(0)) is None
    assert sites(only, sampler) == ()
    with pytest.raises(ValueError, match="no other term than Linear2"):
        mutate(only, sampler, random.Random(0))


def test_a_forced_edge_is_no_site():
    """Where the only other choice is zero, and would disconnect, nothing can change."""
    sampler = Sampler(parse_grammar("A -> Linear2(B, C)\nB -> conv3 | zero\nC -> id | relu"))
    term = parse_term("Linear2(conv3, id)")
    assert [s.path for s in sites(term, sampler)] == [(), (0,), (1,)]
    strict = Sampler(sampler.grammar, connected=True)
    assert [s.path for s in sites(term, strict)] == [(), (1,)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Linear2(pool, conv3)", "pool is none of B"),
        ("Linear2(zero, conv3)", "disconnected; use a sampler with connected=False"),
        ("Linear1(Linear1(Linear1(conv3)))", "depth 4, the sampler allows 3"),
    ],
)
def test_parents_that_are_not_allowed(text, message):
    grammar = parse_grammar("A -> Linear2(B, B) | Linear1(A)\nB -> conv3 | zero")
    sampler = Sampler(grammar, depth=3, connected=True)
    with pytest.raises(ValueError, match=message):
        mutate(parse_term(text), sampler, random.Random(0))
