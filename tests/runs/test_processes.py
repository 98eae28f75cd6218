"""A run goes on with another number of processes than it began with."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sciops
from tests.run_toy import on_lines

ROOT = Path(__file__).parents[2]
HOW = dict(epochs=4, batch_size=4, n_train=6)
SCRIPT = """
import os, signal, sys, warnings
from tests.run_toy import on_lines

warnings.simplefilter("ignore")
devices, last = int(sys.argv[1]), int(sys.argv[2])


def die(rows):
    if len(rows) == last:
        os.killpg(0, signal.SIGKILL)  # all of its processes


machine = dict(devices=devices, strategy="ddp" if devices > 1 else "auto")
on_lines("run", at_epoch_end=die, epochs=4, batch_size=4, n_train=6, **machine)
"""


def trained_until(epoch: int, devices: int, folder: Path) -> int:
    """Train in processes of their own, which are killed after this epoch; how it ended."""
    (folder / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "script.py", str(devices), str(epoch)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, start_new_session=True
    )
    return done.returncode


def epochs_done(folder: Path) -> int:
    return len((folder / "run" / "metrics.csv").read_text().splitlines()) - 1


@pytest.mark.parametrize(
    "order", [(2, 1), pytest.param((1, 2), marks=pytest.mark.slow)], ids=["2-1", "1-2"]
)
def test_from_one_to_two_processes_and_back(order, tmp_path):
    """Killed after epochs 1 and 2, finished by the other number of processes and by one."""
    for epoch, devices in enumerate(order, 1):
        assert trained_until(epoch, devices, tmp_path) == -signal.SIGKILL
        assert epochs_done(tmp_path) == epoch
    run, alone = on_lines(tmp_path / "run", **HOW), on_lines(tmp_path / "alone", **HOW)
    assert len(run.history) == 4
    for name in ("train_relative_l2", "val_relative_l2"):
        np.testing.assert_allclose(run.history[name], alone.history[name], rtol=2e-3)
    opened = sciops.open_run(tmp_path / "run")
    error = "test_relative_l2"
    assert opened.metrics[error] == pytest.approx(alone.metrics[error], rel=2e-3)
