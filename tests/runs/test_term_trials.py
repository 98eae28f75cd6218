"""Scores of trials, and controls of equal size."""

import math

import pytest

from sciops.backbones import make_backbone
from sciops.runs.term_trials import USUAL_WIDTH, WIDTHS, score_of, size_for, width_for
from tests.backbones.test_backbones import make_task


def test_scores_are_logarithms():
    assert score_of({"epoch": 3, "val_x": math.exp(-2), "seconds": 1}) == pytest.approx(-2)
    assert score_of({"epoch": 1, "val_x": 0.0}) == pytest.approx(math.log(1e-8))


def count(task, op, width, frequencies):
    network = make_backbone(task, op, width=width, frequencies=frequencies)
    return sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize("op", ["fno", "xd"])
def test_no_width_is_nearer(op):
    task = make_task(1, 16)
    seven = count(task, op, 7, 4)
    for wanted in (1, 3000, seven, 10**9):
        found = width_for(task, op, wanted, 4)
        others = [w for w in (found - 1, found + 1) if w in WIDTHS]
        distance = {w: abs(count(task, op, w, 4) - wanted) for w in (found, *others)}
        assert min(distance.values()) == distance[found]
    assert width_for(task, op, seven, 4) == 7
    assert width_for(task, op, 1, 4) == 1 and width_for(task, op, 10**9, 4) == WIDTHS[-1]


def test_frequencies_leave_room_for_channels():
    task = make_task(2, 32)
    many, few = (count(task, "fno", 16, frequencies) for frequencies in (12, 6))
    assert size_for(task, "fno", many) == {"width": 16, "frequencies": 12}
    assert size_for(task, "fno", few) == {"width": 16, "frequencies": 6}
    thin = size_for(task, "fno", 100)
    assert thin["frequencies"] == 4 and thin["width"] < USUAL_WIDTH
