"""Expected improvement by its integral; the evolution finds what is known to be there."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from sciops.grammars.acquisition import Evolution, expected_improvement
from tests.grammars.term_toy import objective, space

SMALL = Evolution(pool=40, generations=5, limit=10, patience=2)
BEST = ("ladder", *[("residual", "xd", "xd")] * 3)


def fitness(terms):
    return -np.array([objective(t) for t in terms])


@pytest.mark.parametrize("mean", [-1.0, 0.3, 2.0])
@pytest.mark.parametrize("deviation", [0.1, 1.5])
def test_expected_improvement_is_its_integral(mean, deviation):
    best = 0.5
    value, _ = quad(
        lambda s: (best - s) * norm.pdf(s, mean, deviation),
        mean - 12 * deviation,
        best,
        points=[min(mean, best)],
        epsabs=1e-13,
    )
    found = expected_improvement(np.array([mean]), np.array([deviation]), best)
    assert found[0] == pytest.approx(max(value, 0), abs=1e-9)


def test_expected_improvement_is_never_negative():
    found = expected_improvement(np.linspace(0, 100, 50), np.full(50, 1e-3), best=0.0)
    assert (found >= 0).all() and found[0] > 0


def test_evolution_finds_the_fittest():
    found = Evolution().fittest(space(), fitness, [], set(), np.random.default_rng(0))
    assert found == BEST


def test_what_is_excluded_is_not_found_though_it_is_a_parent():
    rng = np.random.default_rng(1)
    found = Evolution().fittest(space(), fitness, [BEST], {BEST}, rng)
    assert found != BEST and objective(found) == 0.5  # the second best: one block is a line


def test_the_same_generator_gives_the_same_candidate():
    one, two = (
        SMALL.fittest(space(), fitness, [], set(), np.random.default_rng(3)) for _ in range(2)
    )
    assert one == two


def test_nothing_is_judged_twice_and_all_excluded_is_none():
    asked = []

    def counted(terms):
        asked.extend(terms)
        return fitness(terms)

    SMALL.fittest(space(), counted, [], set(), np.random.default_rng(2))
    assert len(asked) == len(set(asked)) > SMALL.pool // 2
    everything = type("Everything", (), {"__contains__": lambda self, term: True})()
    assert SMALL.fittest(space(), fitness, [], everything, np.random.default_rng(2)) is None


@pytest.mark.parametrize(
    ("bests", "ends"),
    [
        ([0, 1, 2], False),  # two generations are too few
        ([0, 1, 2, 3], False),  # it grew in the last two
        ([0, 1, 1, 1], True),  # it did not
        ([0, 1, 2, 3, 4, 5], True),  # five are the limit
    ],
)
def test_when_evolution_ends(bests, ends):
    assert Evolution(generations=3, limit=5, patience=2)._ends(bests) is ends


def test_numbers_out_of_range_say_so():
    with pytest.raises(ValueError, match="pool=0 must be a whole number ≥ 1"):
        Evolution(pool=0)
    with pytest.raises(ValueError, match="tournament=2 must be a share"):
        Evolution(tournament=2)
