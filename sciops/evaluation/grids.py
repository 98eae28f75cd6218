"""Where the points of some data are, on the domain that a model was trained on.

Points are given in units of the training axes, s = (x − x₀)/length with x₀ the first training
point, so that a model meets the same function at the same places whatever the resolution.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from sciops.backbones.positions import unit_points
from sciops.task import Axis, Task

if TYPE_CHECKING:
    import xarray as xr

SAME_POINT = 1e-6  # of an axis' length: the rounding of single precision
SPACING_ERROR = 1e-2  # of the spacing: more is another grid


def geometry(task: Task, ds: "xr.Dataset") -> dict[str, Any]:
    """The grid of some data on the domain of the task that a model was built for.

    coords:   points of each axis in units of the training axis' length, from its first point on;
              None if they are the uniform grid of that size on the same domain
    periodic: for each axis
    lengths:  for each axis in physical units, its period or the distance of the data's end points
    """
    points = unit_grid(task, ds)
    extents = [axis.length * float(p[-1] - p[0]) for axis, p in zip(task.axes, points, strict=True)]
    pairs = zip(task.axes, extents, strict=True)
    return {
        "coords": coords_of(task, points),
        "periodic": tuple(axis.periodic for axis in task.axes),
        "lengths": tuple(axis.length if axis.periodic else extent for axis, extent in pairs),
    }


def unit_grid(task: Task, ds: "xr.Dataset") -> tuple[Tensor, ...]:
    """The points of each axis in units of the training axis' length, checked."""
    return tuple(_unit_points(axis, ds) for axis in task.axes)


def trained_grid(task: Task) -> tuple[Tensor, ...]:
    """The points of the task's own axes in the same units."""
    grids = [torch.tensor(axis.points, dtype=torch.float64) for axis in task.axes]
    return tuple((x - x[0]) / axis.length for x, axis in zip(grids, task.axes, strict=True))


def coords_of(task: Task, points: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
    """The points as a model wants them: None if they are the uniform grid on the whole domain."""
    uniform = unit_points(task, tuple(len(p) for p in points))
    return None if same_points(points, uniform) else tuple(points)


def same_points(some: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    """Whether two grids are one, up to rounding."""
    return all(
        len(a) == len(b) and torch.allclose(a, b, rtol=0, atol=SAME_POINT)
        for a, b in zip(some, others, strict=True)
    )


def evenly_spaced(place: dict[str, Any]) -> bool:
    """Whether the points of every axis are, which derivatives and spectra need."""
    return place["coords"] is None or all(
        float(p.diff().max() - p.diff().min()) <= SPACING_ERROR * float(p.diff().mean())
        for p in place["coords"]
        if len(p) > 1
    )


def _unit_points(axis: Axis, ds: "xr.Dataset") -> Tensor:
    if axis.name not in ds.coords:
        raise ValueError(
            f"the data do not say where their points along {axis.name!r} are; add the coordinate "
            f"with ds.assign_coords({axis.name}=…)"
        )
    x = np.atleast_1d(np.asarray(ds[axis.name].values, float))
    if not np.isfinite(x).all() or np.any(np.diff(x) <= 0):
        raise ValueError(
            f"the coordinate {axis.name!r} should be finite and increase; ds.sortby({axis.name!r})"
        )
    (_check_period if axis.periodic else _check_inside)(x, axis)
    return torch.as_tensor((x - axis.points[0]) / axis.length)


def _check_period(x: np.ndarray, axis: Axis) -> None:
    step = axis.length / len(x)
    if np.abs(x - x[0] - step * np.arange(len(x))).max() > SPACING_ERROR * step:
        raise ValueError(
            f"the model was trained on {axis.name!r} with the period {axis.length:g}; the data "
            f"should have the points {x[0]:g}, {x[0] + step:g}, … of a whole period without its "
            f"end, but have {len(x)} points from {x[0]:g} to {x[-1]:g}"
        )


def _check_inside(x: np.ndarray, axis: Axis) -> None:
    """Grids of cell centres reach a little further the finer they are."""
    first, last = axis.points[0], axis.points[-1]
    room = axis.length / max(axis.size - 1, 1)
    if x[0] < first - room or x[-1] > last + room:
        raise ValueError(
            f"the model was trained on {axis.name!r} from {first:g} to {last:g}; the data lie "
            f"outside, from {x[0]:g} to {x[-1]:g}; are they in the same units?"
        )
