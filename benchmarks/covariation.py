"""How long the features of an alignment take, part by part.

    python -m benchmarks.covariation [--quick]

Random rows, and the largest of the real families if they are on this machine.  Only the couplings
use several threads; OMP_NUM_THREADS=1 gives the times of one core.

Writes benchmarks/results/covariation.csv and covariation.md: medians of nine repeats, and the least
and the most of all parts together.  What is there already is not measured again.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from benchmarks.results import FOLDER, Rows, markdown
from sciops.atomic import write_text
from sciops.proteins.alignments import read_alignment
from sciops.proteins.covariation import direct_couplings, mutual_information
from sciops.proteins.profiles import entropy, profile, sequence_weights

SHARED = Path(os.environ.get("SCIOPS_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
KEY = ("case", "threads", "repeats")
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


def measure(rows: np.ndarray, repeats: int) -> dict[str, float]:
    """Median seconds of every part and of all together, and the least and the most of the latter.

    The parts take turns.
    """
    weights = sequence_weights(rows)
    runs = {"weights": (sequence_weights, rows)}
    runs |= {part: (function, rows, weights) for part, function in PARTS.items()}
    turns = [{part: seconds_of(*run) for part, run in runs.items()} for _ in range(repeats)]
    seconds = {part: statistics.median(turn[part] for turn in turns) for part in runs}
    totals = [sum(turn.values()) for turn in turns]
    seconds["all"] = statistics.median(totals)
    return seconds | {"least": min(totals), "most": max(totals)}


def summary(table: pd.DataFrame) -> str:
    parts = ["weights", *PARTS, "all", "least", "most"]
    shown = table[["case", "threads", "repeats"]].join(table[parts].map("{:.2f}".format))
    machines = "\n".join(f"- {machine}" for machine in table["machine"].unique())
    head = "# Seconds for the features of an alignment: medians, and least and most of all\n\n"
    return head + markdown(shown) + f"\n\nMachines:\n{machines}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few random rows, once")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--results", type=Path, default=FOLDER)
    chosen = parser.parse_args()
    repeats = 1 if chosen.quick else chosen.repeats
    cases = [("random", random_rows(1000 if chosen.quick else 15000, 100))]
    cases += filter(None, [largest_family(SHARED / "protein" / "kortemme" / "alignments")])
    table = Rows("covariation", KEY, chosen.results)
    for name, rows in cases:
        case = f"{name}, {rows.shape[0]} × {rows.shape[1]}"
        key = dict(case=case, threads=torch.get_num_threads(), repeats=repeats)
        table.get(key, lambda rows=rows: measure(rows, repeats))
    text = summary(table.table)
    write_text(chosen.results / "covariation.md", text)
    print(text)


if __name__ == "__main__":
    main()
