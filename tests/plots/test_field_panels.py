"""Fields show what they say: the numbers, the colours, the words, for every kind of data."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from sciops.data.samples import task_of
from sciops.plots import fields
from sciops.plots.field_panels import FINEST
from sciops.plots.style import ERROR_MAP, FIELD_MAP, INPUT_MAP
from tests.plots.toy import Copy, data


def drawn(ds, samples=(0,), channels=1):
    """A figure and its axes, without colour bars."""
    figure = fields(Copy(channels), ds, task_of(ds), samples)
    return figure, [
        axes for axes in figure.axes if axes.axison and axes.get_label() != "inset_axes"
    ]


def images(axes_list):
    return [axes.images[0] for axes in axes_list if axes.images]


def expected(ds, sample=0):
    return 0.9 * ds["a"].values[sample] + 0.1


def test_images_are_the_numbers_with_x_to_the_right():
    ds = data({"x": 6, "y": 4})
    _, panels = drawn(ds, [1])
    a, u = ds["a"].values[1], ds["u"].values[1]
    found = [image.get_array() for image in images(panels)]
    for image, values in zip(found, (a, u, expected(ds, 1), expected(ds, 1) - u), strict=True):
        np.testing.assert_allclose(image, values.T, atol=1e-6)
    assert images(panels)[0].origin == "lower"
    np.testing.assert_allclose(images(panels)[0].get_extent(), [-1 / 12, 11 / 12, -1 / 8, 7 / 8])
    assert (panels[0].get_xlabel(), panels[0].get_ylabel()) == ("x", "y")


def test_truth_and_prediction_share_their_colours_and_errors_are_symmetric():
    ds = data({"x": 6, "y": 4})
    first, truth, prediction, error = images(drawn(ds)[1])
    both = np.stack([ds["u"].values[0], expected(ds)])
    assert truth.get_clim() == prediction.get_clim()
    np.testing.assert_allclose(truth.get_clim(), (both.min(), both.max()), rtol=1e-6)
    largest = np.abs(expected(ds) - ds["u"].values[0]).max()
    np.testing.assert_allclose(error.get_clim(), (-largest, largest), rtol=1e-6)
    maps = [image.get_cmap().name for image in (first, truth, prediction, error)]
    assert maps == [INPUT_MAP, FIELD_MAP, FIELD_MAP, ERROR_MAP]


@pytest.mark.parametrize(
    "ds",
    [data({"x": 6, "y": 4}, periodic=False), data({"x": 8}, frames=(1, 2))],
    ids=["images", "lines"],
)
def test_all_is_laid_out_without_a_warning(ds):
    ds = ds.rename(a="cost in $, $ and $") if "a" in ds else ds
    ds.attrs["inputs"][0]["variable"] = next(iter(ds.data_vars))
    figure, _ = drawn(ds, channels=task_of(ds).out_channels)
    figure.savefig(io.BytesIO(), dpi=20)


def test_names_and_units_are_written():
    ds = data({"x": 6, "y": 4})
    ds["a"].attrs.update(long_name="price ($ per $)", units="€")
    ds["x"].attrs.update(units="km")
    figure, panels = drawn(ds, {"Best sample": 2})
    titles = [axes.get_title() for axes in panels]
    assert titles == ["Input: price ($ per $) (€)", "Truth: u", "Prediction", "Prediction − truth"]
    assert panels[0].get_xlabel() == "x (km)"
    error = np.linalg.norm(expected(ds, 2) - ds["u"].values[2]) / np.linalg.norm(ds["u"].values[2])
    assert figure.subfigs[0].get_suptitle() == f"Best sample: relative L2 error {error:.2f}"


def test_lines_of_one_axis():
    ds = data({"x": 16})
    _, panels = drawn(ds, [0, 2])
    assert len(panels) == 6
    given, field, error = panels[3:]
    truth, prediction = (line.get_ydata() for line in field.lines)
    np.testing.assert_array_equal(given.lines[0].get_ydata(), ds["a"].values[2])
    np.testing.assert_array_equal(truth, ds["u"].values[2])
    np.testing.assert_allclose(prediction, expected(ds, 2), atol=1e-6)
    np.testing.assert_allclose(error.lines[-1].get_ydata(), prediction - truth, atol=1e-6)


def test_a_forecast_is_shown_at_some_times_the_last_among_them():
    ds = data({"x": 6, "y": 4}, frames=(2, 8))
    ds["w"].values[:, 1, 0, 0] = 9.0  # nothing later is as high
    _, panels = drawn(ds, channels=8)
    space = "\N{NO-BREAK SPACE}"
    titles = [axes.get_title().replace(space, " ").replace("\n", " ") for axes in panels]
    times = ["w, t = 1 s", "w, t = 2 s", "w, t = 3.5 s", "w, t = 4.5 s"]
    assert [t for t in titles if t] == ["Input: w, t = 0.5 s", *times]
    last = images(panels)[4]
    np.testing.assert_array_equal(last.get_array(), ds["w"].values[0, 9].T)
    clims = {image.get_clim() for image in images(panels)}
    assert len(clims) == 2  # one of the fields, the input too, and one of the errors
    assert max(high for _, high in clims) == 9.0


def test_a_forecast_of_lines():
    _, panels = drawn(data({"x": 8}, frames=(2, 3)), channels=3)
    assert len(panels) == 1 + 2 * 3


def test_of_three_axes_the_middle_is_shown():
    ds = data({"x": 5, "y": 4, "z": 3})
    figure, panels = drawn(ds)
    np.testing.assert_array_equal(images(panels)[1].get_array(), ds["u"].values[0, 2].T)
    assert (panels[0].get_xlabel(), panels[0].get_ylabel()) == ("y", "z")
    assert figure.subfigs[0].get_suptitle().endswith(", at x = 0.4")


def test_points_that_are_not_evenly_spaced_are_drawn_where_they_are():
    ds = data({"x": 6, "y": 5}, periodic=False)
    ds = ds.assign_coords(y=ds["y"].values ** 2)
    _, panels = drawn(ds)
    mesh = panels[1].collections[0]
    np.testing.assert_allclose(mesh.get_array(), ds["u"].values[0].T)


def test_fine_grids_are_thinned():
    ds = data({"x": FINEST + 2, "y": FINEST})
    image = images(drawn(ds)[1])[1]
    np.testing.assert_array_equal(image.get_array(), ds["u"].values[0, ::2].T)


def test_two_inputs_and_two_targets():
    ds = data({"x": 6, "y": 4}).assign(b=lambda ds: 2 * ds["a"], v=lambda ds: 3 * ds["u"])
    for role, names in (("inputs", "ab"), ("targets", "uv")):
        ds.attrs[role] = [{"variable": name, "frames": None} for name in names]
    _, panels = drawn(ds, channels=2)
    assert len(images(panels)) == 2 + 2 * 3
    u, v = (image.get_clim() for image in images(panels)[2:4])
    assert u != v


@pytest.mark.parametrize("value", [0.0, np.inf])
def test_constants_and_infinities_are_drawn(value):
    ds = data({"x": 6, "y": 4})
    ds["a"].values[:] = 1.0

    class Odd(Copy):
        def forward(self, x, coords=None):
            return 0 * x + value if value else x

    clims = [image.get_clim() for image in images(fields(Odd(), ds, task_of(ds)).axes)]
    assert np.isfinite(clims).all()
    assert all(low < high for low, high in clims)


def test_of_a_run_the_median_and_the_worst_test_sample_are_shown():
    ds = data({"x": 16}, n=3)
    ds["a"].values[:] = ds["u"].values + np.array([0.1, 3.0, 0.5])[:, None]  # the error of each
    tree = xr.DataTree.from_dict({"test": ds})
    run = SimpleNamespace(model=Copy(), task=task_of(ds), data=tree)
    titles = [part.get_suptitle().split(":")[0] for part in fields(run).subfigs]
    assert titles == ["Median sample (no. 2)", "Worst sample (no. 1)"]
    (only,) = fields(run, samples=[0]).subfigs
    assert only.get_suptitle().startswith("Sample 0: ")


def test_one_number_is_one_sample():
    ds = data({"x": 6}, n=3)
    for sample in (1, np.int64(1)):
        figure, _ = drawn(ds, sample)
        (part,) = figure.subfigs
        assert part.get_suptitle().startswith("Sample 1: ")


def test_the_only_sample_is_shown_once():
    figure, _ = drawn(data({"x": 6}, n=1), None)
    (part,) = figure.subfigs
    assert part.get_suptitle().startswith("The only sample: ")


def test_a_model_alone_is_not_enough():
    with pytest.raises(ValueError, match=r"give fields\(model, ds, task\), or a Run"):
        fields(Copy())


@pytest.mark.parametrize("samples", [[3], [-4], []])
def test_samples_that_are_not_there_are_refused(samples):
    ds = data({"x": 8})
    with pytest.raises(ValueError, match="should be positions in the data, which have 3"):
        fields(Copy(), ds, task_of(ds), samples)


def test_nothing_global_is_left_behind():
    import matplotlib

    before = dict(matplotlib.rcParams)
    drawn(data({"x": 8}))
    assert dict(matplotlib.rcParams) == before
