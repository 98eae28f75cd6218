"""A search that is killed goes on and ends with the same bits; random numbers are given back."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from sciops.searching.work import seeded
from tests.search_kills import search

ROOT = Path(__file__).parents[2]


def killed(folder: Path, strategy: str, notes: int) -> int:
    script = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_module(sys.argv[0], "
    command = [sys.executable, "-c", script + "run_name='__main__')", "tests.search_kills"]
    command += [str(folder), strategy, str(notes)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True).returncode


SLOW = [pytest.param(name, 10, marks=pytest.mark.slow) for name in ("joint", "restarts", "random")]


@pytest.mark.parametrize("strategy, notes", [("bilevel", 10), *SLOW])
def test_killed_and_done_again_it_ends_the_same(tmp_path, strategy, notes):
    # 4 notes a training of 3 epochs: backbone, random member, then two epochs of the search
    assert killed(tmp_path / "killed", strategy, notes) == -signal.SIGKILL
    assert not (tmp_path / "killed" / "trials.csv").exists()
    resumed, whole = search(tmp_path / "killed", strategy), search(None, strategy)
    for name, value in whole.architecture.items():
        assert torch.equal(value, resumed.architecture[name])
    weights = zip(whole.model.parameters(), resumed.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in weights)
    for name in ("trials", "history", "distances"):
        tables = [
            getattr(r, name).drop(columns="seconds", errors="ignore") for r in (whole, resumed)
        ]
        assert tables[0].equals(tables[1])
    again = search(tmp_path / "killed", strategy)  # reads what is there
    assert again.trials.equals(resumed.trials)


def test_random_numbers_are_given_back():
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    with seeded(5):
        first = torch.rand(1), np.random.rand(), random.random()
    with seeded(5):
        assert first == (torch.rand(1), np.random.rand(), random.random())
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == np.random.get_state()[1].tolist() and before[2] == random.getstate()
