"""Roll-outs of exactly known maps, whose errors are known at every time."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

import sciops
from sciops.backbones.forecasting import RollOut, continued, forecaster
from sciops.data.samples import task_of
from sciops.evaluation.rollout import rollout

HISTORY = 3


class Scale(nn.Module):
    """The last frame times a factor."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x[:, -1:]


class Shift(nn.Module):
    """The last frame, moved by some points along x."""

    def __init__(self, points: int):
        super().__init__()
        self.points = points

    def forward(self, x):
        return x[:, -1:].roll(self.points, 2)


class AllAtOnce(nn.Module):
    """Several frames of a step, as a 3-D model gives them."""

    def __init__(self, step: nn.Module, frames: int):
        super().__init__()
        self.step, self.frames = step, frames

    def forward(self, x):
        return continued(self.step, x, self.frames)


def labelled(w: np.ndarray, *, frames: int = 4, variable: str = "w") -> xr.Dataset:
    """Sequences (sample, time, x, y) on the unit torus; frames are half a time unit apart."""
    n, count, *size = w.shape
    coords = {"sample": 10 + np.arange(n), "time": 0.5 * np.arange(1, count + 1)}
    coords |= {name: np.arange(k) / k for name, k in zip("xy", size, strict=True)}
    attrs = {
        "name": "waves",
        "boundary_conditions": {"x": "periodic", "y": "periodic"},
        "inputs": [{"variable": variable, "frames": [0, HISTORY]}],
        "targets": [{"variable": variable, "frames": [HISTORY, HISTORY + frames]}],
    }
    ds = xr.Dataset({variable: (("sample", "time", "x", "y"), w)}, coords, attrs)
    ds["time"].attrs["units"] = "s"
    return ds


def wave(n: int = 2, count: int = HISTORY + 6, size: int = 16, *, decay: float = 1.0, speed=0):
    """Sines of different height, moving by `speed` points a frame and decaying."""
    x, t = np.arange(size) / size, np.arange(count)
    shape = np.sin(2 * np.pi * (x - speed * t[:, None] / size)) * decay ** t[:, None]
    heights = 1 + np.arange(n)
    w = heights[:, None, None, None] * shape[None, :, :, None] * np.ones(size)
    return w.astype("float32")


@pytest.mark.parametrize("make", [RollOut, AllAtOnce])
def test_error_of_a_wrong_decay_is_known_at_every_time(make):
    """The data have two frames more than the model gives at once."""
    ds = labelled(wave(decay=0.8))
    result = rollout(make(Scale(0.7), 4), ds, task_of(ds))
    steps = np.arange(1, 7)
    expected = np.tile(1 - (0.7 / 0.8) ** steps, (2, 1))
    np.testing.assert_allclose(result["relative_l2"], expected, rtol=1e-5)
    np.testing.assert_allclose(result["correlation"], 1.0, rtol=1e-5)
    assert result["relative_l2"].dims == ("sample", "time")
    assert result["sample"].values.tolist() == [10, 11]
    np.testing.assert_allclose(result["time"], 0.5 * (HISTORY + steps))
    assert result["time"].attrs["units"] == "s"
    assert result["blow_up"].isnull().all()
    assert result.attrs["last_given_time"] == 1.5


def test_horizon_ends_where_the_error_first_reaches_the_threshold():
    """1 − 0.7^k is 0.3, 0.51, …; the horizon is at the first frame, 0.5 after the last given."""
    ds = labelled(wave())
    model, task = RollOut(Scale(0.7), 4), task_of(ds)
    assert rollout(model, ds, task)["stability_horizon"].values.tolist() == [2.0, 2.0]
    one = rollout(model, ds, task, threshold=0.2)
    assert one["stability_horizon"].values.tolist() == [1.5, 1.5]
    assert one.attrs["threshold"] == 0.2
    good = rollout(RollOut(Scale(1.0), 4), ds, task)
    assert good["stability_horizon"].values.tolist() == [4.5, 4.5]


