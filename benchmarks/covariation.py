"""How long the features of an alignment take, part by part.

    python -m benchmarks.covariation [--quick]

Random rows, and the largest of the real families if they are on this machine.  Only the couplings
use several threads; OMP_NUM_THREADS=1 gives the times of one core.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.operators import show
from sciops.proteins.alignments import read_alignment
from sciops.proteins.covariation import direct_couplings, mutual_information
from sciops.proteins.profiles import entropy, profile, sequence_weights

SHARED = Path(os.environ.get("SCIOPS_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
PARTS = {
    "profile": profile,
    "entropy": entropy,
    "mutual information": mutual_information,
    "couplings": direct_couplings,
}


def random_rows(n: int, length: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 22, (n, length), np.uint8)


def largest_family(folder: Path) -> tuple[str, np.ndarray] | None:
    """Name and rows of the largest file of alignments, None if there is none."""
    files = [*folder.glob("*.fasta.gz"), *folder.glob("*.a3m")]
    if not files:
        return None
    family = read_alignment(max(files, key=lambda file: file.stat().st_size))
    return family.name, family.rows


def seconds_of(part, *arguments) -> float:
    start = time.perf_counter()
    part(*arguments)
    return time.perf_counter() - start


def measure(name: str, rows: np.ndarray, repeats: int) -> dict:
    """One row: the median seconds of every part, and of all together."""
    weights = sequence_weights(rows)
    runs = {"weights": (sequence_weights, rows)}
    runs |= {part: (function, rows, weights) for part, function in PARTS.items()}
    seconds = {
        part: statistics.median(seconds_of(*run) for _ in range(repeats))
        for part, run in runs.items()
    }
    case = f"{name}, {rows.shape[0]} × {rows.shape[1]}"
    return {"case": case, **seconds, "all": sum(seconds.values())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few random rows, once")
    quick = parser.parse_args().quick
    cases = [("random", random_rows(1000 if quick else 15000, 100))]
    cases += filter(None, [largest_family(SHARED / "protein" / "kortemme" / "alignments")])
    table = pd.DataFrame([measure(*case, repeats=1 if quick else 3) for case in cases])
    show("seconds for the features of an alignment", table)


if __name__ == "__main__":
    main()
