"""What is larger than the memory of a process is trained on from disk; in memory it fails."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from sciops.data.store import write

ROOT = Path(__file__).parents[2]
SAMPLES, POINTS, ROOM = 16_000, 4096, 400  # 524 MB of samples, and MB that there are
LIMITED = """
import json, sys
import sciops, sciops.runs.pde
from benchmarks.limited import in_memory, limit
store, room, out = sys.argv[1:]
limit(int(room))
said = dict(refused=in_memory(store), failed=in_memory(store, believed=1000))
small = dict(width=4, hidden=8, blocks=1, taps=3)
how = dict(epochs=1, batch_size=20, augment=False, progress=False, out=out, **small)
run = sciops.train_pde("burgers", "conv", data=store, **how)
print(json.dumps({**said, "error": float(run.history["train_relative_l2"].iloc[-1])}))
"""


def line(samples: int, first: int) -> xr.Dataset:
    """Functions on a period and their squares, smooth enough to be learned."""
    chance = np.random.default_rng(first)
    x = np.arange(POINTS, dtype="float32") / POINTS
    phase = chance.random((samples, 1), "float32")
    a = 1 + 0.5 * np.sin(2 * np.pi * (x + phase))
    roles = {
        role: [{"variable": v, "frames": None}] for role, v in (("inputs", "a"), ("targets", "u"))
    }
    attrs = {"name": "squares", "boundary_conditions": {"x": "periodic"}, **roles}
    fields = {"a": (("sample", "x"), a), "u": (("sample", "x"), a**2)}
    return xr.Dataset(fields, {"sample": first + np.arange(samples), "x": x}, attrs)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_a_run_on_a_store_larger_than_the_limit_of_its_process(tmp_path):
    splits = {"train": line(SAMPLES, 0), "val": line(8, 10**6), "test": line(8, 2 * 10**6)}
    store = write(tmp_path / "large.zarr", splits)
    command = [sys.executable, "-W", "ignore", "-c", LIMITED, store, str(ROOM), tmp_path / "run"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["refused"].startswith("ValueError: to have 16000 samples in memory needs about")
    assert "allocate" in found["failed"]  # numpy or torch says so
    assert found["error"] < 0.5
