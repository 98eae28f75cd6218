"""Scores against the same metrics one sample at a time, on known errors, grids and failures."""

import numpy as np
import pytest
import torch
from torch import nn

from sciops.backbones import make_backbone
from sciops.data.samples import MemorySamples, task_of
from sciops.data.store import open_store, write
from sciops.evaluation.scores import BAND_EDGES, evaluate, geometry, predict
from sciops.metrics import METRICS, band_errors
from sciops.metrics.spectrum import radial_wave_numbers
from tests.grid_toy import Y_FIRST, Y_LENGTH, Power, Recorder, Where, closed_line, line, plane

EVERYWHERE = {"relative_l2", "relative_h1", "max_error", "max_absolute_error", "band_error"}


def small(ds, op="fno", **options):
    torch.manual_seed(0)
    data = MemorySamples(ds)
    options = dict(width=4, hidden=8, blocks=2, **options)
    return make_backbone(data.task, op, **options).fit(data.x, data.y)


def one_by_one(model, ds, task, coords=None):
    """Every score of every sample by itself, in double precision."""
    place = {key: geometry(task, ds)[key] for key in ("periodic", "lengths")}
    data, rows = MemorySamples(ds, task), []
    with torch.no_grad():
        for x, y in zip(data.x, data.y, strict=True):
            p = model.eval()(x[None]) if coords is None else model.eval()(x[None], coords)
            pair = p.double(), y[None].double()
            row = {name: METRICS[name](*pair) for name in ("relative_l2", "max_error")}
            row["max_absolute_error"] = METRICS["max_absolute_error"](*pair)
            row["relative_h1"] = METRICS["relative_h1"](*pair, **place)
            if not all(place["periodic"]):
                row["boundary_error"] = METRICS["boundary_error"](*pair, periodic=place["periodic"])
            row["band_error"] = band_errors(*pair, **place)
            highest = radial_wave_numbers(pair[1], **place).max()
            row["band_error"][:, [edge > highest for edge in (0, *BAND_EDGES)]] = np.nan
            rows.append({name: value[0].numpy() for name, value in row.items()})
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.parametrize(
    ("training", "ds"),
    [
        (line(16), line(16, samples=7)),
        (line(16), line(21)),
        (closed_line(9), closed_line(14)),
        (plane(16, 9), plane(12, 10)),
        (plane(16, 9, frames=4), plane(11, 9, samples=3, frames=4)),
    ],
    ids=["line", "finer", "closed", "plane", "frames"],
)
def test_scores_are_those_of_each_sample(training, ds):
    model, task = small(training), task_of(training)
    table = evaluate(model, ds, task, batch_size=2)
    expected = one_by_one(model, ds, task)
    assert set(table.data_vars) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(table[name].values, values, rtol=1e-4, atol=1e-8)
        assert table[name].dtype == np.float64
        assert table[name].dims == ("sample", "band")[: values.ndim]
    np.testing.assert_array_equal(table["sample"], ds["sample"])


def test_a_known_error():
    ds = plane()
    table = evaluate(Power(2, 1.1), ds, task_of(ds))
    for name in ("relative_l2", "relative_h1", "max_error", "boundary_error"):
        np.testing.assert_allclose(table[name], 0.1, rtol=1e-5)
    top = np.abs(ds["u"].values).max((1, 2))
    np.testing.assert_allclose(table["max_absolute_error"], 0.1 * top, rtol=1e-5)
    assert (table["band_error"].sel(band="low") > 0.09).all()
    total = np.sqrt((table["band_error"] ** 2).sum("band"))
    np.testing.assert_allclose(total, 0.1, rtol=1e-5)


@pytest.mark.parametrize(
    ("points", "last"), [(7, "low"), (8, "middle"), (16, "middle"), (24, "high")]
)
def test_bands_that_the_grid_does_not_reach_have_no_error(points, last):
    ds = line(points)
    errors = evaluate(Power(2, 1.1), ds, task_of(ds))["band_error"]
    reached = errors["band"].values[errors.notnull().all("sample")].tolist()
    assert reached[-1] == last and reached == ["low", "middle", "high"][: len(reached)]
    assert errors.sel(band=[b for b in errors["band"].values if b not in reached]).isnull().all()


