"""Objectives of studies; as a script, a study that may be killed.

python study_toy.py FOLDER PROPOSER OBJECTIVE [TRIALS WORKERS]
"""

import os
import signal
import sys
import time
from pathlib import Path

import torch

from sciops.checkpoint import save_state
from sciops.studies.acquisition import Evolution
from sciops.studies.early_stopping import EarlyStopping
from sciops.studies.proposers import make_proposer
from sciops.studies.study import run_study
from tests.studies import term_toy

TRIALS = 9
RULE = EarlyStopping(first=1, factor=2)
SMALL = Evolution(pool=20, generations=2, limit=3, patience=1)
OPTIONS = {
    "random": {},
    "evolution": {"population": 4, "tournament": 2},
    "bayes": {"initial": 4, "evolution": SMALL},
}


def proposer(name):
    return make_proposer(name, **OPTIONS[name])


def plain(term, attempt):
    (attempt.folder / f"{attempt.count}-{os.getpid()}").touch()
    return term_toy.objective(term)


def slow(term, attempt):
    time.sleep(0.1)
    return plain(term, attempt)


def together(term, attempt):
    """Trial 0 ends only after trial 1 has, which another process must then have run."""
    deadline = time.monotonic() + 60
    while attempt.number == 0 and time.monotonic() < deadline:
        neighbour = attempt.folder.with_name("00001")
        if neighbour.is_dir() and any(neighbour.iterdir()):
            break
        time.sleep(0.01)
    return plain(term, attempt)


def reporting(term, attempt):
    """After step s the score is that of the end and 1 / s."""
    for step in range(1, 5):
        attempt.report(step, term_toy.objective(term) + 1 / step)
    return plain(term, attempt)


def deadly(term, attempt):
    """The first attempt at trial 5 kills its process."""
    if attempt.number == 5 and attempt.count == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return slow(term, attempt)


def deadly_while_reporting(term, attempt):
    """As `reporting`; the first attempt at trial 5 kills its process between two steps."""
    for step in range(1, 5):
        if (attempt.number, attempt.count, step) == (5, 1, 2):
            os.kill(os.getpid(), signal.SIGKILL)
        attempt.report(step, term_toy.objective(term) + 1 / step)
    return plain(term, attempt)


def always_deadly(term, attempt):
    """Every attempt at trial 2 kills its process."""
    if attempt.number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(term, attempt)


def failing(term, attempt):
    if attempt.number == 1:
        raise RuntimeError("out of memory")
    return float("nan") if attempt.number == 3 else plain(term, attempt)


def saving(term, attempt):
    """20 kB for each trial."""
    save_state(attempt.folder / "kept", torch.zeros(5000))
    return term_toy.objective(term)


if __name__ == "__main__":
    folder, strategy, name, *numbers = sys.argv[1:]
    trials, workers = map(int, numbers or (TRIALS, 1))
    run_study(
        globals()[name],
        term_toy.space(),
        proposer(strategy),
        trials,
        Path(folder),
        workers=workers,
        early_stopping=RULE if "reporting" in name else None,
    )
