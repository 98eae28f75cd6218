"""Data larger than memory: generated in pieces, and trained on at nearly the speed of memory.

    python -m benchmarks.large                  all three; --only generation, training or steps
    python -m benchmarks.large --samples 1000 --epoch 100          smaller

Generation has 1 GB of memory of its own, a limit of the kernel, for samples of 1.3 GB; a tenth of
them takes as much.  Training with XD on samples of 43 × 43 takes them by turns from memory, in a
process without a limit, and from a store that was dropped from the memory of the system, in one
whose limit is below the size of the samples; there it is also tried to have them in memory.  The
estimate of a training step is compared with the resident memory that the step added.

Writes benchmarks/results/large.csv, a row for everything measured, and large.md.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.feeding import darcy_like
from benchmarks.limited import BATCH, NETWORKS
from benchmarks.results import FOLDER, digits, machine, markdown
from sciops.atomic import write_text
from sciops.data.store import write

BOUND = 1000  # MB
SIZE = 43


def child(*arguments) -> list[str]:
    return [sys.executable, "-W", "ignore", "-m", "benchmarks.limited", *map(str, arguments)]


def peak_of_generation(samples: int, points: int) -> dict[str, float]:
    """Highest resident memory of the process that generates, beside the size of what it makes."""
    with tempfile.TemporaryDirectory() as folder:
        command = child("generation", samples, points, f"{folder}/b.zarr")
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        size = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file()) / 1e6
    return {"made": size, **json.loads(done.stdout)}


class Trained:
    """A process that trains when it is told to."""

    def __init__(self, store: Path, megabytes: int, samples: int):
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.process = subprocess.Popen(child("training", store, megabytes, samples), **pipes)
        self.said = self._hear()

    def epoch(self) -> float:
        """Seconds of the next one."""
        self.process.stdin.write("go\n")
        return self._hear()["seconds"]

    def _hear(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"training ended with {self.process.wait()}; see its error above")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def speed_of_training(samples: int, room: int, epoch: int, repeats: int = 5) -> dict[str, Any]:
    """Of samples on disk, as a share of the speed with the same samples in memory.

    room: megabytes of the process with the store.  epoch: samples of one, drawn from all.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "noise.zarr", {"train": darcy_like(samples, SIZE)})
        with Trained(path, 0, epoch) as memory, Trained(path, room, epoch) as stored:
            pairs = [(memory.epoch(), stored.epoch()) for _ in range(repeats + 1)]
    ratios = [one / other for one, other in pairs[1:]]  # the first pair is not counted
    seconds = [statistics.median(side) for side in zip(*pairs[1:], strict=True)]
    return {
        **stored.said,
        **dict(ratio=statistics.median(ratios), ratios=ratios),
        **dict(memory=seconds[0], stored=seconds[1]),
    }


def estimate(network: str) -> dict[str, Any]:
    """Megabytes of a training step, as estimated and as measured."""
    done = subprocess.run(child("step", network), check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def generation_rows(asked: argparse.Namespace) -> list[dict[str, str]]:
    rows = []
    for samples in (asked.samples // 10, asked.samples):
        found = peak_of_generation(samples, asked.points)
        rows.append(
            {
                "samples": f"{samples} of {asked.points} points",
                "made, MB": f"{found['made']:.0f}",
                "highest memory, MB": f"{found['peak']:.0f}",
                "within 1 GB": "yes" if found["peak"] < BOUND else "no",
                "seconds": f"{found['seconds']:.0f}",
            }
        )
    return rows


def training_rows(asked: argparse.Namespace) -> list[dict[str, str]]:
    found = speed_of_training(asked.stored, asked.room, asked.epoch)
    low, high = min(found["ratios"]), max(found["ratios"])
    return [
        {
            "samples, MB": f"{asked.stored * 2 * SIZE**2 * 4 / 1e6:.0f}",
            "limit, MB": str(asked.room),
            "in memory": "refused" if found["refused"] else "fits",
            "in memory, tried all the same": "fails" if found["failed"] else "fits",
            "ms a sample from memory": digits(1000 * found["memory"] / asked.epoch),
            "ms a sample from disk": digits(1000 * found["stored"] / asked.epoch),
            "speed from disk / from memory": f"{digits(found['ratio'])} "
            f"(median; {digits(low)} to {digits(high)})",
        }
    ]


def step_rows(asked: argparse.Namespace) -> list[dict[str, str]]:
    rows = []
    for found in map(estimate, NETWORKS):
        rows.append(
            {
                "network": found["network"],
                "estimated, MB": f"{found['estimated']:.0f}",
                "measured, MB": f"{found['measured']:.0f}",
                "estimated / measured": digits(found["estimated"] / found["measured"]),
            }
        )
    return rows


PARTS: dict[str, tuple[str, Callable]] = {
    "generation": ("Generation of Burgers' equation", generation_rows),
    "training": (f"Training of XD, {BATCH} samples a step", training_rows),
    "steps": ("Estimate of a training step, 32 samples", step_rows),
}


def keep(part: str, rows: list[dict[str, str]], folder: Path = FOLDER) -> None:
    """Put rows in the place of those of the same part; CSV has a line for every number."""
    file = folder / "large.csv"
    before = pd.read_csv(file, dtype=str).to_dict("records") if file.exists() else []
    new = [
        dict(part=part, row=str(number), name=name, value=value, machine=machine())
        for number, row in enumerate(rows)
        for name, value in row.items()
    ]
    table = pd.DataFrame([*(line for line in before if line["part"] != part), *new])
    write_text(file, table.to_csv(index=False))
    write_text(folder / "large.md", page(table))


def page(table: pd.DataFrame) -> str:
    """The parts in their order, each with its heading."""
    text = ["# Data larger than memory"]
    for part, (title, _) in PARTS.items():
        lines = table[table["part"] == part]
        if not lines.empty:
            wide = lines.pivot(index="row", columns="name", values="value")
            text += [f"## {title}", markdown(wide[list(dict.fromkeys(lines["name"]))])]
    machines = "\n".join(f"- {name}" for name in dict.fromkeys(table["machine"]))
    return "\n\n".join([*text, f"Machines:\n{machines}\n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="one of the three")
    parser.add_argument("--samples", type=int, default=10_000, help="of Burgers to generate")
    parser.add_argument("--points", type=int, default=16_384, help="of each of them")
    parser.add_argument("--stored", type=int, default=40_000, help="samples of 43 × 43")
    parser.add_argument("--room", type=int, default=400, help="MB for training on them")
    parser.add_argument("--epoch", type=int, default=500, help="of the samples are trained on")
    asked = parser.parse_args()
    for part in [asked.only] if asked.only else PARTS:
        rows = PARTS[part][1](asked)
        print(pd.DataFrame(rows).to_string(index=False), flush=True)
        keep(part, rows)


if __name__ == "__main__":
    main()
