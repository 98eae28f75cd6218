"""Rank correlation of a surrogate with what it has not seen."""

import math

import numpy as np
import pytest

from sciops.studies.calibration import FOLDS, cross_validated, rank_correlation
from sciops.studies.candidates import Trial
from sciops.studies.proposers import fit_surrogate
from tests.studies.term_toy import objective, sample, space


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


def test_every_trial_is_predicted_from_the_other_folds():
    trials = scored(0, 25)
    failed = Trial(trials[0].candidate, math.inf)
    table = cross_validated(space(), [failed, *trials])
    assert table["score"].tolist() == [trial.score for trial in trials]
    others = [trial for k, trial in enumerate(trials) if k % FOLDS != 7 % FOLDS]
    levels = [space().levels(trials[7].candidate)]
    for kernel in ("hierarchical", "flat"):
        mean, deviation = fit_surrogate(space(), others, kernel).predict(levels)
        assert table[kernel][7] == pytest.approx(mean[0], rel=1e-6)
        assert table[f"{kernel}_deviation"][7] == pytest.approx(deviation[0], rel=1e-6)
    assert table.attrs["tau"]["hierarchical"] > 0.3
    with_guesses = cross_validated(space(), trials, scored(1, 15))
    assert len(with_guesses) == 25 and (with_guesses["flat"] - table["flat"]).abs().max() > 1e-3
    mean, _ = fit_surrogate(space(), [*others, *scored(1, 15)]).predict(levels)
    assert with_guesses["hierarchical"][7] == pytest.approx(mean[0], rel=1e-6)
    with pytest.raises(ValueError, match="9 trials with a score; at least 10 are needed"):
        cross_validated(space(), trials[:9])
