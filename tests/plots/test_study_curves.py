"""Figures of studies show all trials, the least so far and the controls."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sciops.plots.study_curves import best_so_far, predicted_errors, strategies

TRIALS = pd.DataFrame(
    {
        "trial": ["0", "1", "2", "3", "fno"],
        "role": ["search"] * 4 + ["control"],
        "state": ["finished", "stopped", "failed", "finished", "finished"],
        "val": [0.5, 0.1, np.nan, 0.3, 0.4],
    }
)


def test_stopped_trials_are_never_the_best():
    (axes,) = best_so_far(TRIALS).axes
    step, control = axes.lines
    assert step.get_ydata().tolist() == [0.5, 0.5, 0.5, 0.3]
    assert control.get_ydata() == [0.4, 0.4]
    assert [len(dots.get_offsets()) for dots in axes.collections] == [2, 1]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["finished", "stopped early", "least so far", "fno, 0.400"]


def search(trials=TRIALS, **changes) -> SimpleNamespace:
    settings = {"task": "darcy", "data": None, "budget": 2, "strategy": {}, **changes}
    return SimpleNamespace(trials=trials, settings=settings)


def test_several_searches_are_drawn_by_name():
    slower = TRIALS.assign(val=[0.9, 0.1, np.nan, 0.8, 0.4])
    (axes,) = strategies(bayes=search(), random=search(slower, strategy={"proposer": "r"})).axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [
        [0.5] * 3 + [0.3],
        [0.9] * 3 + [0.8],
    ]
    assert axes.lines[0].get_color() != axes.lines[1].get_color()
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["bayes, 0.300", "random, 0.800"]


@pytest.mark.parametrize("setting", [{"task": "burgers"}, {"budget": 3}, {"data": {"given": "x"}}])
def test_searches_for_something_else_are_refused(setting):
    (name,) = setting
    with pytest.raises(ValueError, match=f"errors of one and other cannot be compared: {name} is"):
        strategies(one=search(), other=search(**setting))


def test_no_search_at_all():
    with pytest.raises(ValueError, match="no search to draw; give some by name"):
        strategies()


def test_predictions_are_drawn_as_errors():
    table = pd.DataFrame(
        {"score": [-2.0, -1.0], "flat": [-1.5, -1.2], "flat_deviation": [0.1, 0.2]}
    )
    (axes,) = predicted_errors(table, "flat").axes
    points = axes.lines[0]
    assert points.get_xdata() == pytest.approx(np.exp([-2, -1]))
    assert points.get_ydata() == pytest.approx(np.exp([-1.5, -1.2]))
    ends = axes.collections[0].get_segments()[1][:, 1]
    assert ends == pytest.approx(np.exp([-1.4, -1.0]))
