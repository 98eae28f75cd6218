"""Train, evaluate and report again and again in one process: does its memory stay flat?

    python -m benchmarks.soak --minutes 120 [--kinds fields,music]

A round trains small networks on data of changing sizes, judges them, writes their pages and throws
them away.  What a round leaves behind would show as a slope of the resident memory over the rounds;
the first half of them, in which caches fill, does not count.

Writes benchmarks/results/soak.csv, a row for every round, and soak.md.
"""

import argparse
import gc
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import sciops
from benchmarks.measure import resident_megabytes
from benchmarks.results import FOLDER, machine
from sciops.atomic import write_text
from sciops.music.collection import synthetic_tree

FLAT = 0.05  # of its memory, by which a process may grow in as many rounds again
GRIDS = (17, 21, 25, 29)
LENGTHS = ((40, 90), (60, 200), (30, 160))


def fields(number: int, folder: Path) -> None:
    """XD or FNO on Darcy flow, on another grid each time."""
    op, grid = ("xd", "fno")[number % 2], GRIDS[number % len(GRIDS)]
    counts = dict(n_train=64, n_val=8, n_test=8, batch_size=16)
    small = dict(resolution=grid, epochs=3, frequencies=6, width=16, progress=False)
    run = sciops.train_pde("darcy", op, seed=number, out=folder / "fields", **counts, **small)
    run.evaluate()
    run.transfer([grid, grid + 8])
    run.report()


def music(number: int, folder: Path) -> None:
    """A TCN, with XD or without, on pieces of other lengths each time."""
    length, counts = LENGTHS[number % len(LENGTHS)], {"train": 12, "val": 3, "test": 3}
    tree = synthetic_tree(counts, seed=number, length=length, progress=False)
    how = dict(width=24, levels=3, epochs=3, batch_size=2, progress=False)
    run = sciops.train_music("jsb", ("xd", "conv")[number % 2], data=tree, out=folder / "m", **how)
    run.evaluate()
    run.report()


KINDS: dict[str, Callable[[int, Path], None]] = {"fields": fields, "music": music}


def soak(kinds: Sequence[str], minutes: float) -> pd.DataFrame:
    """Rounds until the time is over; minutes and resident megabytes after each of them."""
    rows, begin = [], time.monotonic()
    while (passed := (time.monotonic() - begin) / 60) < minutes or len(rows) < 4:
        for kind in kinds:
            with tempfile.TemporaryDirectory() as folder:
                KINDS[kind](len(rows), Path(folder))
        gc.collect()
        rows.append({"round": len(rows) + 1, "minutes": passed, "MB": resident_megabytes()})
        print(f"round {len(rows)}, {passed:.1f} min: {rows[-1]['MB']:.1f} MB", flush=True)
    return pd.DataFrame(rows)


def slope(rows: pd.DataFrame) -> float:
    """Megabytes a round, over the second half of the rounds, by least squares."""
    late = rows.iloc[len(rows) // 2 :]
    return float(np.polyfit(late["round"], late["MB"], 1)[0])


def summary(rows: pd.DataFrame) -> str:
    growth, last = slope(rows), rows["MB"].iloc[-1]
    share = growth * len(rows) / last
    return (
        f"{len(rows)} rounds in {rows['minutes'].iloc[-1]:.0f} minutes; "
        f"{rows['MB'].iloc[0]:.0f} MB after the first, {last:.0f} MB after the last; in the second "
        f"half {growth:+.3f} MB a round, which would be {share:+.1%} in as many rounds again: "
        f"{'flat' if share < FLAT else 'it grows'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--kinds", default=",".join(KINDS), help="of " + ", ".join(KINDS))
    asked = parser.parse_args()
    rows = soak(asked.kinds.split(","), asked.minutes)
    text = summary(rows)
    print(text)
    write_text(FOLDER / "soak.csv", rows.round(2).to_csv(index=False))
    write_text(FOLDER / "soak.md", f"# Soak\n\n{text}.\n\nMachines:\n- {machine()}\n")


if __name__ == "__main__":
    main()
