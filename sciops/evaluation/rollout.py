"""Roll-out: how a forecast fares frame by frame, and how long it can be continued.

A model gives its T frames; the last H frames are fed to it again for the next T, as often as asked.
It may go on where the data end: nothing is then compared, only whether it stays bounded.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sciops.backbones.forecasting import continued, history_and_frames
from sciops.data.progress import progress_bar
from sciops.data.rows import check_fields, read_rows, sample_numbers
from sciops.task import Field, Task

from .grids import geometry
from .rollout_scores import frame_scores
from .scores import evaluation_mode, fitting_batch, predict, row_slices

if TYPE_CHECKING:
    import xarray as xr

THRESHOLD = 0.5  # two fields of equal energy that differ by it have a correlation of 0.875
SCORES = {
    "relative_l2": (("sample", "time"), "relative L2 error"),
    "correlation": (("sample", "time"), "correlation of prediction and truth"),
    "stability_horizon": (("sample",), "time until which the error stays below the threshold"),
    "blow_up": (("sample",), "time at which the prediction blows up"),
    "energy": (("sample", "source", "time"), "energy"),
    "enstrophy": (("sample", "source", "time"), "enstrophy"),
    "spectrum": (("source", "time", "wavenumber"), "energy"),
}


def rollout(
    model: Any,
    ds: "xr.Dataset",
    task: Task | None = None,
    *,
    steps: int | None = None,
    threshold: float = THRESHOLD,
    batch_size: int = 32,
    progress: bool = True,
) -> "xr.Dataset":
    """The scores of a forecast at every time.

        relative_l2, correlation   (sample, time) NaN where the data have ended
        stability_horizon          (sample,) the time until which the relative error stays below
                                   `threshold`: that of the last frame given if it never is, that of
                                   the last frame compared if it always is
        blow_up                    (sample,) the first time at which the prediction is not finite or
                                   above 100 times all that is known; NaN if it never is
        energy, enstrophy          (sample, source, time) the sources being truth and prediction,
                                   before it blows up; enstrophy of a vorticity only
        spectrum                   (source, time, wavenumber) energy in shells of wave numbers, the
                                   mean of the samples that have not blown up

    model: an nn.Module with its task, or a Run, which has both
    task:  the one the model was built for
    steps: frames to predict; None is as many as the data have after the history
    """
    model, task = _model_and_task(model, task)
    span, place, numbers = _span(task, ds, steps), geometry(task, ds), sample_numbers(ds)
    kind = dict(place=place, vorticity=_is_vorticity(task))
    rounds = math.ceil(span.steps / task.out_channels)
    at_once = max(1, fitting_batch(batch_size, task, ds) // rounds)
    parts = []
    with evaluation_mode(model), progress_bar("rolling out", len(numbers), shown=progress) as count:
        for rows in row_slices(slice(0, len(numbers)), at_once):
            batch = read_rows(ds, span.task, rows)
            advance = lambda x: predict(model, x, coords=place["coords"], batch_size=at_once)
            prediction = continued(advance, batch.x, span.steps)
            parts.append(frame_scores(*batch, prediction, **kind))
            count(len(batch.x))
    found = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    return _labelled(found, span, numbers, threshold)


def stability_horizon(errors: Tensor, times: Tensor, start: float, threshold: float) -> Tensor:
    """The last time before errors (n, time) are for the first time not below the threshold, (n,).

    >>> errors = torch.tensor([[0.1, 0.7, 0.2], [0.9, 0.9, 0.9], [0.1, 0.2, 0.3]])
    >>> stability_horizon(errors, torch.tensor([1.0, 2.0, 3.0]), 0.0, 0.5).tolist()
    [1.0, 0.0, 3.0]
    """
    frames = (errors < threshold).cumprod(1).sum(1)  # NaN is not below
    return torch.cat([times.new_tensor([start]), times])[frames]


def _first_time(happened: Tensor, times: Tensor) -> Tensor:
    """The first time at which something had happened, (n, time) -> (n,); NaN if it never had."""
    first = torch.where(happened, times, torch.inf).amin(1)
    return torch.where(first.isinf(), torch.nan, first)


def _model_and_task(model: Any, task: Task | None) -> tuple[nn.Module, Task]:
    if not isinstance(model, nn.Module):
        model, task = model.model, task or model.task
    if task is None:
        raise ValueError("a model does not know its task; give rollout(model, ds, task)")
    return model, task


def _is_vorticity(task: Task) -> bool:
    on_a_torus = [axis.periodic for axis in task.axes] == [True, True]
    return on_a_torus and task.inputs[0].variable == "vorticity"


class _Span(NamedTuple):
    """Which frames are predicted, and which of them are known."""

    task: Task  # its targets are the known frames
    times: Tensor  # of the frames predicted
    start: float  # time of the last frame given
    labels: dict[str, Any]  # of the axis of time

    @property
    def steps(self) -> int:
        return len(self.times)


def _span(task: Task, ds: "xr.Dataset", steps: int | None) -> _Span:
    history_and_frames(task)
    check_fields(ds, replace(task, targets=()))
    (given,) = task.inputs
    now = given.frames[1]
    available = ds.sizes["time"] - now
    steps = available if steps is None else steps
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(
            f"steps={steps!r} must be a whole number ≥ 1; the data have {available} frames after "
            f"the {now} that are given to the model"
        )
    known = replace(task, targets=(Field(given.variable, (now, now + min(steps, available))),))
    time = np.asarray(ds["time"].values, float)
    interval = time[-1] - time[-2] if len(time) > 1 else 1.0
    later = time[-1] + interval * np.arange(1, steps + 1)
    times = torch.from_numpy(np.concatenate([time[now:], later])[:steps])
    return _Span(known, times, float(time[now - 1]), dict(ds["time"].attrs))


def _labelled(
    found: dict[str, Tensor], span: _Span, numbers: np.ndarray, threshold: float
) -> "xr.Dataset":
    import xarray as xr

    known = span.task.out_channels
    horizon = stability_horizon(found["relative_l2"][:, :known], span.times, span.start, threshold)
    found["stability_horizon"] = horizon if known else torch.full_like(horizon, torch.nan)
    found["blow_up"] = _first_time(found["blown_up"], span.times)
    if "spectrum" in found:
        found["spectrum"] = found["spectrum"].nanmean(0)
    data = {
        name: (dims, found[name].numpy(), {"long_name": long_name})
        for name, (dims, long_name) in SCORES.items()
        if name in found
    }
    coords = {"sample": numbers, "time": ("time", span.times.numpy(), span.labels)}
    if "spectrum" in found:
        coords["source"] = ["truth", "prediction"]
        coords["wavenumber"] = np.arange(found["spectrum"].shape[-1])
    attrs = dict(task=span.task.name, last_given_time=span.start, threshold=threshold)
    return xr.Dataset(data, coords, attrs)
