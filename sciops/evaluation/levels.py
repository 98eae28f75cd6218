"""The grids on which a model is tried, and the way from each to the training grid and back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from sciops.data.rows import check_fields, sample_numbers
from sciops.metrics import nyquist
from sciops.task import Task

from .grids import geometry, same_points, trained_grid, unit_grid
from .interpolation import resampler
from .scores import fitting_batch

if TYPE_CHECKING:
    import xarray as xr

ROUNDING = 1e-6  # of a length, as coordinates have it


@dataclass(eq=False)
class Level:
    """A resolution: its data, its grid, and what was found so far."""

    resolution: int
    ds: "xr.Dataset"
    place: dict[str, Any]  # of `geometry`
    batch_size: int
    trained: bool  # whether it is the training grid
    inward: Callable[[Tensor], Tensor]  # to the training grid
    outward: Callable[[Tensor], Tensor]  # and back
    cutoff: tuple[float, ...]  # Nyquist wave numbers of the training grid, in waves per length
    found: dict[str, list[Tensor]] = field(default_factory=dict)  # (batch, …) of each batch
    seconds: float = 0.0
    refused: str = ""  # why the model does not run here

    def note(self, name: str, values: Tensor) -> None:
        self.found.setdefault(name, []).append(values)


def levels_of(task: Task, datasets: "Mapping[int, xr.Dataset]", batch_size: int) -> list[Level]:
    """Coarsest first."""
    if not datasets:
        raise ValueError("there are no data; transfer needs at least one resolution")
    for ds in datasets.values():
        check_fields(ds, task)
    _check_same_samples(datasets)
    return [_level(task, r, datasets[r], batch_size) for r in sorted(datasets)]


def _level(task: Task, resolution: int, ds: "xr.Dataset", batch_size: int) -> Level:
    trained, points, place = trained_grid(task), unit_grid(task, ds), geometry(task, ds)
    periodic = place["periodic"]
    limits = nyquist([axis.size for axis in task.axes], periodic)
    per_axis = zip(limits, place["lengths"], task.axes, strict=True)
    return Level(
        resolution,
        ds,
        place,
        batch_size=fitting_batch(batch_size, task, ds),
        trained=same_points(points, trained),
        inward=resampler(points, trained, periodic),
        outward=resampler(trained, points, periodic),
        cutoff=tuple(k * (length / axis.extent + ROUNDING) for k, length, axis in per_axis),
    )


def _check_same_samples(datasets: "Mapping[int, xr.Dataset]") -> None:
    first, *others = sorted(datasets)
    expected = sample_numbers(datasets[first])
    for resolution in others:
        numbers = sample_numbers(datasets[resolution])
        if not np.array_equal(numbers, expected):
            raise ValueError(
                "transfer compares the same samples in the same order, but resolution "
                f"{first} has {_some(expected)} and resolution {resolution} has {_some(numbers)}; "
                "choose those that both have with ds.sel(sample=[…])"
            )


def _some(numbers: np.ndarray) -> str:
    shown = ", ".join(str(n) for n in numbers[:4])
    return f"{len(numbers)} samples ({shown}{', …' if len(numbers) > 4 else ''})"
