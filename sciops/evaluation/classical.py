"""The classical solver in the same table as the network, and when the network has paid off.

A network competes with the solver that made its data, and not at the solver's accuracy but at its
own: the cheapest setting of that solver (coarser grid, looser residual, longer time steps) whose
error is not larger, from the same input and against the same truth.  The network has paid off after

    N* = (seconds of data + seconds of training) / (t_solver − t_model)

solves, or never, if it is not faster.  Both sides run on one thread; t is the shorter of the time
of a sample alone and that of a sample in a batch.
"""

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from sciops.data.rows import check_fields, read_rows
from sciops.data.samples import task_of
from sciops.domains import domain_named
from sciops.domains.ladders import SOLVERS, Rung, ladder
from sciops.metrics import relative_l2
from sciops.task import Batch, Task
from sciops.version import __version__

from .scores import geometry, predict
from .timing import median_seconds, seconds_per_sample

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from sciops.runs.run import Run

TRUTH = "the truth itself, random input included"
WASTED = 4  # rungs of so many times the work of one that is good enough are not tried


@dataclass(frozen=True)
class Classical:
    """The cheapest setting of a classical solver that is good enough, or else the most accurate."""

    reached: bool  # the error asked for
    setting: str
    error: float  # mean relative L²
    seconds: float  # for a sample alone
    seconds_in_batch: float  # for a sample among others
    ladder: "pd.DataFrame"  # all settings that were tried
    note: str

    @property
    def best_seconds(self) -> float:
        return min(self.seconds, self.seconds_in_batch)


def solve_at_error(name: str, ds: "xr.Dataset", error: float, *, samples: int = 8) -> Classical:
    """The cheapest classical solver whose mean relative L² error is at most `error`.

    It gets the inputs as they are stored, on the grid of the data, and gives the targets there; see
    `sciops.domains.ladders`.  Settings are tried from coarse to fine until they are a waste.

    samples: so many of the first are solved, one at a time and then together
    """
    if ds.attrs.get("name") != name:
        raise ValueError(f"expected {name} data, the data are called {ds.attrs.get('name')!r}")
    if not (isinstance(error, int | float | np.number) and error > 0 and math.isfinite(error)):
        raise ValueError(f"error={error!r} must be a positive number, a relative L² error")
    return _cheapest(_measured(ladder(ds), _first(ds, samples), error), error)


def _first(ds: "xr.Dataset", samples: int) -> Batch:
    if samples < 1:
        raise ValueError(f"samples={samples!r} must be at least 1")
    task = task_of(ds)
    check_fields(ds, task)
    return read_rows(ds, task, slice(samples))


def _measured(rungs: list[Rung], batch: Batch, error: float) -> "pd.DataFrame":
    """A row for each rung, the least work first, until more work would be a waste."""
    import pandas as pd

    x, rows, enough = batch.x.double().numpy(), [], math.inf
    for rung in rungs:
        if rung.work > WASTED * enough:
            break
        try:
            solved, alone = _one_by_one(rung, x)
        except ValueError as problem:  # it blew up: too few steps
            row = {"error": math.inf, "problem": str(problem)}
        else:
            wrong = relative_l2(torch.from_numpy(solved), batch.y).mean().item()
            together = median_seconds(partial(rung.solve, x)) / len(x)
            row = {"error": wrong, "seconds": alone, "seconds_in_batch": together}
            if wrong <= error:
                enough = min(enough, rung.work)
        rows.append({"setting": str(rung), **rung.setting, **row})
    return pd.DataFrame(rows)


def _one_by_one(rung: Rung, x: np.ndarray) -> tuple[np.ndarray, float]:
    """All samples solved alone, and the median of their seconds."""
    rung.solve(x[:1])  # fills caches
    parts, seconds = [], []
    for one in x:
        start = time.perf_counter()
        parts.append(rung.solve(one[None]))
        seconds.append(time.perf_counter() - start)
    return np.concatenate(parts), float(np.median(seconds))


def _cheapest(table: "pd.DataFrame", error: float) -> Classical:
    if not np.isfinite(table["error"]).any():
        raise ValueError(f"no setting of the solver works on these data: {table['problem'][0]}")
    best_seconds = table[["seconds", "seconds_in_batch"]].min(axis=1)
    good = table["error"] <= error
    reached = bool(good.any())
    row = table.loc[best_seconds[good].idxmin() if reached else table["error"].idxmin()]
    note = row["setting"]
    if not reached:
        note = (
            f"no setting reaches {error:.2g}: the most accurate, {row['setting']}, has "
            f"{row['error']:.2g}; it knows the input on the points of the data only"
        )
    numbers = {n: float(row[n]) for n in ("error", "seconds", "seconds_in_batch")}
    return Classical(reached, row["setting"], **numbers, ladder=table, note=note)


# --- what it cost ---------------------------------------------------------------------------------


