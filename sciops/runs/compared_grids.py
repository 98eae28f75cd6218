"""The operators of a comparison on other grids of the same test samples.

    transfer.csv    a row for each operator and grid
    transfer.png    errors against resolution, of all operators (`sciops.plots.resolutions`)

Both lie beside comparison.csv.
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.atomic import write_bytes, write_text
from sciops.domains import domain_named
from sciops.evaluation.resolution_transfer import CONTENDERS, refusals

from .data import task_to_be, whole

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

TABLE, FIGURE = "transfer.csv", "transfer.png"
IN_POINTS = ("conv", "neuralop", "unet")  # know the points of a grid, not how far apart they are


def expect_grids(
    name: str, resolutions: int | Sequence[int] | None, options: Mapping[str, Any]
) -> list[int]:
    """The grids as a list, if solvers can make samples on them; nothing is made."""
    if resolutions is None:
        return []
    if options.get("data") is not None:
        raise ValueError(
            "resolutions=… is for generated data: no solver can make given data on other grids; "
            "leave it out, and give them to each run: run.transfer(data={64: dataset})"
        )
    domain = domain_named(name)
    parameters = {key: value for key, value in options.items() if key in domain.parameters}
    grids = sorted({whole(n, "resolutions") for n in np.ravel(resolutions).tolist()})
    if not grids:
        raise ValueError("resolutions=[] is empty; give numbers of points, as in [64, 85]")
    for points in grids:
        task_to_be(name, points, parameters)
    return grids


def grid_table(found: "Mapping[str, Sequence[xr.Dataset]]") -> "pd.DataFrame":
    """Mean and standard deviation over seeds of mean errors over samples: an operator and a grid
    a row.

    found: for each operator the tables of `run.transfer`, one for each seed

    relative_l2 is empty where an operator does not run, and `note` says why.  A prediction that is
    not finite makes its mean NaN as well.
    """
    import pandas as pd

    rows = []
    for op, tables in found.items():
        reasons = {n: why for table in tables for n, why in refusals(table).items()}
        for resolution in tables[0]["resolution"].values.tolist():
            row: dict[str, Any] = {"op": op, "resolution": resolution, "seeds": len(tables)}
            for name in CONTENDERS:
                errors = pd.Series(
                    [float(t[name].sel(resolution=resolution).mean(skipna=False)) for t in tables]
                )
                row |= {name: errors.mean(skipna=False), f"{name}_std": errors.std(skipna=False)}
            row["trained_on"] = int(tables[0].attrs["training_resolution"])
            row["note"] = _note(op, resolution, row["trained_on"], reasons)
            rows.append(row)
    return pd.DataFrame(rows)


def _note(op: str, resolution: int, trained: int, refused: Mapping[int, str]) -> str:
    if resolution in refused:
        return refused[resolution]
    if op in IN_POINTS and resolution != trained:
        return "counts in points of the grid, so it means something else on each"
    return ""


def mean_errors(table: "pd.DataFrame") -> "pd.DataFrame":
    """Columns at_32, at_64, … for the table of a comparison: of `grid_table`, by operator."""
    wide = table.pivot(index="op", columns="resolution", values="relative_l2")
    return wide.add_prefix("at_").rename_axis(columns=None)


def write_grids(folder: Path, found: "Mapping[str, Sequence[xr.Dataset]]") -> None:
    """The table and its figure; samples of all seeds are drawn together."""
    import xarray as xr

    from sciops.plots import resolutions

    write_text(folder / TABLE, grid_table(found).to_csv(index=False))
    joined = {
        op: xr.concat(
            [table[list(CONTENDERS)] for table in tables],
            "sample",
            join="exact",
            combine_attrs="override",
        )
        for op, tables in found.items()
    }
    drawn = io.BytesIO()
    resolutions(joined).savefig(drawn, format="png")
    write_bytes(folder / FIGURE, drawn.getvalue())


def read_grids(folder: Path) -> "pd.DataFrame":
    """What `write_grids` wrote."""
    import pandas as pd

    table = pd.read_csv(folder / TABLE, dtype={"note": str})
    return table.fillna({"note": ""})
