"""Trials that were stopped count with the score that they might have had at their end."""

import math

import pytest

from sciops.studies.early_stopping import EarlyStopping
from sciops.studies.extrapolation import ended_trials, extrapolated
from sciops.studies.study import TrialRecord, run_study
from tests.studies import study_toy, term_toy


def record(state, score, reports):
    return TrialRecord(0, score, state, score, "", reports, 1, 0.0)


FINISHED = [
    record("finished", -3.0, {1: -1.0, 2: -2.5, 4: -3.0}),
    record("finished", -4.0, {1: -1.0, 2: -3.0, 4: -4.0}),
    record("finished", -2.0, {1: -1.5, 2: -1.8, 4: -2.0}),
]


def test_a_stopped_trial_gains_what_the_median_of_the_finished_ones_gained():
    gains = {1: -2.0, 2: -0.5}  # the medians of −2, −3, −0.5, and of −0.5, −1, −0.2
    assert extrapolated(record("stopped", 0.5, {1: 0.5}), FINISHED) == 0.5 + gains[1]
    assert extrapolated(record("stopped", 0.5, {1: 0.9, 2: 0.5}), FINISHED) == 0.5 + gains[2]


def test_a_guess_is_never_better_than_the_best_finished_trial():
    assert extrapolated(record("stopped", -2.5, {1: -2.5}), FINISHED) == -4.0


def test_without_a_finished_trial_that_reported_then_the_last_report_stays():
    stopped = record("stopped", 0.5, {3: 0.5})
    assert extrapolated(stopped, FINISHED) == extrapolated(stopped, []) == 0.5


def test_only_stopped_trials_are_changed_and_running_ones_left_out():
    failed, running = record("failed", math.inf, {1: 0.1}), record("running", math.nan, {})
    stopped = record("stopped", 0.5, {1: 0.5})
    trials = ended_trials([FINISHED[0], stopped, running, failed, FINISHED[1]])
    assert [trial.score for trial in trials] == [-3.0, 0.5 - 2.5, math.inf, -4.0]
    assert [trial.candidate for trial in trials][:2] == [-3.0, 0.5]


def test_strategies_see_the_guesses(tmp_path):
    """Curves that are one above the other by a constant are continued exactly."""
    pytest.importorskip("optuna", reason="the engine of studies, Optuna, is not installed")
    seen = []

    class Watching(type(study_toy.proposer("random"))):
        def propose(self, space, trials, pending, rng):
            seen.append(trials)
            return super().propose(space, trials, pending, rng)

    rule = EarlyStopping(first=1, factor=2)
    how = (study_toy.reporting, term_toy.space(), Watching(), 9, tmp_path)
    states = [r.state for r in run_study(*how, early_stopping=rule).records]
    assert "stopped" in states[:8] and states[0] == "finished"
    for trial in seen[-1]:
        best = min(t.score for t, s in zip(seen[-1], states, strict=False) if s == "finished")
        assert trial.score == pytest.approx(max(term_toy.objective(trial.candidate), best))
