"""Input, truth, prediction and error of some samples, side by side.

Truth and prediction share their colours, errors have symmetric ones about 0.  One axis of space is
drawn as lines, two as images.  Frames of time are channels: a forecast has a column for each.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from torch import nn

from sciops.evaluation.scores import evaluate
from sciops.task import Task

from .shown import Sample, median_and_worst, model_and_data, shown_samples
from .style import (
    ERROR_MAP,
    FIELD_MAP,
    INPUT_MAP,
    MUTED,
    PALETTE,
    label_of,
    new_figure,
    styled,
    with_rules,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from sciops.runs.run import Run

ERROR = "Prediction − truth"
FINEST = 192  # points along a side of an image; of finer grids every second, third, … is drawn


@styled
def fields(
    model: "nn.Module | Run",
    ds: "xr.Dataset | None" = None,
    task: Task | None = None,
    samples: Mapping[str, int] | Sequence[int] | int | None = None,
) -> "Figure":
    """Input, truth, prediction and error of samples of a data set.

    model:   or a Run, whose test data and task are taken where none are given
    task:    that of the model; the data may be on another grid
    samples: position in the data, several, or {title: position}; None is the median and the worst
    """
    model, ds, task = model_and_data(model, ds, task)
    if samples is None:
        samples = median_and_worst(evaluate(model, ds, task, progress=False)["relative_l2"].values)
    if not isinstance(samples, Mapping):
        samples = {f"Sample {i}": i for i in np.atleast_1d(samples).tolist()}
    shown = shown_samples(model, ds, task, samples)
    images, columns = len(shown[0].space) == 2, len(shown[0].targets) > 1
    figure = new_figure(12, _height(shown[0], images, columns) * len(shown))
    for part, sample in zip(figure.subfigures(len(shown), squeeze=False).flat, shown, strict=True):
        part.suptitle(sample.title, x=0.008, ha="left", fontsize=13, fontweight="bold")
        inputs, targets = (_in_columns if columns else _in_a_row)(part, sample, 3 if images else 2)
        (_draw_images if images else _draw_lines)(sample, inputs, targets)
        if not images:
            part.legend(*targets[0][0].get_legend_handles_labels(), loc="upper right", ncols=2)
        (_title_columns if columns else _title_row)(sample, inputs, targets)
    return figure


# --- where it is shown ----------------------------------------------------------------------------


def _height(sample: Sample, images: bool, columns: bool) -> float:
    """Of the drawing of one sample, in inches."""
    if not images:
        return 5.2 if columns else 3.2
    wide, high = (float(abs(a[-1] - a[0])) or 1.0 for a in sample.space)
    ratio = float(np.clip(high / wide, 0.4, 2.0))
    if columns:
        return 3 * (9.6 / (1 + len(sample.targets))) * ratio + 1.2
    return 9.0 / (3 + len(sample.inputs)) * ratio + 1.1


def _in_a_row(figure: "SubFigure", sample: Sample, panels: int):
    """Axes of the inputs, and the `panels` axes of the one target."""
    row = figure.subplots(1, len(sample.inputs) + panels)
    return row[: len(sample.inputs)], [row[len(sample.inputs) :]]


def _in_columns(figure: "SubFigure", sample: Sample, panels: int):
    """Axes of the inputs, one below the other, and of each target, `panels` in a column."""
    grid = figure.subplots(panels, 1 + len(sample.targets), squeeze=False)
    for unused in grid[len(sample.inputs) :, 0]:
        unused.set_axis_off()
    return grid[: len(sample.inputs), 0], grid[:, 1:].T


def _title_row(sample: Sample, inputs, targets) -> None:
    """Every panel has its title; x below all, y beside the first."""
    title, axes_of_target = sample.targets[0].title, targets[0]
    truth = [f"Truth: {title}", "Prediction"] if len(axes_of_target) == 3 else [title]
    titles = [*(f"Input: {c.title}" for c in sample.inputs), *truth, ERROR]
    for axes, text in zip((*inputs, *axes_of_target), titles, strict=True):
        axes.set_title(fill(text, 104 // len(titles)))
        _name_axes(axes, sample, x=True, y=axes is inputs[0])


def _title_columns(sample: Sample, inputs, targets) -> None:
    """Columns have a channel each, rows their name; x below the last row, y beside the inputs."""
    width = 104 // (1 + len(targets))  # in characters
    for axes, channel in zip(inputs, sample.inputs, strict=True):
        axes.set_title(fill(f"Input: {channel.title}", width))
        _name_axes(axes, sample, x=len(sample.space) == 1, y=True)
    for column, channel in zip(targets, sample.targets, strict=True):
        column[0].set_title(fill(channel.title, width))
        for axes in column:
            _name_axes(axes, sample, x=axes is column[-1], y=False)
    rows = ["Truth", "Prediction"] if len(sample.space) == 2 else ["Truth and prediction"]
    for axes, name in zip(targets[0], [*rows, ERROR], strict=True):
        axes.set_ylabel(name)


def _name_axes(axes: "Axes", sample: Sample, *, x: bool, y: bool) -> None:
    """Names and ticks of the axes of space that are asked for; on images no others."""
    names = [label_of(str(points.name), points.attrs) for points in sample.space]
    if x:
        axes.set_xlabel(names[0])
    axes.tick_params(labelbottom=x)
    if len(names) == 2:
        axes.tick_params(bottom=x, left=y, labelleft=y)
        axes.locator_params(nbins=4)
        if y:
            axes.set_ylabel(names[1])


# --- drawing --------------------------------------------------------------------------------------


def _draw_images(sample: Sample, inputs, targets) -> None:
    """A variable has the same colours wherever it is: in the input, the truth, the prediction."""
    shared = {c.variable: _limits_of(sample, c.variable) for c in sample.targets}
    for axes, channel in zip(inputs, sample.inputs, strict=True):
        values = sample.x[channel.number]
        colours = FIELD_MAP if channel.variable in shared else INPUT_MAP
        limits, _ = shared.get(channel.variable, (_range(values), None))
        _bar(axes, _image(axes, sample, values, colours, limits))
    for column, channel in zip(targets, sample.targets, strict=True):
        truth, guess = sample.y[channel.number], sample.prediction[channel.number]
        limits, error_limits = shared[channel.variable]
        images = [
            _image(column[0], sample, truth, FIELD_MAP, limits),
            _image(column[1], sample, guess, FIELD_MAP, limits),
            _image(column[2], sample, guess - truth, ERROR_MAP, error_limits),
        ]
        last_of_its_kind = [c for c in sample.targets if c.variable == channel.variable][-1]
        if channel is last_of_its_kind:
            for axes, image in list(zip(column, images, strict=True))[len(targets) == 1 :]:
                _bar(axes, image)


def _limits_of(sample: Sample, variable: str):
    """Ranges of colours of a target variable and of its error, over all channels shown."""
    numbers = [c.number for c in sample.targets if c.variable == variable]
    before = [sample.x[c.number] for c in sample.inputs if c.variable == variable]
    y, p = sample.y[numbers], sample.prediction[numbers]
    return _range(y, p, *before), _range(p - y, symmetric=True)


def _image(axes: "Axes", sample: Sample, values: np.ndarray, colours: str, limits):
    """Values (x, y), x to the right and y up."""
    axes.set_aspect("equal")
    axes.spines[:].set_visible(False)
    steps = [-(-n // FINEST) for n in values.shape]
    values = values[:: steps[0], :: steps[1]]
    x, y = (np.asarray(p.values, float)[::s] for p, s in zip(sample.space, steps, strict=True))
    options = dict(cmap=colours, vmin=limits[0], vmax=limits[1])
    if not (_even(x) and _even(y)):
        return axes.pcolormesh(x, y, values.T, shading="nearest", rasterized=True, **options)
    extent = [*_edges(x), *_edges(y)]
    return axes.imshow(values.T, extent=extent, origin="lower", interpolation="none", **options)


def _draw_lines(sample: Sample, inputs, targets) -> None:
    (points,) = (a.values for a in sample.space)
    for axes, channel in zip(inputs, sample.inputs, strict=True):
        with_rules(axes).plot(points, sample.x[channel.number], color=MUTED)
    for (field, error), channel in zip(targets, sample.targets, strict=True):
        truth, prediction = sample.y[channel.number], sample.prediction[channel.number]
        with_rules(field).plot(points, truth, color=PALETTE[5], linewidth=4, label="truth")
        field.plot(points, prediction, color=PALETTE[1], linewidth=1.6, label="prediction")
        error.axhline(0, color=MUTED, linewidth=0.8)
        with_rules(error).plot(points, prediction - truth, color=PALETTE[1], linewidth=1.6)
        error.set_ylim(*(1.1 * v for v in _range(prediction - truth, symmetric=True)))


def _bar(axes: "Axes", image) -> None:
    """A colour bar exactly as high as the image."""
    bar = axes.figure.colorbar(image, cax=axes.inset_axes([1.04, 0, 0.05, 1]))
    bar.outline.set_visible(False)


def _range(*values: np.ndarray, symmetric: bool = False) -> tuple[float, float]:
    """The smallest and the largest finite value; of nothing or a constant, something around it."""
    finite = np.concatenate([v[np.isfinite(v)] for v in values])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if symmetric:
        low, high = -max(-low, high), max(-low, high)
    room = 0.5 * (abs(high) or 1.0) if low == high else 0.0
    return low - room, high + room


def _even(points: np.ndarray) -> bool:
    steps = np.diff(points)
    return len(points) < 2 or bool(np.ptp(steps) <= 1e-3 * abs(steps.mean()))


def _edges(points: np.ndarray) -> tuple[float, float]:
    """The outer edges of the cells around evenly spaced points."""
    half = (points[-1] - points[0]) / max(len(points) - 1, 1) / 2 or 0.5
    return points[0] - half, points[-1] + half