def break_even(
    *, data_seconds: float, training_seconds: float, solver_seconds: float, model_seconds: float
) -> float:
    """N*: after so many solves data and training are paid off; infinite if the model is slower.

    >>> break_even(data_seconds=20, training_seconds=80, solver_seconds=0.75, model_seconds=0.5)
    400.0
    >>> break_even(data_seconds=20, training_seconds=80, solver_seconds=0.5, model_seconds=0.75)
    inf
    """
    saved = solver_seconds - model_seconds
    return (data_seconds + training_seconds) / saved if saved > 0 else math.inf


def generation_seconds(ds: "xr.Dataset", *, samples: int = 8) -> tuple[float, float]:
    """Seconds a sample of generated data took, alone and in a block, by making some of them again.

    That includes drawing the random input and, of a forecast, the frames that are given.
    """
    if not _generated(ds):
        raise ValueError(
            "these data were not generated by sciops, so nobody knows what a sample has cost; "
            "generated data have the attrs generator, seed, resolution and parameters"
        )
    how = ds.attrs["resolution"], ds.attrs["seed"], ds.attrs["parameters"]
    solve = domain_named(ds.attrs["name"]).solve
    numbers = ds["sample"].values[:samples].tolist()
    alone = median_seconds(lambda: solve(numbers[:1], *how))
    return alone, median_seconds(lambda: solve(numbers, *how)) / len(numbers)


def cost_table(run: "Run", *, samples: int = 8) -> "pd.DataFrame":
    """Model, classical solver at the model's error, and classical solver as it made the data.

    error:            mean relative L² of the first `samples` of the test split
    seconds:          of a sample alone, on one thread
    seconds_in_batch: of a sample among others (16 for the model), on one thread
    break_even:       solves after which the model is cheaper than this row, data (for training and
                      validation, made on one thread) and training (on the threads it had) included

    note:             on the classical rows, the solver with its version, and its setting

    Data that were not generated here have no third row, and their cost, which nobody knows, is 0.
    """
    import pandas as pd

    ds = _split(run, "test")
    _expect_fields(run.task, task_of(ds))
    batch, coords = _first(ds, samples), geometry(run.task, ds)["coords"]
    wrong = relative_l2(predict(run.model, batch.x, coords=coords), batch.y).mean().item()
    timed = seconds_per_sample(run.model, batch.x, coords=coords)
    classical = solve_at_error(ds.attrs["name"], ds, wrong, samples=samples)
    taken = classical.seconds, classical.seconds_in_batch
    solver = f"{SOLVERS[ds.attrs['name']]} (sciops {__version__})"
    rows = {
        "model": (wrong, *timed[timed["threads"] == 1]["seconds"], _on_all_threads(timed)),
        "classical at equal error": (classical.error, *taken, f"{solver}: {classical.note}"),
    }
    data_seconds = 0.0
    if _generated(ds):
        taken = generation_seconds(ds, samples=samples)
        data_seconds = min(taken) * sum(_count(run, split) for split in ("train", "val"))
        rows["classical as generated"] = (0.0, *taken, f"{solver}: {TRUTH}")
    columns = ["error", "seconds", "seconds_in_batch", "note"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    spent = dict(data_seconds=data_seconds, training_seconds=run.metrics["train_seconds"])
    return _with_break_even(table, spent, comparable=classical.reached)


def _with_break_even(table: "pd.DataFrame", spent: dict, *, comparable: bool) -> "pd.DataFrame":
    """The table with a column more, said in words as well."""
    best = table[["seconds", "seconds_in_batch"]].min(axis=1)
    count = [
        break_even(**spent, solver_seconds=seconds, model_seconds=best["model"]) for seconds in best
    ]
    table.insert(3, "break_even", count)
    table.loc["model", "break_even"] = math.nan
    if not comparable:
        table.loc["classical at equal error", "break_even"] = math.nan
    for name, solves in table["break_even"].dropna().items():
        words = f"the model pays off after {solves:,.0f} solves"
        if math.isinf(solves):
            words = "the model is slower and never pays off"
        elif name != "classical at equal error":
            words += ", which are less accurate than these"
        table.loc[name, "note"] += f"; {words}"
    return table


def _on_all_threads(timed: "pd.DataFrame") -> str:
    most = timed["threads"].max()
    alone, together = timed[timed["threads"] == most]["seconds"]
    return f"on {most} threads {alone:.2g} s alone, {together:.2g} s in a batch"


def _expect_fields(trained: Task, given: Task) -> None:
    if (trained.inputs, trained.targets) != (given.inputs, given.targets):
        raise ValueError(
            f"the model predicts {trained.targets} from {trained.inputs}, but the data declare "
            f"{given.targets} from {given.inputs}; set their attrs 'inputs' and 'targets'"
        )


def _generated(ds: "xr.Dataset") -> bool:
    ours = str(ds.attrs.get("generator")).startswith("sciops")
    return ours and all(key in ds.attrs for key in ("seed", "resolution", "parameters"))


def _split(run: "Run", split: str) -> "xr.Dataset":
    """One split of the run's data, with the labels of all."""
    ds = run.data[split].to_dataset()
    return ds.assign_attrs({**run.data.attrs, **ds.attrs})


def _count(run: "Run", split: str) -> int:
    return run.data[split].sizes["sample"] if split in run.data.children else 0
