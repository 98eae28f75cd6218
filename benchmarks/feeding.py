"""How fast data reach a network: from memory, and from a store on disk against raw memory maps.

    python -m benchmarks.feeding [--quick]

Darcy-like samples, two fields of 64 × 64 float32 numbers.  The opponent on disk is numpy slicing
batches out of two memory-mapped files and copying them into tensors, the least that can be done.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import xarray as xr

from benchmarks.operators import show
from sciops.data.samples import MemorySamples, batches
from sciops.data.store import write
from sciops.data.streaming import StreamedBatches

SIZE, BATCH = 64, 32


def darcy_like(n: int, size: int = SIZE) -> xr.Dataset:
    """Random numbers with the labels of a Darcy data set."""
    rng = np.random.default_rng(0)
    fields = {name: rng.random((n, size, size), np.float32) for name in ("a", "u")}
    dims = ("sample", "x", "y")
    points = np.linspace(0, 1, size)
    attrs = {
        "name": "noise",
        "boundary_conditions": {"x": "dirichlet 0", "y": "dirichlet 0"},
        "inputs": [{"variable": "a", "frames": None}],
        "targets": [{"variable": "u", "frames": None}],
    }
    data = {name: (dims, values, {"units": "1"}) for name, values in fields.items()}
    return xr.Dataset(data, {"sample": np.arange(n), "x": points, "y": points}, attrs)


def seconds_of(epoch) -> float:
    """To go through all batches once, every number being looked at."""
    start = time.perf_counter()
    for x, y in epoch:
        float(x[0, 0, 0, 0] + y[-1, -1, -1, -1])
    return time.perf_counter() - start


def memory_mapped(folder: Path, n: int, rng: np.random.Generator):
    """Batches sliced out of memory-mapped files, in a random order of batches."""
    maps = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("a", "u")]
    for start in rng.permutation(np.arange(0, n, BATCH)):
        yield [torch.from_numpy(m[start : start + BATCH].copy())[:, None] for m in maps]


def measure(n: int, repeats: int) -> pd.DataFrame:
    ds = darcy_like(n)
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for variable in ("a", "u"):
            np.save(folder / f"{variable}.npy", ds[variable].values)
        write(folder / "noise.zarr", {"train": ds})
        memory = batches(MemorySamples(ds), BATCH, shuffle=True)
        stream = StreamedBatches(folder / "noise.zarr", "train", BATCH)
        runs = {
            "from memory, shuffled": lambda: memory,
            "numpy memory map, slices": lambda: memory_mapped(folder, n, rng),
            "store, streamed, shuffled": lambda: stream,
        }
        times: dict[str, list[float]] = {name: [] for name in runs}
        for epoch in range(repeats + 1):
            stream.set_epoch(epoch)
            for name, run in runs.items():
                times[name].append(seconds_of(run()))
    median = {name: statistics.median(t[1:]) for name, t in times.items()}
    slices = median["numpy memory map, slices"]
    return pd.DataFrame(
        {
            "way": list(median),
            "samples/s": [n / t for t in median.values()],
            "times the memory map's time": [t / slices for t in median.values()],
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small store, few repeats")
    quick = parser.parse_args().quick
    n, repeats = (2048, 3) if quick else (32768, 5)
    megabytes = n * 2 * SIZE * SIZE * 4 / 1e6
    show(f"feeding {n} samples of 64 × 64 ({megabytes:.0f} MB)", measure(n, repeats))


if __name__ == "__main__":
    main()
