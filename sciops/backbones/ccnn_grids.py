"""The uniform grids that continuous CNNs work on."""

from collections.abc import Sequence

import torch
from torch import Tensor

from sciops.operators.resampling import Band
from sciops.task import Axis, Field, Task

from .ccnn_sizes import Grid

UNEVEN = 1e-2  # of the spacing: more is another grid


def trained_grid(task: Task) -> Grid:
    """The grid of a task."""
    points = [torch.tensor(axis.points, dtype=torch.float64) / axis.length for axis in task.axes]
    periodic = tuple(axis.periodic for axis in task.axes)
    size = tuple(axis.size for axis in task.axes)
    return Grid(size, periodic, spacings_between(points, periodic))


def spacings_between(points: Sequence[Tensor], periodic: Sequence[bool]) -> tuple[float, ...]:
    """Of points of each axis in units of its length, which must be evenly spaced."""
    found = []
    for axis, (p, circular) in enumerate(zip(points, periodic, strict=True)):
        if circular:
            found.append(1 / len(p))
            continue
        if len(p) < 3:
            raise ValueError(f"axis {axis} has {len(p)} points; a continuous CNN needs 3 or more")
        gaps = p.double().diff()
        mean = float(gaps.mean())
        if mean <= 0 or float((gaps - mean).abs().max()) > UNEVEN * mean:
            raise ValueError(
                f"the points of axis {axis} are not evenly spaced, as a continuous CNN needs them; "
                "interpolate the data to a uniform grid, or use op='xd' or op='fno'"
            )
        found.append(mean)
    return tuple(found)


def coarse_spacings(grid: Grid, bands: Sequence[Band] | None) -> tuple[float, ...]:
    """Of the grid on which the kernels of a block are rendered."""
    if bands is None:
        return grid.spacings
    return tuple(band.spacing(h) for band, h in zip(bands, grid.spacings, strict=True))


def image_task(name: str, channels: int, size: Sequence[int], classes: Sequence[str]) -> Task:
    """A task about images or sequences of a size, whose axes have ends."""
    axes = tuple(
        Axis(f"axis{a}", tuple(i / (n - 1) for i in range(n)), False, 1.0)
        for a, n in enumerate(size)
    )
    fields = tuple(Field(f"channel{c}") for c in range(channels))
    return Task(name, fields, (Field("class"),), axes, tuple(classes))