def test_labels():
    ds = plane()
    table = evaluate(Power(), ds, task_of(ds))
    assert set(table.data_vars) == EVERYWHERE | {"boundary_error"}
    assert table["max_absolute_error"].attrs == {"long_name": "largest error", "units": "m/s"}
    assert {table[name].attrs["units"] for name in EVERYWHERE - {"max_absolute_error"}} == {"1"}
    assert table["band"].values.tolist() == ["low", "middle", "high"]
    assert "low: κ < 4" in table["band"].attrs["long_name"]
    assert table.attrs == {"task": "toy", "nonfinite_predictions": 0}


def test_without_ends_there_is_no_boundary():
    assert set(evaluate(Power(), line(), task_of(line())).data_vars) == EVERYWHERE


def test_uneven_points_have_no_derivatives_and_no_bands():
    ds = closed_line(points=Y_FIRST + Y_LENGTH * np.linspace(0, 1, 9) ** 2)
    table = evaluate(Power(1, 1.1), ds, task_of(closed_line(9)))
    assert set(table.data_vars) == {"boundary_error"} | EVERYWHERE - {"relative_h1", "band_error"}
    np.testing.assert_allclose(table["relative_l2"], 0.1, rtol=1e-5)


def test_the_model_is_told_where_the_points_are():
    training = closed_line(9)
    task, y = task_of(training), Y_FIRST + Y_LENGTH * np.linspace(0.25, 0.75, 11)
    ds = closed_line(points=y)
    ds["u"] = ds["u"] * 0 + ((ds["y"] - Y_FIRST) / Y_LENGTH).astype("float32")
    assert float(evaluate(Where(task), ds, task)["max_error"].max()) < 1e-6
    shrunk = evaluate(Where(task), ds.assign_coords(y=Y_FIRST + 0.1 * (y - y[0])), task)
    assert float(shrunk["max_error"].min()) > 0.1


def test_coordinates_reach_an_operator():
    """A part of the grid, and of the training domain: as if the model were called with both."""
    training = plane(16, 9)
    ds, task = plane(16, 9).isel(y=slice(1, 8)), task_of(training)
    model = small(training, "xd", frequencies=4, taps=3)
    coords = geometry(task, ds)["coords"]
    expected = one_by_one(model, ds, task, coords)
    table = evaluate(model, ds, task)
    np.testing.assert_allclose(table["relative_l2"], expected["relative_l2"], rtol=1e-4)
    without = one_by_one(model, ds, task)["relative_l2"]
    assert np.abs(without / expected["relative_l2"] - 1).max() > 3e-4


class Broken(nn.Module):
    """Not finite for the second and the last sample."""

    def forward(self, x):
        y = x**2
        y[x[:, 0, 0] == BAD[0]] = torch.nan
        y[x[:, 0, 0] == BAD[1], :, 3] = torch.inf
        return y


BAD = [float(line()["a"][i, 0]) for i in (1, 4)]


def test_predictions_that_are_not_finite_are_counted():
    table = evaluate(Broken(), line(24), task_of(line(24)), batch_size=2)
    assert table.attrs["nonfinite_predictions"] == 2
    for values in table.data_vars.values():
        lost = np.isnan(values.values.reshape(5, -1))
        assert lost[[1, 4]].all() and not lost[[0, 2, 3]].any()


def test_an_infinite_point_inside_counts_for_the_boundary_too():
    class Peak(nn.Module):
        def forward(self, x):
            return x.index_fill(2, torch.tensor([4]), torch.inf)

    table = evaluate(Peak(), closed_line(), task_of(closed_line()))
    assert np.isnan(table["boundary_error"]).all()


