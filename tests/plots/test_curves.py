"""Curves are the medians, quartiles and energies of the tables they are drawn from."""

import io

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_hex

from sciops.data.samples import task_of
from sciops.metrics import energy_spectrum
from sciops.plots import comparison, history, resolutions, spectra, spectra_of
from sciops.plots.style import colour, log_scale, new_figure
from tests.plots.toy import Copy, data, transfer


def learned(epochs: int = 4, factor: float = 1.0) -> pd.DataFrame:
    errors = factor * 0.5 ** np.arange(epochs)
    return pd.DataFrame(
        {
            "epoch": np.arange(1, epochs + 1),
            "train_relative_l2": errors,
            "val_relative_l2": 2 * errors,
            "seconds": 1.0,
        }
    )


def line_of(axes, values):
    """The one line of these values."""
    (found,) = [
        line
        for line in axes.lines
        if len(line.get_ydata()) == len(values)
        and np.allclose(line.get_ydata(), values, equal_nan=True)
    ]
    return found


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_history_has_both_errors_on_a_logarithmic_axis():
    table = learned()
    (axes,) = history(table).axes
    validation, training = axes.lines
    np.testing.assert_array_equal(validation.get_ydata(), table["val_relative_l2"])
    np.testing.assert_array_equal(training.get_ydata(), table["train_relative_l2"])
    assert validation.get_linestyle() == "-" != training.get_linestyle()
    assert axes.get_yscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epoch", "relative L2 error")


def test_histories_of_several_runs_have_their_colours():
    figure = history({"xd": learned(), "fno": learned(2, 3.0).drop(columns="val_relative_l2")})
    (axes,) = figure.axes
    assert [to_hex(line.get_color()) for line in axes.lines] == [colour(0), colour(0), colour(1)]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["xd", "fno"]
    figure.savefig(io.BytesIO(), dpi=20)


def test_one_epoch_is_a_dot():
    (axes,) = history(learned(1)).axes
    assert {line.get_marker() for line in axes.lines} == {"o"}


def test_resolutions_show_the_median_with_quartiles_and_controls():
    table = transfer()
    (axes,) = resolutions(table).axes
    for name in ("relative_l2", "control_upsample", "control_downsample"):
        line = line_of(axes, [np.sort(row)[2] for row in table[name].values])  # of five samples
        np.testing.assert_array_equal(line.get_xdata(), [8, 16, 32])
    (band,) = axes.collections
    drawn = band.get_paths()[0].vertices
    for resolution, row in zip((8, 16, 32), table["relative_l2"].values, strict=True):
        at = drawn[drawn[:, 0] == resolution][:, 1]
        np.testing.assert_allclose([at.min(), at.max()], np.sort(row)[[1, 3]])


def test_resolutions_mark_the_training_grid():
    (axes,) = resolutions(transfer()).axes
    assert texts(axes) == ["trained here"]
    assert [16, 16] in [list(line.get_xdata()) for line in axes.lines]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["8", "16", "32"]


def test_a_grid_that_was_refused_is_a_gap():
    table = transfer()
    table["relative_l2"][2] = np.nan
    figure = resolutions({"xd-grid": table, "xd": transfer()})
    figure.savefig(io.BytesIO(), dpi=20)
    (axes,) = figure.axes
    middle = [*np.median(table["relative_l2"].values[:2], 1), np.nan]
    assert to_hex(line_of(axes, middle).get_color()) == colour(0)
    assert np.isfinite(axes.get_ylim()).all()


