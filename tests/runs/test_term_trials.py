"""Scores of trials, and controls of equal size."""

import math

import pytest

from sciops.backbones import make_backbone
from sciops.runs.term_trials import WIDTHS, score_of, width_for
from tests.backbones.test_backbones import make_task


def test_scores_are_logarithms():
    assert score_of({"epoch": 3, "val_x": math.exp(-2), "seconds": 1}) == pytest.approx(-2)
    assert score_of({"epoch": 1, "val_x": 0.0}) == pytest.approx(math.log(1e-8))


@pytest.mark.parametrize("op", ["fno", "xd"])
def test_no_width_is_nearer(op):
    task = make_task(1, 16)

    def count(width):
        return sum(p.numel() for p in make_backbone(task, op, width=width).parameters())

    for wanted in (1, 3000, count(7), 10**9):
        found = width_for(task, op, wanted)
        others = [w for w in (found - 1, found + 1) if w in WIDTHS]
        assert all(abs(count(w) - wanted) >= abs(count(found) - wanted) for w in others)
    assert width_for(task, op, count(7)) == 7
    assert width_for(task, op, 1) == 1 and width_for(task, op, 10**9) == WIDTHS[-1]
