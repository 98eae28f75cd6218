"""Curves: learning, errors on other resolutions, spectra, and operators against each other.

Errors and energies have logarithmic axes.  Several runs are told apart by colour, and what belongs
to one run by the kind of its line.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .style import INK, MUTED, PALETTE, colour, log_scale, new_figure, short, styled, with_rules

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHED, DOTTED = (0, (5, 2)), (0, (1, 1.4))
LEARNING_LINES = {"val_": ("validation", "-"), "train_": ("training", DASHED)}
LEARNED = {  # names of the history → of the axis
    "relative_l2": "relative L2 error",
    "log_cosh": "log cosh of the error in Å",
    "inverse_log_cosh": "log cosh of the error of 100/distance",
    "nats": "nats per frame",
    "masked_bce": "cross entropy, nats per pixel",
}
TRANSFER_LINES = {
    "relative_l2": ("model on this grid", "-"),
    "control_upsample": ("model on the training grid, then interpolated", DASHED),
    "control_downsample": ("input interpolated to the training grid, result back", DOTTED),
}
ENERGIES = {
    "truth": dict(color=PALETTE[5], linewidth=4),
    "prediction": dict(color=PALETTE[1], linewidth=1.6),
    "error": dict(color=INK, linestyle=DASHED, linewidth=1.6),
}


@styled
def history(history: "pd.DataFrame | Mapping[str, pd.DataFrame]") -> "Figure":
    """Training and validation error by epoch, of one run or of several by name."""
    runs = history if isinstance(history, Mapping) else {"": history}
    figure = new_figure(6.4, 4.0)
    axes = with_rules(figure.subplots())
    values, kinds = [], {}
    (error,) = {c.split("_", 1)[1] for t in runs.values() for c in t if c.startswith("train_")}
    for number, table in enumerate(runs.values()):
        for split, (text, kind) in LEARNING_LINES.items():
            column = split + error
            if column in table:
                errors, kinds[text] = table[column].to_numpy(float), kind
                marker = "o" if len(errors) == 1 else None
                axes.plot(table["epoch"], errors, color=colour(number), ls=kind, marker=marker)
                values.append(errors)
    log_scale(axes, "y", np.concatenate(values))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel="epoch", ylabel=LEARNED.get(error, error))
    _legends(axes, runs, kinds, 2)
    return figure


@styled
def resolutions(transfer: "xr.Dataset | Mapping[str, xr.Dataset]") -> "Figure":
    """Error against resolution, the median of the samples and their quartiles, with both controls.

    transfer: of `sciops.transfer`, or several by name
    """
    runs = {"": transfer} if not _is_mapping(transfer) else transfer
    figure = new_figure(6.4, 4.6)
    axes = with_rules(figure.subplots())
    values = []
    for number, table in enumerate(runs.values()):
        for variable, (_, kind) in TRANSFER_LINES.items():
            if variable in table:
                main = variable == "relative_l2"
                values.append(_quartiles(axes, table[variable], colour(number), kind, main))
    log_scale(axes, "y", np.concatenate([v.ravel() for v in values]))
    grids = sorted({int(r) for table in runs.values() for r in table["resolution"].values})
    axes.set_xscale("log")
    axes.set_xticks(grids, [str(r) for r in grids])
    axes.minorticks_off()
    axes.set(xlabel="points along an axis", ylabel="relative L2 error")
    trained = {int(t.attrs["training_resolution"]) for t in runs.values() if _trained(t)}
    for resolution in trained:
        _mark(axes, resolution, "trained here")
    _legends(axes, runs, dict(TRANSFER_LINES.values()), 1)
    return figure


def _is_mapping(transfer) -> bool:
    """A Dataset is a Mapping too, of its variables."""
    return isinstance(transfer, Mapping) and not hasattr(transfer, "data_vars")


def _trained(table: "xr.Dataset") -> bool:
    return table.attrs.get("training_resolution") is not None


def _quartiles(axes: "Axes", errors: "xr.DataArray", tint: str, kind, main: bool) -> np.ndarray:
    """Draw the median, and for the main line the quartiles; returns what was drawn."""
    low, middle, high = np.quantile(errors.transpose("sample", "resolution"), [0.25, 0.5, 0.75], 0)
    x = errors["resolution"].values
    axes.plot(x, middle, color=tint, ls=kind, marker="o" if main else None, lw=2 if main else 1.5)
    if not main:
        return middle
    axes.fill_between(x, low, high, color=tint, alpha=0.18, linewidth=0)
    return np.stack([low, middle, high])


@styled
def spectra(energies: "xr.Dataset") -> "Figure":
    """Energy against wave number, with the highest wave number of the training grid.

    energies: of `spectra_of` (truth, prediction, error), or of `sciops.transfer`: the error on
              every grid, over the target on the finest
    """
    figure = new_figure(6.4, 4.2)
    axes = with_rules(figure.subplots())
    lines = _transfer_lines(energies) if "error_spectrum" in energies else _test_lines(energies)
    wave_numbers = energies["wavenumber"].values
    seen = wave_numbers > 0
    for label, values, look in lines:
        axes.plot(wave_numbers[seen], values[seen], label=label, **look)
    log_scale(axes, "y", np.concatenate([values[seen] for _, values, _ in lines]), powers=True)
    log_scale(axes, "x", wave_numbers)
    axes.set(xlabel="wave number (waves per longest axis)", ylabel="energy, mean over samples")
    if (limit := energies.attrs.get("training_nyquist")) is not None:
        _mark(axes, limit, "finest wave of the\ntraining grid")
    axes.legend(loc="lower left")
    return figure


def _test_lines(energies: "xr.Dataset") -> list[tuple]:
    return [(name, energies[name].values, look) for name, look in ENERGIES.items()]


def _transfer_lines(transfer: "xr.Dataset") -> list[tuple]:
    """Grids from light to dark in the order of their resolution."""
    from matplotlib import colormaps

    transfer = transfer.sortby("resolution")
    grids = transfer["resolution"].values
    shades = colormaps["viridis"](np.linspace(0.8, 0.25, len(grids)))
    lines = [
        (f"error, {grid} points", spectrum, dict(color=shade, linewidth=1.6))
        for grid, spectrum, shade in zip(
            grids, transfer["error_spectrum"].values, shades, strict=True
        )
        if np.isfinite(spectrum).any()  # or the model does not run on this grid
    ]
    if "target_spectrum" in transfer:
        finest = transfer["target_spectrum"].values[-1]
        lines.insert(0, (f"target, {grids[-1]} points", finest, ENERGIES["truth"]))
    return lines


@styled
def comparison(table: "pd.DataFrame") -> "Figure":
    """Errors of several operators, every seed with the mean and the range, and seconds of training.

    table: of `sciops.compare`, a row for each operator
    """
    seeds = [column for column in table if str(column).startswith("seed_")]
    if not seeds or "train_seconds" not in table:
        raise ValueError(
            "the table should be that of sciops.compare, with the columns seed_0, … and "
            f"train_seconds; it has {', '.join(map(str, table))}"
        )
    table = table.sort_values("mean", ascending=False, na_position="first")  # upwards
    panels = {"relative L2 error": seeds, "seconds of training, mean": ["train_seconds"]}
    figure = new_figure(10.8, 0.55 * len(table) + 1.3)
    for axes, (title, columns) in zip(
        figure.subplots(1, 2, sharey=True), panels.items(), strict=True
    ):
        values = table[columns].to_numpy(float)
        for height, row in enumerate(values):
            _dots(with_rules(axes, "x"), row, height, colour(len(table) - 1 - height))
        log_scale(axes, "x", values)
        axes.set(xlabel=title, ylim=(-0.6, len(table) - 0.4))
        axes.set_yticks(range(len(table)), [str(op) for op in table.index])
    return figure


def _dots(axes: "Axes", values: np.ndarray, height: int, tint: str) -> None:
    """All values, their range and their mean, with its number above; none if one is not finite."""
    mean = values.mean()
    axes.plot(values, [height] * len(values), "o", color=tint, alpha=0.7, markeredgewidth=0)
    if np.isfinite(mean):
        axes.plot([values.min(), values.max()], [height, height], color=tint, lw=2, alpha=0.5)
        axes.plot([mean], [height], "|", color=tint, markersize=18, markeredgewidth=2.5)
        place = dict(textcoords="offset points", ha="center", fontsize=10)
        axes.annotate(short(mean), (mean, height), (0, 11), **place)


def _mark(axes: "Axes", x: float, text: str) -> None:
    """An upright line through logarithmic axes, with words at its top where there is room."""
    axes.axvline(x, color=MUTED, linewidth=1, linestyle=DOTTED)
    left, right = axes.get_xlim()
    side = "left" if x * x < left * right else "right"
    axes.annotate(
        text,
        (x, 1),
        (4 if side == "left" else -4, -2),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha=side,
        va="top",
        color=MUTED,
        fontsize=9.5,
    )


def _legends(axes: "Axes", runs: Mapping, kinds: Mapping, columns: int) -> None:
    """Inside the axes the colours of the runs, if they have names; below the kinds of lines."""
    from matplotlib.lines import Line2D

    named = len(runs) > 1 or "" not in runs
    if named:
        names = enumerate(map(str, runs))
        axes.legend(handles=[Line2D([], [], color=colour(i), lw=3, label=n) for i, n in names])
    tint = MUTED if named else colour(0)
    lines = [Line2D([], [], color=tint, ls=kind, label=text) for text, kind in kinds.items()]
    axes.figure.legend(handles=lines, loc="outside lower center", ncols=columns)
