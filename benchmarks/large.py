"""Data larger than memory: generated in pieces, and trained on at nearly the speed of memory.

    python -m benchmarks.large                     10 000 samples of Burgers, then the speed
    python -m benchmarks.large --samples 1000 --stored 2048        smaller

Generation runs in a process of its own, whose highest resident memory is compared with 1 GB and
with what the samples would take in memory.  Then the same training takes its samples from memory
and from a store, epoch by epoch in turns.

Writes benchmarks/results/large.csv and large.md.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import torch

from benchmarks.feeding import BATCH, SIZE, darcy_like
from benchmarks.results import FOLDER, digits, machine, markdown
from sciops.atomic import write_text
from sciops.backbones import make_backbone
from sciops.config import Optimisation, Training
from sciops.data.samples import MemorySamples
from sciops.data.store import write
from sciops.data.stored_samples import StoredSamples
from sciops.training import fit

BOUND = 1000  # MB
GENERATE = """
import sys
from benchmarks.measure import resident_megabytes
import sciops
n, points, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
how = dict(viscosity=0.1, workers=2, progress=False)
sciops.generate("burgers", n, resolution=points, out=out, **how)
print(resident_megabytes("VmHWM"))
"""


def peak_of_generation(samples: int, points: int) -> dict[str, float]:
    """Highest resident memory of the process that generates, beside the size of what it makes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", GENERATE, str(samples), str(points), f"{folder}/b.zarr"]
        begin = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        size = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file()) / 2**20
    return {"peak": float(done.stdout), "made": size, "seconds": seconds}


def speed_of_training(samples: int, repeats: int = 3) -> float:
    """Of samples on disk, as a share of the speed with the same samples in memory."""
    ds = darcy_like(samples)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "noise.zarr", {"train": ds})
        memory = MemorySamples(ds)
        stored = StoredSamples(path, "train", memory.task, samples)
        times: dict[str, list[float]] = {"memory": [], "stored": []}
        for _ in range(repeats + 1):  # the first round is not counted
            times["memory"].append(_epoch(memory, memory))
            times["stored"].append(_epoch(stored, memory))
    memory_time, stored_time = (statistics.median(t[1:]) for t in times.values())
    return memory_time / stored_time


def _epoch(data, memory: MemorySamples) -> float:
    """Seconds of an epoch with a small convolutional network, the fastest to be fed."""
    torch.manual_seed(0)
    small = dict(width=8, hidden=16, blocks=2, taps=3)
    model = make_backbone(memory.task, "conv", **small).fit(memory.x[:64], memory.y[:64])
    rates = Optimisation(1e-3), Optimisation(1e-3)
    history = fit(model, data, None, Training(1, BATCH, *rates), progress=False)
    return float(history["seconds"].iloc[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000, help="of Burgers to generate")
    parser.add_argument("--points", type=int, default=16_384, help="of each of them")
    parser.add_argument("--stored", type=int, default=8192, help="samples of 64 × 64 to train on")
    asked = parser.parse_args()
    made, ratio = peak_of_generation(asked.samples, asked.points), speed_of_training(asked.stored)
    table = pd.DataFrame(
        [
            {
                "samples": asked.samples,
                "made, MB": f"{made['made']:.0f}",
                "highest memory, MB": f"{made['peak']:.0f}",
                "within 1 GB": "yes" if made["peak"] < BOUND else "no",
                "seconds": f"{made['seconds']:.0f}",
                "trained on, MB": f"{asked.stored * 2 * SIZE**2 * 4 / 1e6:.0f}",
                "speed from disk / from memory": digits(ratio),
            }
        ]
    )
    print(table.to_string(index=False))
    write_text(FOLDER / "large.csv", table.assign(machine=machine()).to_csv(index=False))
    write_text(
        FOLDER / "large.md",
        f"# Data larger than memory\n\n{markdown(table)}\n\nMachines:\n- {machine()}\n",
    )


if __name__ == "__main__":
    main()
