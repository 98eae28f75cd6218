"""Rank correlation of a surrogate with what it has not seen."""

import math

import numpy as np
import pytest

from sciops.grammars.calibration import rank_correlation
from sciops.grammars.candidates import Trial
from tests.grammars.term_toy import objective, sample, space


def scored(seed, count, score=objective):
    rng = np.random.default_rng(seed)
    return [Trial(term, score(term)) for term in (sample(rng) for _ in range(count))]


def test_a_surrogate_ranks_what_it_has_not_seen():
    assert rank_correlation(space(), scored(0, 60), scored(1, 60)) > 0.6


def test_chance_cannot_be_ranked():
    noise = np.random.default_rng(2)
    trials = scored(0, 60, lambda term: noise.normal())
    assert abs(rank_correlation(space(), trials, scored(1, 60, lambda t: noise.normal()))) < 0.3


def test_levels_rank_better_where_the_score_is_of_a_level():
    """The macro alone decides, which the full graph shows only by its edges."""

    def score(term):
        return float(term[0] == "chain") + 0.01 * objective(term)

    trials, held_out = scored(3, 20, score), scored(4, 60, score)
    flat = rank_correlation(space(), trials, held_out, "flat")
    assert rank_correlation(space(), trials, held_out) > flat


def test_failed_trials_are_not_ranked():
    held_out = scored(1, 20)
    with_failed = [*held_out, Trial(held_out[0].candidate, math.inf)]
    trials = scored(0, 20)
    assert rank_correlation(space(), trials, with_failed) == rank_correlation(
        space(), trials, held_out
    )
    with pytest.raises(ValueError, match="1 held-out trials with a score"):
        rank_correlation(space(), trials, held_out[:1])