def test_wrong_speed_loses_correlation():
    """A sine moved by k·δ of its length too much: error 2|sin πkδ|, correlation cos 2πkδ."""
    ds = labelled(wave(speed=1))
    result = rollout(RollOut(Shift(2), 4), ds, task_of(ds))
    angle = 2 * np.pi * np.arange(1, 7) / 16
    np.testing.assert_allclose(result["relative_l2"][0], 2 * np.sin(angle / 2), rtol=1e-4)
    np.testing.assert_allclose(result["correlation"][1], np.cos(angle), atol=1e-5)


def test_it_goes_on_where_the_data_end():
    ds = labelled(wave(speed=1))
    result = rollout(RollOut(Shift(1), 4), ds, task_of(ds), steps=15)
    np.testing.assert_allclose(result["time"], 0.5 * (HISTORY + np.arange(1, 16)))
    np.testing.assert_allclose(result["relative_l2"][:, :6], 0, atol=1e-5)
    for name in ("relative_l2", "correlation"):
        assert result[name][:, 6:].isnull().all()
    truth, prediction = (
        result["energy"].sel(source="truth"),
        result["energy"].sel(source="prediction"),
    )
    assert truth[:, 6:].isnull().all()
    np.testing.assert_allclose(prediction, np.tile([[0.25], [1.0]], 15), rtol=1e-5)
    assert result["spectrum"].sel(source="truth")[6:].isnull().all()
    assert result["stability_horizon"].values.tolist() == [4.5, 4.5]


def test_fewer_frames_than_the_model_gives():
    ds = labelled(wave(decay=0.8))
    result = rollout(AllAtOnce(Scale(0.7), 4), ds, task_of(ds), steps=2)
    np.testing.assert_allclose(result["relative_l2"][0], [1 - 7 / 8, 1 - (7 / 8) ** 2], rtol=1e-5)


def test_no_truth_at_all():
    ds = labelled(wave())
    result = rollout(RollOut(Scale(1.0), 4), ds.isel(time=slice(HISTORY)), task_of(ds), steps=3)
    assert result["relative_l2"].shape == (2, 3)
    assert result["relative_l2"].isnull().all()
    assert result["stability_horizon"].isnull().all()
    np.testing.assert_allclose(result["time"], [2.0, 2.5, 3.0])


class GrowsFromTheSecondSample(nn.Module):
    """Sample 1 of the wave, twice as high as sample 0, triples at every step."""

    def forward(self, x):
        high = x[:, -1:].abs().amax((1, 2, 3), keepdim=True) > 1.5
        return torch.where(high, 3.0, 1.0) * x[:, -1:]


def test_blow_up_is_found_and_kept_out_of_the_energies():
    """3⁵ is the first power above 100."""
    ds = labelled(wave())
    result = rollout(RollOut(GrowsFromTheSecondSample(), 4), ds, task_of(ds), steps=90)
    assert np.isnan(result["blow_up"][0])
    assert result["blow_up"][1] == 1.5 + 0.5 * 5
    energy = result["energy"].sel(source="prediction")
    assert np.isfinite(energy[0]).all()
    assert np.isfinite(energy[1, :4]).all()
    assert energy[1, 4:].isnull().all()
    spectrum = result["spectrum"].sel(source="prediction")
    np.testing.assert_allclose(spectrum.sum("wavenumber")[4:], 0.25, rtol=1e-5)
    np.testing.assert_allclose(
        spectrum.sum("wavenumber", skipna=False)[:4], energy.mean("sample")[:4], rtol=1e-5
    )


def test_a_prediction_that_is_not_finite():
    class Lost(nn.Module):
        def forward(self, x):
            return torch.full_like(x[:, -1:], torch.nan)

    ds = labelled(wave())
    result = rollout(RollOut(Lost(), 4), ds, task_of(ds))
    assert result["relative_l2"].isnull().all()
    assert result["stability_horizon"].values.tolist() == [1.5, 1.5]
    assert result["blow_up"].values.tolist() == [2.0, 2.0]


