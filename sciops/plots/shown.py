"""What a figure shows of a data set: some samples with their predictions, and what they are called.

Of a forecast a few frames are shown, of three axes of space the middle slice of the first.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from torch import Tensor, nn

from sciops.data.rows import check_fields, read_rows
from sciops.evaluation.grids import evenly_spaced, geometry
from sciops.evaluation.scores import predict
from sciops.metrics import energy_spectrum, nyquist, relative_l2
from sciops.task import Field, Task

from .style import label_of, short

if TYPE_CHECKING:
    import xarray as xr

    from sciops.runs.run import Run

COLUMNS = 4  # target channels that are shown
INPUTS = 2  # input variables that are shown
AVERAGED = 64  # samples of which a spectrum is the mean


class Channel(NamedTuple):
    """A channel of one side of the task."""

    number: int
    variable: str
    title: str


class Sample(NamedTuple):
    """What is drawn of one sample; fields are (channel, *space) with one or two axes of space."""

    title: str
    x: np.ndarray
    y: np.ndarray
    prediction: np.ndarray
    inputs: list[Channel]
    targets: list[Channel]
    space: "list[xr.DataArray]"


def model_and_data(
    model: "nn.Module | Run", ds: "xr.Dataset | None", task: Task | None
) -> "tuple[nn.Module, xr.Dataset, Task]":
    """A model with the data and the task that are given, or those of a Run."""
    if not isinstance(model, nn.Module):
        run = model
        test = run.data["test"].to_dataset() if ds is None else ds
        return run.model, test, run.task if task is None else task
    if ds is None or task is None:
        raise ValueError("a model does not know its data; give fields(model, ds, task), or a Run")
    return model, ds, task


def worst_of(errors: np.ndarray) -> int:
    """The position of the largest error; one that is not finite is larger.

    >>> worst_of(np.array([1.0, 3.0, 2.0])), worst_of(np.array([1.0, np.nan, 2.0]))
    (1, 1)
    """
    return int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))


def median_and_worst(errors: np.ndarray) -> dict[str, int]:
    """Titles and positions of the sample in the middle and of the worst, or of the only one.

    >>> median_and_worst(np.array([9.0, 1.0, 3.0]))
    {'Median sample (no. 2)': 2, 'Worst sample (no. 0)': 0}
    """
    if len(errors) == 1:
        return {"The only sample": 0}
    median = int(np.argsort(errors, kind="stable")[(len(errors) - 1) // 2])
    worst = worst_of(errors)
    return {f"Median sample (no. {median})": median, f"Worst sample (no. {worst})": worst}


def shown_samples(
    model: nn.Module, ds: "xr.Dataset", task: Task, titles: Mapping[str, int]
) -> list[Sample]:
    """The samples at these positions of the data, {title: position}."""
    check_fields(ds, task)
    count = ds.sizes["sample"]
    if not titles or not all(-count <= i < count for i in titles.values()):
        raise ValueError(
            f"samples={list(titles.values())} should be positions in the data, which have {count}"
        )
    chosen = ds.isel(sample=list(titles.values()))
    batch = read_rows(chosen, task, slice(None))
    prediction = predict(model, batch.x, coords=geometry(task, chosen)["coords"])
    errors = relative_l2(prediction, batch.y).tolist()
    inputs, targets = _last_of_each(channels(ds, task.inputs)), _some(channels(ds, task.targets))
    space = [ds[axis.name] for axis in task.axes]
    where = f", at {space[0].name} = {float(_middle(space[0])):g}" if len(space) == 3 else ""
    planes = zip(*(map(_plane, side) for side in (batch.x, batch.y, prediction)), strict=True)
    return [
        Sample(
            f"{title}: relative L2 error {short(error)}{where}", *three, inputs, targets, space[-2:]
        )
        for title, error, three in zip(titles, errors, planes, strict=True)
    ]


def _plane(field: Tensor) -> np.ndarray:
    """(channel, *space) of at most two axes of space: of three, the middle of the first."""
    return field.numpy() if field.ndim < 4 else _middle(field.movedim(1, 0)).numpy()


def _middle(along):
    return along[len(along) // 2]


def channels(ds: "xr.Dataset", side: Sequence[Field]) -> list[Channel]:
    """All channels of one side of a task, in order."""
    found: list[Channel] = []
    for field in side:
        label = label_of(field.variable, ds[field.variable].attrs)
        for frame in range(*field.frames) if field.frames else (None,):
            when = "" if frame is None else f", {_moment(ds, frame)}"
            found.append(Channel(len(found), field.variable, label + when))
    return found


def _moment(ds: "xr.Dataset", frame: int) -> str:
    if "time" not in ds.coords:
        return f"frame {frame}"
    unit = ds["time"].attrs.get("units", "1")
    moment = f"t = {float(ds['time'][frame]):g}" + ("" if unit == "1" else f" {unit}")
    return moment.replace(" ", "\N{NO-BREAK SPACE}")


def _some(found: list[Channel]) -> list[Channel]:
    """At most COLUMNS channels, the first and the last among them."""
    numbers = np.linspace(0, len(found) - 1, min(COLUMNS, len(found))).round().astype(int)
    return [found[i] for i in numbers]


def _last_of_each(found: list[Channel]) -> list[Channel]:
    """The last frame of the first variables."""
    return list({channel.variable: channel for channel in found}.values())[:INPUTS]


def spectra_of(model: nn.Module, ds: "xr.Dataset", task: Task) -> "xr.Dataset":
    """Energies (wavenumber,) of truth, prediction and error, summed over channels.

    The mean of the first AVERAGED samples; points must be evenly spaced.
    """
    import xarray as xr

    check_fields(ds, task)
    place = geometry(task, ds)
    if not evenly_spaced(place):
        raise ValueError("a spectrum needs evenly spaced points; interpolate the data to such ones")
    batch = read_rows(ds, task, slice(0, AVERAGED))
    prediction = predict(model, batch.x, coords=place["coords"])
    how = dict(periodic=place["periodic"], lengths=place["lengths"])
    parts = {"truth": batch.y, "prediction": prediction, "error": prediction - batch.y}
    data = {
        name: ("wavenumber", energy_spectrum(field.double(), **how).sum(1).mean(0).numpy())
        for name, field in parts.items()
    }
    return xr.Dataset(data, {"wavenumber": np.arange(len(data["truth"][1]))}, _limit(task))


def _limit(task: Task) -> dict[str, float]:
    """The highest wave number of the training grid along its worst axis, per longest axis."""
    limits = nyquist([axis.size for axis in task.axes], [axis.periodic for axis in task.axes])
    longest = max(axis.length for axis in task.axes)
    scaled = [k * longest / axis.length for k, axis in zip(limits, task.axes, strict=True)]
    return {"training_nyquist": min(scaled)}
