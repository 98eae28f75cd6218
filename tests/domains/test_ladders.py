"""Rungs: the finest reproduces the truth, coarse ones are worse, none sees more than a network."""

import numpy as np
import pytest
import torch
import xarray as xr

import sciops
from sciops.data.samples import MemorySamples
from sciops.domains import DOMAINS
from sciops.domains.diffusion import solve_darcy
from sciops.domains.ladders import LADDERS, Rung, hat_weights, ladder, spline_weights
from sciops.metrics import relative_l2

FLOW = dict(viscosity=2e-3, duration=4.0, frames=4, steps=64, solver_resolution=32)
DATA = {  # on the grid of the solver, so that the input is known as well as the solver knew it
    "burgers": dict(resolution=128, viscosity=0.02, steps=128, solver_resolution=128),
    "darcy": dict(resolution=25, refine=1),
    "navier_stokes": dict(resolution=32, **FLOW),
}


@pytest.fixture(scope="module")
def data() -> dict[str, xr.Dataset]:
    return {name: sciops.generate(name, n=3, progress=False, **how) for name, how in DATA.items()}


def errors(rung: Rung, ds: xr.Dataset) -> np.ndarray:
    samples = MemorySamples(ds)
    return relative_l2(torch.from_numpy(rung.solve(samples.x.double().numpy())), samples.y).numpy()


def rung_with(ds: xr.Dataset, **setting) -> Rung:
    (rung,) = [
        r for r in ladder(ds) if r.setting == {k.replace("_", " "): setting[k] for k in setting}
    ]
    return rung


def test_every_domain_that_is_generated_has_a_ladder():
    assert set(LADDERS) == set(DOMAINS)


@pytest.mark.parametrize("name", DATA)
def test_the_finest_rung_reproduces_the_truth(data, name):
    finest = ladder(data[name])[-1]
    assert errors(finest, data[name]).max() < (1e-4 if name == "darcy" else 1e-6)


@pytest.mark.parametrize("name", DATA)
def test_rungs_rise_in_work_and_the_first_is_worse(data, name):
    rungs = ladder(data[name])
    works = [rung.work for rung in rungs]
    assert works == sorted(works)
    assert len({str(rung) for rung in rungs}) == len(rungs) > 10
    first = next(r for r in rungs if r.setting["points"] < rungs[-1].setting["points"])
    try:
        assert errors(first, data[name]).mean() > 0.01
    except ValueError as blown_up:
        assert "steps" in str(blown_up)


def test_more_points_and_steps_are_better(data):
    burgers, flow = data["burgers"], data["navier_stokes"]
    by_points = [
        errors(rung_with(burgers, points=m, steps=96), burgers).mean() for m in (16, 32, 64)
    ]
    by_steps = [
        errors(rung_with(burgers, points=128, steps=s), burgers).mean() for s in (12, 24, 48)
    ]
    of_flow = [errors(rung_with(flow, points=m, steps_a_frame=8), flow).mean() for m in (8, 16, 32)]
    for row in (by_points, by_steps, of_flow):
        assert row[0] > 3 * row[1] > 9 * row[2]


def test_coarse_darcy_is_the_solver_between_two_interpolations(data):
    a = data["darcy"]["a"].values.astype(float)
    rung = rung_with(data["darcy"], points=13, residual=1e-4)
    means = np.empty((len(a), 13, 13))  # of ln a around each second node, by hand
    log = np.pad(np.log(a), ((0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    weights = np.outer([1, 2, 1], [1, 2, 1])
    for i in range(13):
        for j in range(13):
            near = log[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
            there = np.isfinite(near) * weights
            means[:, i, j] = np.exp((np.nan_to_num(near) * there).sum((1, 2)) / there.sum((1, 2)))
    coarse, _ = solve_darcy(means, 1.0, residual=1e-4)
    np.testing.assert_allclose(rung.solve(a[:, None])[:, 0, ::2, ::2], coarse, atol=1e-12)


def test_splines_are_exact_for_cubics():
    cubic = lambda x: 1 - 2 * x + 3 * x**2 - 5 * x**3
    up = spline_weights(6, 17)
    np.testing.assert_allclose(up @ cubic(np.linspace(0, 1, 6)), cubic(np.linspace(0, 1, 17)))
    np.testing.assert_allclose(spline_weights(9, 9), np.eye(9), atol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(9, 9), (9, 5), (10, 7)])
def test_hats_keep_constants_and_symmetry(n, m):
    weights = hat_weights(n, m)
    np.testing.assert_allclose(weights.sum(1), 1)
    np.testing.assert_allclose(weights, weights[::-1, ::-1], atol=1e-12)
    assert (n != m) or np.allclose(weights, np.eye(n))


def test_a_forecast_starts_from_the_last_frame_given(data):
    rung = ladder(data["navier_stokes"])[-1]
    x = MemorySamples(data["navier_stokes"]).x.double().numpy()
    assert x.shape[1] == 2
    other = x.copy()
    other[:, 0] = 0
    np.testing.assert_array_equal(rung.solve(x), rung.solve(other))
    assert not np.allclose(rung.solve(x), rung.solve(0.5 * x))


def test_lengths_are_those_of_the_axes(data):
    """On axes of twice the length u of Darcy is four times as large."""
    ds = data["darcy"].isel(sample=[0])
    wide = ds.assign_coords(x=2 * ds["x"], y=2 * ds["y"])
    x = MemorySamples(ds).x.double().numpy()
    for small, large in zip(ladder(ds)[-3:], ladder(wide)[-3:], strict=True):
        np.testing.assert_allclose(large.solve(x), 4 * small.solve(x), rtol=1e-9, atol=1e-15)


def test_burgers_on_a_longer_period_and_with_another_time(data):
    """u(x/L, t/L²) L is a solution of period 1 if u is one of period L."""
    ds = data["burgers"].isel(sample=[0])
    attrs = {**ds.attrs, "parameters": {**ds.attrs["parameters"], "time": 4.0}}
    wide = ds.assign_coords(x=2 * ds["x"]).assign_attrs(attrs)
    x = MemorySamples(ds).x.double().numpy()
    small, large = ladder(ds)[-1].solve(x), ladder(wide)[-1].solve(x / 2)
    np.testing.assert_allclose(large, small / 2, atol=1e-9)


def test_bad_data(data):
    ds = data["darcy"]
    with pytest.raises(ValueError, match=r"no classical solver for 'mine'.*burgers, darcy"):
        ladder(ds.assign_attrs(name="mine"))
    with pytest.raises(ValueError, match="do not say forcing"):
        ladder(ds.assign_attrs(parameters={}))
    swapped = {"inputs": ds.attrs["targets"], "targets": ds.attrs["inputs"]}
    with pytest.raises(ValueError, match=r"needs the inputs \['a'\], the data have \['u'\]"):
        ladder(ds.assign_attrs(swapped))