def test_batches_modes_and_runs_do_not_matter():
    ds = labelled(wave(n=5, decay=0.8))
    model = RollOut(Scale(0.7), 4).train()
    whole = rollout(model, ds, task_of(ds))
    assert model.training
    xr.testing.assert_identical(rollout(model, ds, task_of(ds), batch_size=1), whole)
    run = SimpleNamespace(model=model, task=task_of(ds))
    xr.testing.assert_identical(rollout(run, ds), whole)


def test_a_moved_grid_reaches_the_model():
    seen = []

    class Looks(Scale):
        def forward(self, x, coords=None):
            seen.append(coords)
            return super().forward(x)

    ds = labelled(wave())
    task, moved = task_of(ds), ds.assign_coords(x=ds["x"] + 0.25)
    rollout(RollOut(Looks(1.0), 4), ds, task)
    assert seen == [None] * len(seen)
    seen.clear()
    rollout(RollOut(Looks(1.0), 4), moved, task)
    np.testing.assert_allclose(seen[0][0], np.arange(16) / 16 + 0.25)


@pytest.mark.parametrize("way", ["3d", "steps"])
def test_both_ways_on_a_flow(way):
    torch.manual_seed(0)
    made = dict(solver_resolution=16, steps=60, frames=15, duration=7.5, progress=False)
    ds = sciops.generate("navier_stokes", n=2, resolution=12, **made)
    ds.attrs["targets"] = [{"variable": "vorticity", "frames": [10, 13]}]
    task = task_of(ds)
    w = torch.from_numpy(ds["vorticity"].values)
    model = forecaster(task, "fno", way, width=4, frequencies=4, blocks=1, hidden=8)
    model.fit(w[:, :10], w[:, 10:13])
    result = rollout(model, ds, task, steps=8)
    assert result["relative_l2"].shape == (2, 8)
    assert np.isfinite(result["relative_l2"][:, :5]).all()
    assert result["enstrophy"].dims == ("sample", "source", "time")
    first = model.eval()(w[:, :10])
    error = torch.linalg.norm(first[:, 1] - w[:, 11], dim=(1, 2)) / torch.linalg.norm(
        w[:, 11], dim=(1, 2)
    )
    np.testing.assert_allclose(result["relative_l2"][:, 1], error.detach(), rtol=1e-4)
    again = model(torch.cat([w[:, 3:10], first], 1))  # the last ten of thirteen
    error = torch.linalg.norm(again[:, 0] - w[:, 13], dim=(1, 2)) / torch.linalg.norm(
        w[:, 13], dim=(1, 2)
    )
    np.testing.assert_allclose(result["relative_l2"][:, 3], error.detach(), rtol=1e-4)


def changed(ds: xr.Dataset, **attrs) -> xr.Dataset:
    return ds.assign_attrs(attrs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, ds, t: rollout(m, ds), r"give rollout\(model, ds, task\)"),
        (lambda m, ds, t: rollout(m, ds, t, steps=0), "steps=0 must be a whole number ≥ 1"),
        (lambda m, ds, t: rollout(m, ds, t, steps=2.5), "steps=2.5 must be a whole number"),
        (lambda m, ds, t: rollout(m, ds.isel(time=slice(3)), t), "steps=0.*0 frames after the 3"),
        (lambda m, ds, t: rollout(m, ds.isel(time=slice(2)), t), "the data have 2 frames"),
        (lambda m, ds, t: rollout(m, ds.rename(w="v"), t), "lack w"),
        (lambda m, ds, t: rollout(m, ds.where(ds["time"] != 1.0), t), "'w' has NaN"),
        (
            lambda m, ds, t: rollout(
                m, ds, task_of(changed(ds, targets=[{"variable": "w", "frames": [5, 6]}]))
            ),
            "is not a forecast",
        ),
    ],
)
def test_bad_requests(call, message):
    ds = labelled(wave())
    with pytest.raises(ValueError, match=message):
        call(RollOut(Scale(1.0), 4), ds, task_of(ds))
