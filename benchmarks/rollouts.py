"""Forecasts frame by frame: how the error grows, how long it stays small, and what is left of the
spectrum.

    python -m benchmarks.rollouts --ops xd,fno --seeds 3
    python -m benchmarks.rollouts --table     only print what is there

Writes benchmarks/results/rollouts.csv, a row for each run, and rollouts.md.  The runs are those of
`benchmarks.pde_accuracy navier-stokes-steps`: what is in its folder of runs is not trained again.

    frame_11, …   mean relative L2 error of the test samples in each predicted frame
    horizon       mean time until which the error of a sample stays below the threshold of
                  `sciops.evaluation.rollout`
    horizon_most  the time of the last frame, which it cannot exceed
    spectrum      in the last frame, mean over wave numbers of |log₁₀(E predicted / E true)|, where
                  the truth has 1e-8 of its energy or more: 0.3 is a factor of 2
    blown_up      test samples whose prediction was not finite or far too large
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.pde_accuracy import PROBLEMS, train
from benchmarks.results import FOLDER, Rows, digits, markdown, mean_and_spread
from sciops.atomic import write_text

if TYPE_CHECKING:
    import xarray as xr

NAME, KEY = "rollouts", ("problem", "op", "seed")
FORECASTS = [name for name, asked in PROBLEMS.items() if asked.get("forecast") == "steps"]
SMALLEST = 1e-8  # of the energy, in float32


def spectrum_error(spectrum: "xr.DataArray") -> float:
    """Of one frame, (source, wavenumber).

    >>> import xarray as xr
    >>> energy = xr.DataArray([[4.0, 1.0, 1e-9], [4.0, 0.1, 1.0]], dims=("source", "wavenumber"))
    >>> spectrum_error(energy.assign_coords(source=["truth", "prediction"]))
    0.5
    """
    true, predicted = (spectrum.sel(source=s).values for s in ("truth", "prediction"))
    seen = true >= SMALLEST * np.nansum(true)
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log10(predicted[seen] / true[seen])).mean())


def scores(rollout: "xr.Dataset", first: int) -> dict[str, Any]:
    """The columns of a run; first: number of the first predicted frame, counted from 1."""
    errors = rollout["relative_l2"].mean("sample", skipna=False).values
    return {
        "horizon": float(rollout["stability_horizon"].mean(skipna=False)),
        "horizon_most": float(rollout["time"][-1]),
        "spectrum": spectrum_error(rollout["spectrum"].isel(time=-1)),
        "blown_up": int(rollout["blow_up"].notnull().sum()),
        **{f"frame_{first + i}": float(error) for i, error in enumerate(errors)},
    }


def measure(rows: Rows, problem: str, op: str, seed: int, runs: Path) -> pd.Series:
    """The row of one run, trained if it is not there."""

    def rolled() -> dict[str, Any]:
        run = train(problem, op, seed, runs, "epochs")
        (given,) = run.task.inputs
        return scores(run.rollout(), given.frames[1] + 1)

    return rows.get(dict(problem=problem, op=op, seed=seed), rolled)


def summary(table: pd.DataFrame) -> str:
    """The tables of all problems, as Markdown."""
    if table.empty:
        return "Nothing has been measured yet."
    parts = []
    for problem, of_problem in table.groupby("problem", sort=False):
        frames = [c for c in of_problem.dropna(axis=1, how="all") if c.startswith("frame_")]
        lines = []
        for op, rows in of_problem.groupby("op", sort=False):
            errors = {c.removeprefix("frame_"): digits(rows[c].mean(skipna=False)) for c in frames}
            most = rows["horizon_most"].iloc[0]
            lines.append(
                {
                    "op": op,
                    "frame " + frames[0].removeprefix("frame_"): errors.pop(frames[0][6:]),
                    **errors,
                    f"horizon, at most {most:g}": mean_and_spread(rows["horizon"]),
                    "spectrum": mean_and_spread(rows["spectrum"]),
                    "blown up": int(rows["blown_up"].sum()),
                }
            )
        parts.append(f"## {problem}\n\n{markdown(pd.DataFrame(lines))}\n")
    machines = "\n".join(f"- {m}" for m in table["machine"].unique())
    title = "# Roll-outs: relative L2 error by frame, horizon and spectrum (seeds)\n\n"
    return title + "\n".join(parts) + f"\nMachines:\n{machines}\n"


def main() -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("problems", nargs="*", help=f"of {', '.join(FORECASTS)}; all if none")
    parser.add_argument("--ops", default="xd,fno")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--runs", type=Path, default=Path("out/accuracy"), help="folder of runs")
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--table", action="store_true", help="only print what is there")
    chosen = parser.parse_args()
    unknown = [p for p in chosen.problems if p not in FORECASTS]
    if unknown:
        parser.error(f"there is no forecast {unknown[0]!r}; there are {', '.join(FORECASTS)}")
    rows = Rows(NAME, KEY, chosen.results)
    for problem in [] if chosen.table else chosen.problems or FORECASTS:
        for seed in range(chosen.seeds):
            for op in chosen.ops.split(","):
                measure(rows, problem, op, seed, chosen.runs)
                write_text(chosen.results / f"{NAME}.md", summary(rows.table))
    print(summary(rows.table))


if __name__ == "__main__":
    main()
