"""Some samples of labelled data as a `Batch`, read when they are asked for.

For looking at every sample once, in order: the whole split is never in memory, unless it is there
already.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from sciops.task import Batch, Field, Task

from .samples import as_batch, variables_of

if TYPE_CHECKING:
    import xarray as xr

NAMED = 8  # so many samples are named in a message


def sample_numbers(ds: "xr.Dataset") -> np.ndarray:
    """The numbers of the samples; those without any are counted from 0."""
    given = "sample" in ds.coords
    return np.atleast_1d(ds["sample"].values) if given else np.arange(ds.sizes.get("sample", 0))


def check_fields(ds: "xr.Dataset", task: Task) -> None:
    """ValueError unless the data have samples of every field of the task, on its axes."""
    missing = [name for name in variables_of(task) if name not in ds.data_vars]
    if missing:
        raise ValueError(
            f"the task {task.name!r} needs the variables {', '.join(variables_of(task))}; the data "
            f"lack {', '.join(missing)} and have {', '.join(map(str, ds.data_vars)) or 'none'}; "
            "call them by these names with ds.rename"
        )
    for field in (*task.inputs, *task.targets):
        _check_dims(ds, field, task)
    if not len(sample_numbers(ds)):
        raise ValueError("the data have no sample; give at least one")


def _check_dims(ds: "xr.Dataset", field: Field, task: Task) -> None:
    wanted, got = _dims(field, task), ds[field.variable].dims
    if sorted(map(str, got)) != sorted(wanted):
        raise ValueError(
            f"{field.variable!r} should have the dimensions {wanted}, it has {got}; a single "
            "sample is ds.isel(sample=[0]), with brackets"
        )
    if field.frames is not None and field.frames[1] > ds.sizes["time"]:
        raise ValueError(
            f"the task {task.name!r} has the frames {field.frames[0]} to {field.frames[1] - 1} of "
            f"{field.variable!r}; the data have {ds.sizes['time']} frames, from 0 on"
        )


def _dims(field: Field, task: Task) -> tuple[str, ...]:
    time = () if field.frames is None else ("time",)
    return ("sample", *time, *(axis.name for axis in task.axes))


def read_rows(ds: "xr.Dataset", task: Task, rows: slice) -> Batch:
    """The samples of these rows; ValueError if one of them has NaN or infinite values.

    Call `check_fields` once before.
    """
    part = ds.isel(sample=rows)
    variables: dict[str, Tensor] = {}
    for field in (*task.inputs, *task.targets):
        name = field.variable
        if name not in variables:
            variables[name] = torch.tensor(part[name].transpose(*_dims(field, task)).values)
        _check_finite(variables[name], field, sample_numbers(ds)[rows])
    return as_batch(variables, task)


def _check_finite(values: Tensor, field: Field, numbers: np.ndarray) -> None:
    used = values if field.frames is None else values[:, slice(*field.frames)]
    bad = numbers[~torch.isfinite(used).flatten(1).all(1).numpy()].tolist()
    if bad:
        more = f" and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
        raise ValueError(
            f"{field.variable!r} has NaN or infinite values in the samples "
            f"{', '.join(map(str, bad[:NAMED]))}{more}, and maybe in later ones; find them with "
            "sciops.check and leave them out with ds.drop_sel(sample=[…])"
        )