def test_a_fixed_operator_says_so():
    training = line(16)
    model = small(training, "xd-grid", taps=3)
    assert np.isfinite(evaluate(model, training, task_of(training))["relative_l2"]).all()
    with pytest.raises(ValueError, match=r"built for size=\(16,\).*\(20,\)"):
        evaluate(model, line(20), task_of(training))


@pytest.mark.parametrize(
    ("ds", "message"),
    [
        (line().drop_vars("u"), "lack u"),
        (line().where(line()["sample"] != 42), "'a' has NaN or infinite values in the samples 42"),
        (line(16).isel(x=slice(0, 9)), "whole period"),
    ],
)
def test_bad_data_are_errors(ds, message):
    with pytest.raises(ValueError, match=message):
        evaluate(Power(), ds, task_of(line()))


@pytest.mark.parametrize("batch_size", [0, -1])
def test_batches_need_samples(batch_size):
    with pytest.raises(ValueError, match=r"batch_size=.* must be at least 1"):
        evaluate(Power(), line(), task_of(line()), batch_size=batch_size)
    with pytest.raises(ValueError, match=r"batch_size=.* must be at least 1"):
        predict(Power(), torch.ones(1, 1, 4), batch_size=batch_size)


def test_data_are_read_a_batch_at_a_time(tmp_path):
    ds = line(16, samples=7)
    write(tmp_path / "line.zarr", {"test": ds}, chunk_samples=3)
    stored = open_store(tmp_path / "line.zarr")["test"].to_dataset()
    model = Recorder(Power(2, 1.1))
    table = evaluate(model, stored, task_of(ds), batch_size=3)
    assert [len(x) for x, *_ in model.calls] == [3, 3, 1]
    assert not stored["a"].variable._in_memory  # the data set keeps nothing
    assert table.equals(evaluate(Power(2, 1.1), ds, task_of(ds), batch_size=100))


def test_finer_grids_come_in_smaller_batches():
    model = Recorder(Power())
    evaluate(model, line(32, samples=5), task_of(line(16)), batch_size=4)
    assert [len(x) for x, *_ in model.calls] == [2, 2, 1]


# --- predict --------------------------------------------------------------------------------------


def test_predict_joins_its_batches():
    x = torch.randn(7, 1, 16)
    model = small(line())
    with torch.no_grad():
        expected = model.eval()(x)
    torch.testing.assert_close(predict(model, x, batch_size=3), expected)
    calls = Recorder(model)
    predict(calls, x, batch_size=3)
    assert [len(part) for part, *_ in calls.calls] == [3, 3, 1]


@pytest.mark.parametrize("fails", [False, True])
def test_every_module_gets_its_mode_back(fails):
    frozen = nn.BatchNorm1d(1).eval()
    inner = Recorder(nn.Sequential(frozen, nn.Dropout(0.5), nn.Identity()))
    if fails:
        inner.model[2] = nn.Linear(3, 3)
    inner.train()
    frozen.eval()
    if fails:
        with pytest.raises(RuntimeError):
            predict(inner, torch.ones(2, 1, 4))
    else:
        assert torch.isfinite(predict(inner, torch.ones(2, 1, 4))).all()
    ((_, _, training, gradients),) = inner.calls
    assert (training, gradients) == (False, False)
    assert inner.training and inner.model[1].training and not frozen.training
    assert torch.is_grad_enabled()


def test_folded_matrices_are_kept_between_batches():
    """An XD layer folds once in evaluation mode; every batch would cost as much again."""
    model = small(line(), "xd", frequencies=4, taps=3).eval()
    operator = model.model.blocks[0].operator
    folded = []
    prepare = operator.frame.prepare
    operator.frame.prepare = lambda *parts: folded.append(1) or prepare(*parts)
    evaluate(model, line(samples=6), task_of(line()), batch_size=2)
    assert len(folded) == 1
    evaluate(model.train(), line(samples=6), task_of(line()), batch_size=2)
    assert len(folded) == 2
    assert operator._cache is None  # nothing stale or large is kept in training
