"""Scores of a model on labelled data, one number a sample and score, as a labelled table.

The data may lie on another grid than the one the model was trained on, see `grids`.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from sciops.data.progress import progress_bar
from sciops.data.rows import check_fields, read_rows, sample_numbers
from sciops.metrics import METRICS, band_errors
from sciops.metrics.spectrum import radial_wave_numbers
from sciops.task import Task

from .grids import evenly_spaced, geometry

if TYPE_CHECKING:
    import xarray as xr

BAND_EDGES = (4, 12)
BANDS = ("low", "middle", "high")
LONG_NAMES = {
    "relative_l2": "relative L2 error",
    "relative_h1": "relative H¹ error",
    "max_error": "largest error over largest value",
    "max_absolute_error": "largest error",
    "boundary_error": "relative error on the boundary",
    "band_error": "error in a band of wave numbers over the norm of the target",
}


def evaluate(
    model: nn.Module,
    ds: "xr.Dataset",
    task: Task,
    *,
    batch_size: int = 32,
    progress: bool = True,
) -> "xr.Dataset":
    """The scores of every sample: the members of METRICS (sample,) and band_error (sample, band).

    task: the one the model was built for; the data may be on another grid of its domain
    batch_size: samples at a time; fewer on a finer grid, so that it takes no more memory

    Without a boundary there is no boundary_error, and on points that are not evenly spaced neither
    relative_h1 nor band_error, which is NaN in bands above the wave numbers of the grid.  A sample
    whose prediction is not finite has NaN for every score; attrs["nonfinite_predictions"] counts
    them.
    """
    check_fields(ds, task)
    place = geometry(task, ds)
    numbers = sample_numbers(ds)
    at_once = fitting_batch(batch_size, task, ds)
    parts, nonfinite = [], 0
    with (
        evaluation_mode(model),
        progress_bar("evaluating", len(numbers), shown=progress) as count,
    ):
        for rows in row_slices(slice(0, len(numbers)), at_once):
            batch = read_rows(ds, task, rows)
            prediction = predict(model, batch.x, coords=place["coords"], batch_size=at_once)
            parts.append(scores(prediction, batch.y, place))
            nonfinite += int((~finite_samples(prediction)).sum())
            count(len(batch.x))
    columns = {name: torch.cat([part[name] for part in parts]).numpy() for name in parts[0]}
    table = _labelled(columns, numbers, _units(ds, task))
    return table.assign_attrs(task=task.name, nonfinite_predictions=nonfinite)


def predict(
    model: nn.Module,
    x: Tensor,
    *,
    coords: Sequence[Tensor] | None = None,
    batch_size: int = 32,
) -> Tensor:
    """What the model makes of x (n, in_channels, *space), in batches and without gradients.

    The model predicts in evaluation mode and is then put back into the mode it was in.

    coords: points of each axis in units of its length; None is the uniform grid of the domain

    >>> predict(nn.Dropout(0.5), torch.ones(3, 1, 4), batch_size=2).sum().item()
    12.0
    """
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size!r} must be at least 1")
    where = () if coords is None else (tuple(coords),)
    device = next((p.device for p in model.parameters()), x.device)
    with evaluation_mode(model):
        parts = [model(part.to(device), *where).to(x.device) for part in x.split(batch_size)]
    return torch.cat(parts)


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """No gradients, and every module in evaluation mode; then each in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    changed = any(training for _, training in modes)
    if changed:  # or what layers keep in evaluation mode would be lost
        model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes if changed else ():
            module.train(training)


def scores(prediction: Tensor, target: Tensor, place: dict[str, Any]) -> dict[str, Tensor]:
    """Every score that has a meaning on a grid, in double precision; place: of `geometry`."""
    bands = {"band_error": band_errors} if evenly_spaced(place) else {}
    known = dict(periodic=place["periodic"], lengths=place["lengths"], edges=BAND_EDGES)
    pair, found = (prediction.double(), target.double()), {}
    for name, metric in {**METRICS, **bands}.items():
        asked = inspect.signature(metric).parameters
        if name == "boundary_error" and all(place["periodic"]):
            continue
        if "lengths" in asked and not evenly_spaced(place):
            continue
        values = metric(*pair, **{key: value for key, value in known.items() if key in asked})
        found[name] = nan_where_not_finite(values, prediction)
    if bands:
        highest = radial_wave_numbers(target, place["periodic"], place["lengths"]).max()
        beyond = [edge > highest for edge in (0, *BAND_EDGES)]
        found["band_error"][:, beyond] = torch.nan
    return found


def finite_samples(prediction: Tensor) -> Tensor:
    """Whether a sample is finite everywhere, (batch,)."""
    return torch.isfinite(prediction).flatten(1).all(1)


def nan_where_not_finite(values: Tensor, prediction: Tensor) -> Tensor:
    """Values (batch, …), NaN for the samples whose prediction is not finite."""
    finite = finite_samples(prediction).view(-1, *[1] * (values.ndim - 1))
    return torch.where(finite, values, torch.nan)


def row_slices(rows: slice, batch_size: int) -> list[slice]:
    """The rows in pieces of at most `batch_size`.

    >>> row_slices(slice(4, 9), 2)
    [slice(4, 6, None), slice(6, 8, None), slice(8, 9, None)]
    """
    starts = range(rows.start, rows.stop, batch_size)
    return [slice(start, min(start + batch_size, rows.stop)) for start in starts]


def fitting_batch(batch_size: int, task: Task, ds: "xr.Dataset") -> int:
    """At most batch_size samples with no more points than so many have on the training grid."""
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size!r} must be at least 1")
    trained = np.prod([float(axis.size) for axis in task.axes])
    given = np.prod([float(ds.sizes[axis.name]) for axis in task.axes])
    return max(1, min(batch_size, int(batch_size * trained / given)))


# --- labels ---------------------------------------------------------------------------------------


def _labelled(columns: dict[str, np.ndarray], numbers: np.ndarray, units: str) -> "xr.Dataset":
    import xarray as xr

    data = {}
    for name, values in columns.items():
        unit = units if name == "max_absolute_error" else "1"
        attrs = {"long_name": LONG_NAMES.get(name, name), "units": unit}
        data[name] = (("sample", "band")[: values.ndim], values, attrs)
    low, high = BAND_EDGES
    meaning = f"low: κ < {low}, middle: {low} ≤ κ < {high}, high: κ ≥ {high} waves per longest axis"
    bands = {"band": ("band", list(BANDS), {"long_name": meaning})}
    return xr.Dataset(data, {"sample": numbers, **(bands if "band_error" in columns else {})})


def _units(ds: "xr.Dataset", task: Task) -> str:
    """Of the targets, if they have the same."""
    units = {str(ds[field.variable].attrs.get("units", "1")) for field in task.targets}
    return units.pop() if len(units) == 1 else "mixed"
