"""`compare`: several operators on one problem, each from several seeds, under one budget.

The budget is a number of epochs that is the same for all, or a time of training: then one epoch of
every operator is timed, and each gets as many epochs as fit.  Runs are folders below `out`; one
that is finished is not trained again, so an interrupted comparison goes on where it stopped.

Test data are looked at once, at the end of a run, and choose nothing.  With `resolutions` every run
is also judged on other grids of the same test samples (`compared_grids`).
"""

import inspect
import json
import operator
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciops.atomic import write_text
from sciops.backbones import NETWORKS
from sciops.domains import domain_named
from sciops.training import TrainingFailed

from .compared_grids import expect_grids, grid_table, mean_errors, write_grids
from .folder import RUNS, is_first_process
from .frame import expect_known
from .pde import rehearse, train_pde
from .run import Run

if TYPE_CHECKING:
    import pandas as pd

Options = dict[str, Any]


def compare(
    name: str,
    ops: Sequence[str] | Mapping[str, Mapping[str, Any]] = ("conv", "fno", "xd"),
    *,
    seeds: int = 3,
    seconds: float | None = None,
    epochs: int | None = None,
    resolutions: int | Sequence[int] | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    **options,
) -> "pd.DataFrame":
    """Train every operator from every seed under one budget; a row of the table for each operator.

    ops:     names, or {name: options of its network and its learning rates}
    seeds:   how many; they are 0, 1, …
    seconds: of training that every run may take; None gives all the same number of epochs
    epochs:  of every run; None leaves them to the recipe
    resolutions: other grids, of generated data, on which every run is judged as well
    out:     folder of comparison.csv and of the runs, xd-seed0 and so on, which `open_run` opens;
             None is one in runs/
    options: of `train_pde`, for all operators

    The table has mean, std, min and max over the seeds of the relative L2 error of the test data,
    the same error for each seed, the mean of the validation data, and what it took: epochs,
    seconds_per_epoch (median), train_seconds (mean) and parameters.

    With resolutions it also has at_64, …, the mean errors on these grids and on that of training,
    NaN where an operator does not take a grid.  transfer.csv and transfer.png, beside
    comparison.csv, have their spread, the two controls of `run.transfer`, and why a cell is empty.
    """
    own = _own_options(name, ops)
    _expect_budget(seeds, seconds, epochs, options)
    grids = expect_grids(name, resolutions, options)
    folder = folder_of(name, out)
    settings = {op: {**options, **own[op], "progress": progress} for op in own}
    for op in own:
        rehearse(name, op, epochs=epochs, **settings[op])
    budget = dict.fromkeys(own, epochs)
    if seconds is not None:
        budget = _epochs_in(seconds, name, settings, folder)
    rows, found = [], {op: [] for op in own}
    for seed in range(seeds):
        for op in own:
            path = folder / f"{op}-seed{seed}"
            run = _trained(name, op, seed, epochs=budget[op], out=path, **settings[op])
            rows.append({"op": op, "seed": seed, **_result(run)})
            if progress:
                _say(f"{op}, seed {seed}: relative L2 error {rows[-1]['test']:.4g}")
            if grids:
                found[op].append(run.transfer(grids, progress=progress))
    table = _table(rows)
    if grids:
        table = table.join(mean_errors(grid_table(found)))
    if is_first_process():
        if grids:
            write_grids(folder, found)
        write_text(folder / "comparison.csv", table.to_csv())
    return table


def folder_of(name: str, out: str | Path | None = None) -> Path:
    """Where the comparison of a problem lies."""
    return RUNS / f"compare-{name}" if out is None else Path(out)


# --- what is asked for ----------------------------------------------------------------------------


def _own_options(name: str, ops: Sequence[str] | Mapping[str, Mapping]) -> dict[str, Options]:
    """Options that only one operator gets, by operator."""
    if isinstance(ops, str):
        ops = [ops]
    own = {op: dict(ops[op]) if isinstance(ops, Mapping) else {} for op in ops}
    if not own or len(own) != len(ops):
        raise ValueError(f"ops={list(ops)} must be different operators, at least one")
    for op in own:
        expect_known(op=(op, NETWORKS))
    common = {*inspect.signature(train_pde).parameters, *domain_named(name).parameters}
    for op, options in own.items():
        if shared := common & set(options):
            raise ValueError(
                f"{', '.join(sorted(shared))} of {op!r} cannot be its own, or operators would not "
                "be compared under the same conditions; give it for all of them"
            )
    return own


