"""Operators trained on one grid and judged on others, beside two ways of interpolation.

    python -m benchmarks.resolution_transfer darcy --ops xd,fno,neuralop,conv
    python -m benchmarks.resolution_transfer --table     only show what is there

Writes benchmarks/results/resolution_transfer.csv, a row for each operator, seed and grid, and
resolution_transfer.md.  Runs are taken up again where they stopped; finished ones are not trained
again.  The samples are the same on all grids.
"""

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

import sciops
from benchmarks.pde_accuracy import PROBLEMS, SHARED, options_for
from benchmarks.results import FOLDER, Rows, markdown, mean_and_spread
from sciops.atomic import write_text

KEY = ("problem", "op", "seed", "resolution")

# what train_pde is given, and the grids it is judged on
TRANSFERS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "darcy": (
        PROBLEMS["darcy-small"],
        (22, 32, 43, 64, 85, 127, 253),
    ),
    "burgers": (
        PROBLEMS["burgers"],
        (128, 256, 512, 1024, 2048, 4096, 8192),
    ),
    "burgers-hard": (
        PROBLEMS["burgers-hard"],
        (128, 256, 512, 1024, 2048, 4096, 8192),
    ),
    "neuralop-darcy": (PROBLEMS["neuralop-darcy"], (16, 32)),
    "neuralop-darcy-slopes": (PROBLEMS["neuralop-darcy-slopes"], (16, 32)),
}


def _neuralop_grids() -> dict[int, Any]:
    """The files of both grids, which have the same samples."""
    read = lambda n: sciops.read(
        "darcy", SHARED / "darcy" / f"darcy_test_{n}.pt", split={"test": 1.0}
    )
    return {n: read(n)["test"].to_dataset() for n in (16, 32)}


# data of others, which cannot be made on any grid
GIVEN = dict.fromkeys(("neuralop-darcy", "neuralop-darcy-slopes"), _neuralop_grids)
COLUMNS = ("relative_l2", "control_upsample", "control_downsample", "energy_above_nyquist")


def train(problem: str, op: str, seed: int, runs: Path):
    options = options_for(TRANSFERS[problem][0], op)
    if "data" in options:
        options["data"] = options["data"]()
    return sciops.train_pde(seed=seed, out=runs / f"transfer-{problem}-{op}-{seed}", **options)


def measure(rows: Rows, problem: str, op: str, seed: int, runs: Path) -> None:
    """A row for every grid."""
    grids = TRANSFERS[problem][1]
    found: dict[int, dict[str, float]] = {}

    def on_grid(resolution: int) -> dict[str, float]:
        if not found:
            run = train(problem, op, seed, runs)
            given = GIVEN.get(problem)
            table = run.transfer(grids) if given is None else run.transfer(data=given())
            for n in grids:
                one = table.sel(resolution=n)
                found[n] = {name: float(one[name].mean()) for name in COLUMNS}
                found[n]["seconds"] = float(one["seconds"])
        return found[resolution]

    for n in grids:
        key = dict(problem=problem, op=op, seed=seed, resolution=n)
        rows.get(key, lambda n=n: on_grid(n))


def summary(table: pd.DataFrame) -> str:
    """Mean errors over samples, mean ± standard deviation over seeds, as Markdown: an operator a
    row, a grid a column."""
    if table.empty:
        return "Nothing has been measured yet."
    parts = []
    for problem, of_problem in table.groupby("problem", sort=False):
        options, grids = TRANSFERS[problem]
        trained = options.get("resolution", grids[0])
        lines = []
        for op, of_op in of_problem.groupby("op", sort=False):
            by_grid = {int(n): rows for n, rows in of_op.groupby("resolution")}
            named = {
                op: "relative_l2",
                f"{op}, on {trained} and interpolated": "control_upsample",
                f"{op}, input brought to {trained}": "control_downsample",
            }
            lines += [
                {"": name, **{str(n): mean_and_spread(by_grid[n][column]) for n in sorted(by_grid)}}
                for name, column in named.items()
            ]
        parts.append(f"## {problem}, trained on {trained}\n\n{markdown(pd.DataFrame(lines))}\n")
    machines = "\n".join(f"- {m}" for m in table["machine"].unique())
    title = "# Relative L2 error on other grids of the same test samples (seeds)\n\n"
    return title + "\n".join(parts) + f"\nMachines:\n{machines}\n"


def main() -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("problems", nargs="*", help=f"of {', '.join(TRANSFERS)}")
    parser.add_argument("--ops", default="xd,fno")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--runs", type=Path, default=Path("out/transfer"), help="folder of runs")
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--table", action="store_true", help="only write and print what is there")
    chosen = parser.parse_args()
    unknown = [p for p in chosen.problems if p not in TRANSFERS]
    if unknown:
        parser.error(f"there is no problem {unknown[0]!r}; there are {', '.join(TRANSFERS)}")
    rows = Rows("resolution_transfer", KEY, chosen.results)
    for problem in [] if chosen.table else chosen.problems:
        for seed in range(chosen.seeds):
            for op in chosen.ops.split(","):
                measure(rows, problem, op, seed, chosen.runs)
                write_text(chosen.results / "resolution_transfer.md", summary(rows.table))
    if chosen.table and not rows.table.empty:
        write_text(chosen.results / "resolution_transfer.md", summary(rows.table))
    print(summary(rows.table))


if __name__ == "__main__":
    main()
