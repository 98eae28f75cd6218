"""Predictions as labelled data: what goes in is a Dataset, and so is what comes out."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from torch import nn

from sciops.data.rows import check_fields, read_rows, sample_numbers
from sciops.task import Task

from .grids import geometry
from .scores import predict

if TYPE_CHECKING:
    import xarray as xr


def labelled_prediction(model: nn.Module, ds: "xr.Dataset", task: Task) -> "xr.Dataset":
    """The target variables of a task as the model predicts them, on the grid of ds.

    ds needs the inputs only; in time it may end with the history.
    """
    import xarray as xr

    inputs = replace(task, targets=task.inputs)
    check_fields(ds, inputs)
    x = read_rows(ds, inputs, slice(None)).x
    y = predict(model, x, coords=geometry(task, ds)["coords"]).numpy()
    space = [axis.name for axis in task.axes]
    known = {name: ds[name] for name in space} | {"sample": sample_numbers(ds)}
    variables, first = {}, 0
    for field in task.targets:
        values = y[:, first : first + field.channels]
        first += field.channels
        if field.frames is None:
            variables[field.variable] = (("sample", *space), values[:, 0])
        else:
            variables[field.variable] = (("sample", "time", *space), values)
            known["time"] = _times(ds, *field.frames)
    return xr.Dataset(variables, known, {"task": task.name})


def _times(ds: "xr.Dataset", start: int, stop: int) -> np.ndarray:
    """Those of the data as far as they go, then on at the same distance."""
    if "time" not in ds.coords:
        return np.arange(start, stop)
    times = np.atleast_1d(ds["time"].values)
    step = times[-1] - times[-2] if len(times) > 1 else 1
    more = times[-1] + step * np.arange(1, max(stop - len(times), 0) + 1)
    return np.concatenate([times, more])[start:stop]
