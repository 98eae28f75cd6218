"""`transfer`: one run, or several that were trained on different grids, on other grids."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciops.domains import domain_named

from .opening import open_run
from .run import Run

if TYPE_CHECKING:
    import xarray as xr


def transfer(
    run: "Run | str | Path | Sequence[Run | str | Path]",
    resolutions: int | Sequence[int] | None = None,
    data: "Mapping[int, xr.Dataset] | None" = None,
) -> "xr.Dataset":
    """`run.transfer` of a run or of the folder of one; of several, the train × test matrix.

    Several are runs of one operator on one problem, each trained on another grid.  Their tables
    have one more axis, (trained, resolution, sample), and all are judged on the grids that any of
    them was trained on, too; training_nyquist (trained) is a variable then.

    resolutions: grids to be judged on; of several runs None is those they were trained on
    data:        {resolution: Dataset} where the samples are not from our own solvers
    """
    if isinstance(run, Run | str | Path):
        return _opened(run).transfer(resolutions, data=data)
    runs = sorted(map(_opened, run), key=lambda one: one.resolution)
    _expect_alike(runs)
    if data is None:
        _expect_same_samples(runs)
        asked = [] if resolutions is None else np.atleast_1d(resolutions).tolist()
        resolutions = sorted({*asked, *(one.resolution for one in runs)})
    return _matrix(runs, [one.transfer(resolutions, data=data) for one in runs])


def _opened(run: Run | str | Path) -> Run:
    opened = open_run(run) if isinstance(run, str | Path) else run
    if not isinstance(opened, Run):
        raise ValueError(f"{opened!r} is no run of an equation; only those have other grids")
    return opened


def _matrix(runs: Sequence[Run], tables: "Sequence[xr.Dataset]") -> "xr.Dataset":
    import xarray as xr

    nyquist = [table.attrs["training_nyquist"] for table in tables]
    joined = xr.concat(
        tables, "trained", data_vars="all", coords="minimal", compat="equals", join="exact"
    )
    trained = [one.resolution for one in runs]
    joined = joined.assign_coords(trained=("trained", trained, {"units": "points"}))
    joined["trained"].attrs["long_name"] = "resolution of the training grid"
    text = {"long_name": "highest wave number of the training grid", "units": "1"}
    joined["training_nyquist"] = ("trained", nyquist, text)
    pairs = zip(trained, (table.attrs["refused"] for table in tables), strict=True)
    refused = "; ".join(f"trained on {n}: {why}" for n, why in pairs if why)
    joined.attrs = {"task": tables[0].attrs["task"], "refused": refused}
    return joined


# --- what can stand in one matrix -----------------------------------------------------------------


def _expect_alike(runs: Sequence[Run]) -> None:
    if not runs:
        raise ValueError("there are no runs; give transfer a run, its folder, or a list of them")
    kinds = {f"{one.config['op']} on {one.config['name']}" for one in runs}
    if len(kinds) > 1:
        raise ValueError(
            f"a matrix is of one operator on one problem, these are {', '.join(sorted(kinds))}; "
            "operators are compared by sciops.compare(…, resolutions=[64, 128])"
        )
    trained = [one.resolution for one in runs]
    if len(set(trained)) < len(trained):
        raise ValueError(
            f"these runs were trained on {', '.join(map(str, trained))} points; give one run for "
            "each training grid"
        )


def _expect_same_samples(runs: Sequence[Run]) -> None:
    """Of generated data: the same functions, by number, in the test split of every run."""
    first, *others = map(_samples_of, runs)
    for one, found in zip(runs[1:], others, strict=True):
        if found != first:
            raise ValueError(
                f"{one.path.name} has other test samples than {runs[0].path.name}; a matrix is of "
                "the same samples on all grids: train with the same n_train, n_val, n_test and "
                "parameters of the equation, or give data={64: dataset}"
            )


def _samples_of(run: Run) -> tuple:
    """What says which functions the test samples of a run are."""
    described = run.config["data"]
    if "fingerprint" in described:  # `run.transfer` says what to do
        return ()
    parameters = domain_named(run.config["name"]).with_defaults(described["parameters"])
    return described["seed"], parameters, run.data["test"]["sample"].values.tolist()
