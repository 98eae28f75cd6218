"""A small store with awkward sizes; as a script, builds it in a process of its own.

python store_toy.py PATH [threads|dask|killed-worker] [seconds a block takes]
"""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np

ATTRS = dict(
    name="toy",
    title="Waves",
    equation="u = sin(2π(x + s)) cos(t)",
    boundary_conditions={"x": "periodic"},
    parameters={"speed": 1.0},
    inputs=[{"variable": "a", "frames": None}],
    targets=[{"variable": "u", "frames": [0, 3]}],
    generator="toy 1",
    seed=3,
    source="made here",
    license="Apache-2.0",
    resolution=8,
)
BLOCK = 4


def coordinates(resolution: int = 8) -> dict[str, np.ndarray]:
    return {"t": np.arange(3) / 3, "x": np.arange(resolution) / resolution}


def solve(samples, *, seed: int = 3, resolution: int = 8, delay: float = 0.0) -> dict:
    """Depends on the whole block on purpose: a block that is not whole gives other numbers."""
    time.sleep(delay)
    grid = coordinates(resolution)
    streams = [np.random.default_rng([seed, int(s)]) for s in samples]
    phase = np.array([stream.standard_normal() for stream in streams])
    a = np.sin(2 * np.pi * (grid["x"] + phase[:, None])) + 1e-3 * len(samples)
    return {"a": a, "u": np.cos(grid["t"])[:, None] * a[:, None]}


def toy_spec(train: int = 22, test: int = 5, resolution: int = 8, **attrs):
    from sciops.data.store import SplitSpec, StoreSpec

    grid = coordinates(resolution)
    splits = {"train": range(train), "test": range(2 * 10**9, 2 * 10**9 + test)}
    return StoreSpec(
        {**ATTRS, **attrs},
        {name: SplitSpec(samples, grid) for name, samples in splits.items() if len(samples)},
        {
            "a": (("x",), "float32", {"units": "m/s", "long_name": "start"}),
            "u": (("t", "x"), "float32", {"units": "m/s", "long_name": "velocity"}),
        },
        {"x": {"units": "m"}},
    )


def contents(path: Path) -> dict[str, bytes]:
    """All files of a folder, to compare two."""
    files = (file for file in sorted(Path(path).rglob("*")) if file.is_file())
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}


def kill_in_the_middle(process: int, path: Path) -> None:
    """As soon as some parts of the store are done."""
    while len(list(path.parent.glob(f"{path.name}.partial/*/t*.json"))) < 2:
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)
    path.with_name("killed").touch()


def main(path: str, how: str = "threads", delay: str = "0") -> None:
    import zarr  # noqa: F401  (the slow import, before the clock of those who wait starts)

    from sciops.data.generation import build

    print("ready", flush=True)
    make = partial(build, spec=toy_spec(), block=BLOCK)
    make_block = partial(solve, delay=float(delay))
    if how == "threads":
        make(path, make_block=make_block, workers=2)
        return
    from distributed import Client, LocalCluster

    local = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with LocalCluster(**local) as cluster, Client(cluster) as client:
        if how == "killed-worker":
            first, *_ = client.run(os.getpid).values()
            Thread(target=kill_in_the_middle, args=(first, Path(path)), daemon=True).start()
            make(path, make_block=make_block, scheduler=client)
            return
        make(f"{path}-address", make_block=make_block, scheduler=cluster.scheduler_address)
        make(f"{path}-client", make_block=make_block, scheduler=client)
        try:
            make(f"{path}-bad", make_block=partial(solve, resolution=9), scheduler=client)
        except ValueError as error:
            Path(f"{path}-error").write_text(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
