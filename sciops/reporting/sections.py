"""The sections of a report with results: scores, samples, learning, other grids, scales, maps."""

from typing import TYPE_CHECKING

import numpy as np
from torch import nn

from sciops import plots
from sciops.plots.shown import median_and_worst, worst_of
from sciops.plots.style import label_of, short
from sciops.task import Task

from .page import counted, details, drawing, pair, paragraph, section, table

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

TRANSFERRED = {
    "relative_l2": "error",
    "control_upsample": "training grid, interpolated",
    "control_downsample": "input interpolated first",
    "growth": "growth of the error",
    "energy_above_nyquist": "energy not on the training grid",
    "seconds": "time of a prediction",
}
CONTROLS = (
    "The same test samples on other grids. A low error there is worth something only if it is "
    "below that of two cheap ways: to predict on the training grid and interpolate the result, "
    "and to interpolate the input to the training grid first. Means of the samples."
)
MAPS = (
    "An XD operation is Re(K diag(L w) M x): M takes the input to modes, L the weights w to a "
    "multiplier of each mode, K the modes to the output. Before training they make a convolution "
    "or, where the weights are those of modes, a Fourier layer; "
    "moved is ‖K − K₀‖ / ‖K₀‖, the distance from there."
)


def scores_section(scores: "xr.Dataset") -> str:
    """A row for each score: mean, median and worst of the samples."""
    rows = []
    for name, values in scores.data_vars.items():
        if "band" in values.dims:
            for band in values.dropna("band", how="all")["band"].values:  # the others lie beyond
                part = values.sel(band=band).values
                rows.append([f"error in {band} wave numbers", *_summary(part)])
        else:
            rows.append([label_of(str(name), values.attrs), *_summary(values.values)])
    count = scores.sizes["sample"]
    parts = [table(["score", "mean", "median", "worst", "worst sample"], rows)]
    if "band" in scores.coords:
        parts.append(
            paragraph(f"Wave numbers {scores['band'].attrs.get('long_name', '')}.", "note")
        )
    if lost := int(scores.attrs.get("nonfinite_predictions", 0)):
        text = f"{counted(lost, 'prediction')} of {count} had values that are not finite."
        parts.insert(0, paragraph(text, "warning"))
    return section(f"Scores on {counted(count, 'test sample')}", *parts)


def _summary(values: np.ndarray) -> list[str]:
    """Mean, median, the worst value and where it is; what is not finite is the worst."""
    worst = worst_of(values)
    numbers = [values.mean(), np.median(values), values[worst]]
    return [*(short(float(v)) for v in numbers), str(worst)]


def samples_section(model: nn.Module, test: "xr.Dataset", task: Task, scores: "xr.Dataset") -> str:
    """The sample in the middle and the worst."""
    figure = plots.fields(model, test, task, median_and_worst(scores["relative_l2"].values))
    caption = "Of the test data, the sample with the median error and the one with the largest."
    if scores.sizes["sample"] == 1:
        caption = "The only sample of the test data."
    return section("What it predicts", drawing(figure, "fields", caption))


def learning_section(history: "pd.DataFrame") -> str:
    """Errors by epoch."""
    caption = "Mean error of the training and validation samples after each epoch."
    return section("How it learned", drawing(plots.history(history), "history", caption))


def transfer_section(transfer: "xr.Dataset") -> str:
    """Errors on other grids, beside those of the two controls."""
    columns = {name: title for name, title in TRANSFERRED.items() if name in transfer}
    means = transfer[list(columns)].mean("sample", skipna=False)
    rows = [
        [str(grid), *(_cell(name, float(means[name].sel(resolution=grid))) for name in columns)]
        for grid in means["resolution"].values
    ]
    errors = "Median of the test samples; the band holds the middle half of them."
    scales = "Energy of the error by wave number, on every grid."
    figures = [drawing(plots.resolutions(transfer), "resolutions", errors)]
    if bool(transfer["error_spectrum"].notnull().any()):
        figures.append(drawing(plots.spectra(transfer), "transfer-spectra", scales))
    parts = [paragraph(CONTROLS), table(["points", *columns.values()], rows), pair(*figures)]
    if refused := transfer.attrs.get("refused"):
        parts.insert(1, paragraph(f"The model does not run on every grid. {refused}", "warning"))
    return section("On other grids", *parts)


def _cell(name: str, value: float) -> str:
    if name == "seconds":
        return f"{short(1000 * value)} ms"
    return f"{short(100 * value)} %" if name == "energy_above_nyquist" else short(value)


def spectra_section(model: nn.Module, test: "xr.Dataset", task: Task) -> str:
    """Where in the spectrum the error is."""
    figure = plots.spectra(plots.spectra_of(model, test, task))
    caption = (
        "Energy by wave number, mean of test samples. Where the error meets the truth, waves "
        "of that length are not predicted at all."
    )
    return section("Which scales it gets right", drawing(figure, "spectra", caption))


def maps_section(model: nn.Module, moved: "pd.DataFrame") -> str:
    """The learned K, L and M, and how far they moved."""
    wide = moved.pivot(index="layer", columns=["map", "axis"], values="relative_distance")
    wide = wide.loc[moved["layer"].unique()].sort_index(axis=1)
    one_axis = moved["axis"].max() == 0
    head = [letter if one_axis else f"{letter}, axis {axis}" for letter, axis in wide.columns]
    rows = [[layer, *(f"{short(100 * v)} %" for v in row)] for layer, *row in wide.itertuples()]
    caption = "Magnitudes of the learned maps of every layer, on one scale of colours."
    return section(
        "What the search learned",
        paragraph(MAPS),
        drawing(plots.operators(model), "operators", caption),
        details("How far each map moved", table(["layer", *head], rows)),
    )


def rollout_section(rolled: "xr.Dataset") -> str:
    """A forecast step by step."""
    horizon = float(rolled["stability_horizon"].median())
    known = rolled["time"].values[rolled["relative_l2"].notnull().any("sample").values]
    end = ", the end of the data" if len(known) and horizon >= known[-1] else ""
    text = (
        f"The median forecast stays below a relative error of {rolled.attrs['threshold']:g} until "
        f"t = {short(horizon)}{end}."
    )
    caption = "Every frame is predicted from predicted ones; truth as far as the data go."
    figure = drawing(plots.rollout_figure(rolled), "rollout", caption)
    return section("How far it forecasts", paragraph(text), figure)