def _expect_budget(seeds: int, seconds: float | None, epochs: int | None, options: Options) -> None:
    if not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1:
        raise ValueError(f"seeds={seeds!r} must be a whole number ≥ 1, the number of seeds")
    if {"op", "seed"} & set(options):
        raise ValueError("op and seed are what is varied; give ops=[…] and seeds=…, a number")
    if seconds is not None and epochs is not None:
        raise ValueError("give epochs=… or seconds=…, not both: there is one budget")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"seconds={seconds!r} must be positive, or None for equal epochs")
    processes = {options.get("devices", 1), options.get("num_nodes", 1)}
    if seconds is not None and processes != {1}:
        raise ValueError("processes that train together do not agree on the time; give epochs=…")


# --- training -------------------------------------------------------------------------------------


def _trained(name: str, op: str, seed: int, **options) -> Run:
    try:
        return train_pde(name, op, seed=seed, **options)
    except TrainingFailed as error:
        raise TrainingFailed(f"{op}, seed {seed}: {error}") from error


def _epochs_in(
    seconds: float, name: str, settings: Mapping[str, Options], folder: Path
) -> dict[str, int]:
    """How many epochs of each operator take so long; timed once and kept in epochs.json."""
    file = folder / "epochs.json"
    epochs = _kept_epochs(file, seconds)
    for op in settings:
        if op in epochs:
            continue
        taken = _epoch_seconds(name, op, settings[op])
        epochs[op] = max(1, round(seconds / taken))
        if settings[op]["progress"]:
            _say(f"{op}: {taken:.2g} s an epoch, {epochs[op]} epochs")
        folder.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps({"seconds": seconds, "epochs": epochs}, indent=1))
    return epochs


def _kept_epochs(file: Path, seconds: float) -> dict[str, int]:
    if not file.exists():
        return {}
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        before = float(kept["seconds"])
        epochs = {op: operator.index(count) for op, count in kept["epochs"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise ValueError(f"{file} is damaged; choose another folder with out=…") from None
    if before != seconds:
        raise ValueError(
            f"{file.parent} holds a comparison with seconds={before:g}, not {seconds:g}; choose "
            "another folder with out=…"
        )
    return epochs


def _epoch_seconds(name: str, op: str, options: Options) -> float:
    """The faster of two epochs, because the first also fills caches."""
    with tempfile.TemporaryDirectory() as folder:
        run = _trained(name, op, 0, epochs=2, out=Path(folder) / "timed", **options)
    return float(run.history["seconds"].min())


def _say(text: str) -> None:
    if is_first_process():
        print(text, file=sys.stderr)


# --- the result -----------------------------------------------------------------------------------


def _result(run: Run) -> dict[str, float]:
    return {
        "test": run.metrics["test_relative_l2"],
        "val": run.metrics["val_relative_l2"],
        "epochs": len(run.history),
        "seconds_per_epoch": float(run.history["seconds"].median()),
        "train_seconds": run.metrics["train_seconds"],
        "parameters": run.metrics["parameters"],
    }


def _table(rows: list[dict[str, Any]]) -> "pd.DataFrame":
    """One row for each operator, in the order they were given.

    A run whose error is NaN makes the mean of its operator NaN.
    """
    import pandas as pd

    table = {}
    for op, runs in pd.DataFrame(rows).groupby("op", sort=False):
        test = runs["test"]
        table[op] = {
            **{name: getattr(test, name)(skipna=False) for name in ("mean", "std", "min", "max")},
            **{f"seed_{seed}": error for seed, error in zip(runs["seed"], test, strict=True)},
            "val_mean": runs["val"].mean(skipna=False),
            "epochs": runs["epochs"].iloc[0],
            "seconds_per_epoch": runs["seconds_per_epoch"].median(),
            "train_seconds": runs["train_seconds"].mean(),
            "parameters": runs["parameters"].iloc[0],
        }
    return pd.DataFrame(table.values(), index=pd.Index(table, name="op"))
