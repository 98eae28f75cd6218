"""The figure shows the numbers of the table, and is drawn whatever is missing from it."""

import io

import numpy as np
import pytest
import xarray as xr

from sciops.plots.rollout import rollout_figure


def table(*, steps: int = 8, known: int = 5) -> xr.Dataset:
    """Errors of 0.1·sample·frame; sample 3 blows up at time 6."""
    sample, frame = np.arange(1, 5), np.arange(1.0, steps + 1)
    errors = np.where(frame <= known, 0.1 * sample[:, None] * frame, np.nan)
    energy = np.ones((4, 2, steps)) * frame
    energy[:, 0, known:] = np.nan
    spectrum = np.ones((2, steps, 6)) * 10.0 ** -np.arange(6)
    spectrum[0, known:] = np.nan
    data = {
        "relative_l2": (("sample", "time"), errors),
        "stability_horizon": ("sample", [2.0 + 4, 2.0 + 2, 2.0 + 1, 2.0 + 1]),
        "blow_up": ("sample", [np.nan, np.nan, np.nan, 8.0]),
        "energy": (("sample", "source", "time"), energy),
        "enstrophy": (("sample", "source", "time"), 2 * energy),
        "spectrum": (("source", "time", "wavenumber"), spectrum),
    }
    coords = {"sample": sample, "source": ["truth", "prediction"], "wavenumber": np.arange(6)}
    coords["time"] = ("time", 2 + frame, {"units": "s"})
    return xr.Dataset(data, coords, dict(last_given_time=2.0, threshold=0.5, task="flow"))


def line(axes, label: str):
    (found,) = (drawn for drawn in axes.lines if str(drawn.get_label()).startswith(label))
    return found.get_xdata(), found.get_ydata()


def test_panels_show_the_table():
    error, horizon, spectra, energy = rollout_figure(table()).axes
    time, median = line(error, "median")
    np.testing.assert_allclose(time, [3, 4, 5, 6, 7])
    np.testing.assert_allclose(median, 0.25 * np.arange(1, 6))
    time, good = line(horizon, "error below 0.5")
    np.testing.assert_allclose(time, [2, 3, 4, 5, 6, 7])
    np.testing.assert_allclose(good, [1, 1, 0.5, 0.25, 0.25, 0])
    time, bounded = line(horizon, "have not")
    np.testing.assert_allclose(bounded, [1, 1, 1, 1, 1, 1, 0.75, 0.75, 0.75])
    assert any("median horizon 3.5" in text.get_text() for text in horizon.get_legend().get_texts())
    assert error.get_xlabel() == "time (s)"
    labels = [text.get_text() for text in spectra.get_legend().get_texts()]
    assert labels == ["truth", "prediction", "t = 3", "t = 5", "t = 7", "t = 10"]
    np.testing.assert_allclose(line(energy, "enstrophy, prediction")[1], np.arange(1, 9))


def test_a_horizon_beyond_the_data_is_a_bound():
    ds = table()
    ds["stability_horizon"][:3] = 7.0
    texts = [text.get_text() for text in rollout_figure(ds).axes[1].get_legend().get_texts()]
    assert "median horizon ≥ 7" in texts


def nothing_known(ds: xr.Dataset) -> xr.Dataset:
    ds["relative_l2"][:] = np.nan
    ds["stability_horizon"][:] = np.nan
    for name in ("energy", "enstrophy", "spectrum"):
        ds[name].loc[dict(source="truth")] = np.nan
    return ds


def all_lost(ds: xr.Dataset) -> xr.Dataset:
    ds["relative_l2"][:] = np.nan
    ds["stability_horizon"][:] = 2.0
    for name in ("energy", "enstrophy", "spectrum"):
        ds[name].loc[dict(source="prediction")] = np.nan
    return ds


@pytest.mark.parametrize(
    ("change", "panels"),
    [
        (nothing_known, 4),
        (all_lost, 4),
        (lambda ds: ds.isel(time=slice(1)), 4),
        (lambda ds: ds.isel(sample=[0]), 4),
        (lambda ds: ds.drop_vars("enstrophy"), 4),
        (lambda ds: ds.drop_vars(["energy", "enstrophy", "spectrum"]), 2),
    ],
)
def test_it_is_drawn_whatever_is_missing(change, panels):
    assert len(rollout_figure(change(table())).axes) == panels


@pytest.mark.parametrize("change", [lambda ds: ds, lambda ds: nothing_known(all_lost(ds))])
def test_it_becomes_a_picture(change):
    picture = io.BytesIO()
    rollout_figure(change(table())).savefig(picture, format="png", dpi=30)
    assert picture.getvalue().startswith(b"\x89PNG")
