"""Times of calls and models: medians, per sample, and nothing is left changed."""

import time

import pytest
import torch
from torch import nn

from sciops.evaluation import timing
from sciops.evaluation.timing import median_seconds, seconds_per_sample, torch_threads


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Time that passes only while someone sleeps."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.append(now.pop() + seconds))


class Sleeper(nn.Module):
    """Takes 2 ms a call and 1 ms a sample, and remembers how it was called."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x, coords=None):
        time.sleep(0.002 + 0.001 * len(x))
        self.seen.append(
            (len(x), torch.get_num_threads(), self.training, torch.is_grad_enabled(), coords)
        )
        return x


@pytest.mark.parametrize(
    ("taken", "budget", "calls", "expected"),
    [
        ([9.0, 1.0, 5.0, 2.0], 16.5, 50, 2.0),  # the first does not count
        ([9.0], 1.0, 50, 9.0),  # nothing but the first
        ([0.0, 1.0, 2.0, 4.0], 99.0, 3, 2.0),
    ],
)
def test_median_of_the_calls_that_fit(monkeypatch, taken, budget, calls, expected):
    clock = iter(taken)
    monkeypatch.setattr(timing, "_seconds", lambda call: next(clock))
    monkeypatch.setattr(timing, "BUDGET", budget)
    monkeypatch.setattr(timing, "MOST_CALLS", calls)
    assert median_seconds(lambda: None) == expected
    assert list(clock) == []


def test_seconds_of_a_sample(monkeypatch):
    monkeypatch.setattr(timing, "cores", lambda: 2)
    model, x = Sleeper().train(), torch.zeros(3, 1, 4)
    table = seconds_per_sample(model, x)
    assert table[["batch", "threads"]].values.tolist() == [[1, 1], [16, 1], [1, 2], [16, 2]]
    for row in table.itertuples():
        assert row.seconds == pytest.approx((0.002 + 0.001 * row.batch) / row.batch)
    assert {call[:2] for call in model.seen} == {(1, 1), (16, 1), (1, 2), (16, 2)}
    assert {call[2:] for call in model.seen} == {(False, False, None)}
    assert model.training


def test_coordinates_are_passed_on():
    model, points = Sleeper(), torch.linspace(0, 1, 4)
    seconds_per_sample(model, torch.zeros(1, 1, 4), coords=[points])
    assert all(call[4] == (points,) for call in model.seen)


def test_threads_are_restored_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(RuntimeError, match="broken"), torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
        raise RuntimeError("broken")
    assert torch.get_num_threads() == before


def test_no_sample():
    with pytest.raises(ValueError, match="no sample"):
        seconds_per_sample(Sleeper(), torch.zeros(0, 1, 4))
