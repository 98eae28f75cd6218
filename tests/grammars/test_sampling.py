"""Random terms: their probabilities, their bounds, their seeds."""

import random
from collections import Counter

import numpy as np
import pytest

from sciops.grammars.connectivity import is_connected
from sciops.grammars.derivation import derive
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.listing import all_terms
from sciops.grammars.ready import ready_space
from sciops.grammars.sampling import WAYS, Sampler, below, pick
from sciops.grammars.term import parse_term
from tests.grammars.grammar_toys import TEXTS, toy


def chi_squared(counts: Counter, expected: dict, n: int) -> float:
    """Σ (observed − expected)² / expected; its mean is one less than there are kinds."""
    assert set(counts) <= set(expected)
    return sum((counts[t] - n * p) ** 2 / (n * p) for t, p in expected.items())


@pytest.mark.parametrize("connected", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_terms_are_drawn_evenly(name, connected):
    grammar, depth = toy(name)
    terms = list(all_terms(grammar, depth=depth, connected=connected))
    sampler = Sampler(grammar, by="terms", depth=depth, connected=connected)
    rng, n = random.Random(0), 20 * len(terms)
    counts = Counter(sampler.draw(rng) for _ in range(n))
    kinds = len(terms) - 1
    distance = chi_squared(counts, dict.fromkeys(terms, 1 / len(terms)), n)
    assert distance < kinds + 4 * (2 * kinds) ** 0.5 + 4


def test_productions_are_drawn_evenly_and_twice_where_listed_twice():
    grammar = parse_grammar("A -> Linear1(B) | relu\nB -> conv3 | conv3 | id")
    expected = {"relu": 1 / 2, "Linear1(conv3)": 1 / 3, "Linear1(id)": 1 / 6}
    sampler, rng, n = Sampler(grammar), np.random.default_rng(0), 3000
    counts = Counter(str(sampler.draw(rng)) for _ in range(n))
    assert chi_squared(counts, expected, n) < 2 + 4 * 2


def test_forbidden_zeros_leave_their_share_to_the_others():
    """The first edge may be zero, the second then not: 1/2 · 1, and 1/2 · 1/2 · 2."""
    grammar = parse_grammar("A -> Parallel2(B, B)\nB -> conv3 | zero")
    expected = {
        "Parallel2(zero, conv3)": 1 / 2,
        "Parallel2(conv3, zero)": 1 / 4,
        "Parallel2(conv3, conv3)": 1 / 4,
    }
    sampler, rng, n = Sampler(grammar, connected=True), random.Random(0), 3000
    counts = Counter(str(sampler.draw(rng)) for _ in range(n))
    assert chi_squared(counts, expected, n) < 2 + 4 * 2


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("name", TEXTS)
def test_terms_are_in_the_grammar_and_within_bounds(name, by):
    grammar, depth = toy(name)
    sampler = Sampler(grammar, by=by, depth=depth or 3, connected=True)
    rng = random.Random(1)
    for term in [sampler.draw(rng) for _ in range(50)]:
        assert derive(grammar, term) is not None
        assert term.depth <= (depth or 3) and is_connected(term, grammar.topologies)


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("make", [random.Random, np.random.default_rng])
def test_the_same_seed_gives_the_same_terms(by, make):
    sampler = Sampler(ready_space("nasbench201-hierarchical").grammar, by=by, connected=True)
    first, second = ([sampler.draw(rng) for _ in range(3)] for rng in (make(5), make(5)))
    assert first == second and len(set(first)) == 3
    assert sampler.draw(make(6)) != first[0]


def test_parts_of_a_symbol():
    sampler = Sampler(parse_grammar(TEXTS["zeros"]), connected=True)
    rng = random.Random(0)
    drawn = {sampler.draw(rng, "C", zero=True) for _ in range(60)}
    assert parse_term("zero") in drawn
    drawn = {sampler.draw(rng, "C", zero=False) for _ in range(60)}
    assert drawn == {parse_term(t) for t in ("id", "Linear1(conv3)")}
    assert {sampler.draw(rng, "C", depth=1, zero=False) for _ in range(9)} == {parse_term("id")}


def test_requests_that_cannot_be_met():
    endless = parse_grammar("A -> Linear2(A, A) | conv3")
    with pytest.raises(ValueError, match="infinitely many terms"):
        Sampler(endless)
    with pytest.raises(ValueError, match="no term of depth 1 or less; allow a larger"):
        Sampler(parse_grammar("A -> Linear1(conv3)"), depth=1)
    with pytest.raises(ValueError, match=r"connected; .* productions without zero"):
        Sampler(parse_grammar("A -> Linear2(zero, conv3)"), connected=True)
    with pytest.raises(ValueError, match="by='depth' is not known; choose one of productions"):
        Sampler(endless, by="depth", depth=3)


def test_draws_that_cannot_be_met():
    sampler = Sampler(parse_grammar("A -> Linear1(B)\nB -> conv3"))
    with pytest.raises(ValueError, match="no symbol 'C'; there are A, B"):
        sampler.draw(random.Random(0), "C")
    with pytest.raises(ValueError, match="A becomes no term of depth 1"):
        sampler.draw(random.Random(0), depth=1)
    with pytest.raises(ValueError, match=r"expected random.Random\(seed\) .* got 3"):
        sampler.draw(3)
    for rng in (random.Random(0), np.random.default_rng(0)):
        with pytest.raises(ValueError, match="n=0 must be at least 1"):
            below(rng, 0)


def test_whole_numbers_of_any_size():
    n = 10**50 + 7
    for rng in (random.Random(0), np.random.default_rng(0)):
        values = [below(rng, n) for _ in range(200)]
        assert all(0 <= v < n for v in values)
        assert 0.4 * n < sum(values) / 200 < 0.6 * n
        assert {below(rng, 3) for _ in range(50)} == {0, 1, 2} and below(rng, 1) == 0
        assert {pick(rng, [0, 10**40, 0]) for _ in range(9)} == {1}


@pytest.mark.parametrize(
    "text",
    [
        "\n".join([*(f"S{i} -> S{i + 1}" for i in range(3000)), "S3000 -> id"]),
        "NET -> Linear2(OP, OP)\nOP -> " + "|".join(f"a{i}" for i in range(5000)),
    ],
    ids=["renamed", "alternatives"],
)
def test_grammars_too_long_to_count(text):
    with pytest.raises(ValueError, match=r"too long to count its terms.* give it fewer"):
        Sampler(parse_grammar(text))