def test_spectra_of_truth_prediction_and_error():
    ds = data({"x": 16, "y": 12}, n=3)
    energies = spectra_of(Copy(), ds, task_of(ds))
    x, y = (torch.tensor(ds[name].values).double()[:, None] for name in "au")
    prediction = 0.9 * x + 0.1
    for name, field in (("truth", y), ("prediction", prediction), ("error", prediction - y)):
        expected = energy_spectrum(field, periodic=(True, True)).mean((0, 1))
        np.testing.assert_allclose(energies[name], expected, rtol=1e-5)
    assert energies.attrs["training_nyquist"] == 6
    (axes,) = spectra(energies).axes
    for name in ("truth", "prediction", "error"):
        line = line_of(axes, energies[name].values[1:])
        np.testing.assert_array_equal(line.get_xdata(), energies["wavenumber"].values[1:])
    assert [6, 6] in [list(line.get_xdata()) for line in axes.lines]
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_axes_of_unequal_length_count_waves_of_the_longest():
    ds = data({"x": 16, "y": 12})
    ds = ds.assign_coords(x=4 * ds["x"])
    assert spectra_of(Copy(), ds, task_of(ds)).attrs["training_nyquist"] == 8  # x: 8, y: 6 · 4


def test_uneven_points_have_no_spectrum():
    ds = data({"x": 8}, periodic=False)
    ds = ds.assign_coords(x=ds["x"].values ** 2)
    with pytest.raises(ValueError, match="needs evenly spaced points"):
        spectra_of(Copy(), ds, task_of(ds))


def test_spectra_of_a_transfer_have_a_line_for_each_grid_and_the_target():
    table = transfer()
    figure = spectra(table)
    figure.savefig(io.BytesIO(), dpi=20)
    (axes,) = figure.axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    grids = [f"error, {n} points" for n in (8, 16, 32)]
    assert labels == ["target, 32 points", *grids]
    by_label = {line.get_label(): line.get_ydata() for line in axes.lines}
    for label, spectrum in zip(grids, table["error_spectrum"].values, strict=True):
        np.testing.assert_array_equal(by_label[label], spectrum[1:])


def test_a_refused_grid_has_no_entry_in_the_legend_of_spectra():
    table = transfer()
    table["error_spectrum"][2] = np.nan
    (axes,) = spectra(table).axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["target, 32 points", "error, 8 points", "error, 16 points"]


def compared() -> pd.DataFrame:
    errors = pd.DataFrame(
        {"seed_0": [0.04, 0.01], "seed_1": [0.06, 0.03]}, index=pd.Index(["fno", "xd"], name="op")
    )
    return errors.assign(mean=errors.mean(axis=1, skipna=False), train_seconds=[10.0, 30.0])


def test_comparison_has_the_best_on_top_and_every_seed():
    figure = comparison(compared().iloc[::-1])
    figure.savefig(io.BytesIO(), dpi=20)
    errors, seconds = figure.axes
    assert [label.get_text() for label in errors.get_yticklabels()] == ["fno", "xd"]  # upwards
    assert texts(errors) == ["0.0500", "0.0200"]
    assert texts(seconds) == ["10.0", "30.0"]
    dots = [line.get_xdata() for line in errors.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(dots, [[0.04, 0.06], [0.01, 0.03]])


def test_an_operator_that_failed_is_at_the_bottom_without_a_mean():
    table = compared()
    table.loc["xd", ["seed_1", "mean"]] = np.nan
    errors, _ = comparison(table).axes
    assert [label.get_text() for label in errors.get_yticklabels()] == ["xd", "fno"]
    assert texts(errors) == ["0.0500"]


def test_another_table_is_refused():
    with pytest.raises(ValueError, match=r"should be that of sciops.compare.* it has error"):
        comparison(pd.DataFrame({"error": [1.0]}))


@pytest.mark.parametrize(
    "values", [[0.02], [0.02, 0.021], [1e-9, 3.0], [0.0, 0.5], [np.nan], [np.nan, 0.3]]
)
def test_logarithmic_axes_have_ticks_whatever_the_values(values):
    axes = new_figure(4, 3).subplots()
    log_scale(axes, "y", np.array(values))
    low, high = axes.get_ylim()
    ticks = [t for t in axes.yaxis.get_major_locator()() if low <= t <= high]
    assert high >= 3.99 * low
    assert 2 <= len(ticks) <= 14
