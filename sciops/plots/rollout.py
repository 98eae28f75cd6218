"""A roll-out in four panels: error, horizon, spectra, and energy in time."""

from typing import TYPE_CHECKING

import numpy as np

from .style import INK, MUTED, PAPER, colour, label_of, log_scale, new_figure, styled, with_rules

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = {"truth": "-", "prediction": (0, (4, 1.6))}  # dashes


@styled
def rollout_figure(ds: "xr.Dataset") -> "Figure":
    """What `sciops.evaluation.rollout` found, as a figure for a talk.

    Error per step (median, middle half, all samples), the share of samples whose forecast
    is still good, energy spectra at a few times and the energy in time, truth against prediction.
    """
    panels = [_error, _horizon] + [_spectra, _energy] * ("spectrum" in ds)
    figure = new_figure(11, 3.9 * (len(panels) // 2))
    axes = figure.subplots(len(panels) // 2, 2).flatten()
    for draw, panel in zip(panels, axes, strict=True):
        draw(panel, ds)
    return figure


def _error(axes: "Axes", ds: "xr.Dataset") -> None:
    axes.set_title("Error of the forecast")
    _along_time(axes, ds)
    errors = ds["relative_l2"].dropna("time", how="all")
    if not errors.size:
        note = "no truth to compare with, or no finite prediction"
        axes.text(0.5, 0.5, note, color=MUTED, ha="center", transform=axes.transAxes)
        axes.set_yticks([])
        return
    time, threshold = errors["time"].values, ds.attrs["threshold"]
    low, lower, median, upper, high = errors.quantile([0, 0.25, 0.5, 0.75, 1], "sample").values
    axes.fill_between(time, low, high, color=colour(0), alpha=0.12, lw=0, label="all samples")
    axes.fill_between(time, lower, upper, color=colour(0), alpha=0.3, lw=0, label="middle half")
    axes.plot(time, median, color=colour(0), label="median")
    axes.axhline(threshold, color=MUTED, lw=1.2, ls=":", label=f"threshold {threshold:g}")
    log_scale(axes, "y", np.append([low, high], threshold))
    axes.set_ylabel("relative L2 error")
    axes.legend(loc="best", frameon=True, facecolor=PAPER, edgecolor="none")


def _horizon(axes: "Axes", ds: "xr.Dataset") -> None:
    axes.set_title("Samples that are still well forecast")
    time = np.insert(ds["time"].values, 0, ds.attrs["last_given_time"])
    end = _end_of_truth(ds)
    known, horizon = time[time <= end], ds["stability_horizon"].values
    good = [(horizon >= t).mean() for t in known]
    bounded = [1 - (ds["blow_up"].values <= t).mean() for t in time]
    axes.plot(time, bounded, color=MUTED, ls=DRAWN["prediction"], label="have not blown up")
    if len(known) > 1:
        label = f"error below {ds.attrs['threshold']:g} so far"
        axes.plot(known, good, color=colour(2), label=label)
        median = np.median(horizon)
        sign = "≥ " if median >= end else ""
        axes.plot([], [], " ", label=f"median horizon {sign}{median:g}")
    axes.set(ylim=(-0.04, 1.08), ylabel="share of samples")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.legend(loc="best")
    _along_time(axes, ds)


def _spectra(axes: "Axes", ds: "xr.Dataset") -> None:
    axes.set_title("Energy at each wave number")
    spectrum = ds["spectrum"].isel(wavenumber=slice(1, None))  # the mean has no place on a log axis
    wavenumber, chosen = spectrum["wavenumber"].values, _some_times(ds)
    shown = spectrum.sel(time=chosen)
    for source, dashes in DRAWN.items():
        axes.plot([], [], color=INK, ls=dashes, label=source)
    for i, t in enumerate(chosen):
        axes.plot([], [], "s", color=colour(i), label=f"t = {t:g}")
        for source, dashes in DRAWN.items():
            energy = shown.sel(time=t, source=source)
            axes.plot(wavenumber, energy, color=colour(i), ls=dashes)
    log_scale(axes, "y", shown.values, powers=True)
    log_scale(axes, "x", wavenumber)
    axes.set(xlabel="wave number", ylabel="energy")
    axes.legend(loc="lower left")
    with_rules(axes)


def _some_times(ds: "xr.Dataset") -> np.ndarray:
    """The first, a middle and the last one with truth, and the last of all."""
    times = ds["time"].values
    known = times[times <= _end_of_truth(ds)]
    known = known if len(known) else times
    return np.unique([known[0], known[len(known) // 2], known[-1], times[-1]])


def _energy(axes: "Axes", ds: "xr.Dataset") -> None:
    axes.set_title("Energy in time, the mean of the samples")
    for i, name in enumerate(n for n in ("energy", "enstrophy") if n in ds):
        mean = ds[name].mean("sample")
        first = mean.isel(time=0).dropna("source")[:1].values  # the truth, if there is any
        for source, dashes in DRAWN.items():
            values = mean.sel(source=source).values / (first if len(first) else 1.0)
            axes.plot(ds["time"], values, color=colour(i), ls=dashes, label=f"{name}, {source}")
    axes.set_ylabel("relative to the first frame")
    axes.legend(loc="best")
    _along_time(axes, ds)


def _along_time(axes: "Axes", ds: "xr.Dataset") -> None:
    """The axis of time, the same in all panels, with the end of the data marked."""
    time, start, end = ds["time"].values, ds.attrs["last_given_time"], _end_of_truth(ds)
    room = 0.02 * (time[-1] - start)
    axes.set(xlim=(start - room, time[-1] + room), xlabel=label_of("time", ds["time"].attrs))
    if end < time[-1]:
        axes.axvline(end, color=MUTED, lw=1)
        place = axes.get_xaxis_transform()
        axes.text(end, 1.0, " end of the data", color=INK, fontsize=9, va="top", transform=place)
    with_rules(axes)


def _end_of_truth(ds: "xr.Dataset") -> float:
    """The last time with truth; that of the last frame given if there is none."""
    known = ds["energy"].sel(source="truth") if "energy" in ds else ds["relative_l2"]
    times = known["time"].values[known.notnull().any("sample").values]
    return float(times[-1]) if len(times) else ds.attrs["last_given_time"]
