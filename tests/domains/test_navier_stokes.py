"""The domain: the same samples on every grid, the stated error, and a check that sees mistakes."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from sciops.domains.navier_stokes import DOMAIN, initial_vorticity, pilot, solver_resolution
from sciops.domains.vorticity import coefficients, values

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SHORT = {"duration": 3.0, "frames": 6, "steps": 60}


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def vorticity(samples, resolution, parameters, seed=3):
    return DOMAIN.solve(samples, resolution, seed, DOMAIN.with_defaults(parameters))["vorticity"]


def dataset(w, parameters):
    p = DOMAIN.with_defaults(parameters)
    coords = DOMAIN.coordinates(w.shape[-1], p)
    variables = {"vorticity": (("sample", "time", "x", "y"), w)}
    return xr.Dataset(variables, coords, attrs={"parameters": p})


@pytest.fixture(scope="module")
def honest():
    """The default flow up to time 8."""
    parameters = {"duration": 8.0, "frames": 8, "steps": 160}
    return dataset(vorticity(range(2), 64, parameters), parameters)


def test_frames_lie_on_the_time_grid():
    p = DOMAIN.with_defaults({**SHORT, "duration": 20.0, "frames": 20})
    points = DOMAIN.coordinates(63, p)
    assert np.allclose(points["time"], np.arange(1, 21)) and points["x"].tolist()[1] == 1 / 63
    assert vorticity([4], 16, SHORT).shape == (1, 6, 16, 16)
    late, early = ({**SHORT, "duration": t, "frames": 1, "steps": 10} for t in (1.0, 0.5))
    six = vorticity([4], 16, SHORT)
    assert relative(six[:, :1], vorticity([4], 16, early)) < 1e-12
    assert relative(six[:, 1:2], vorticity([4], 16, {**late, "steps": 20})) < 1e-12


def test_a_sample_does_not_depend_on_its_batch():
    whole = vorticity(range(10, 20), 32, SHORT)
    assert relative(vorticity([17], 32, SHORT), whole[7:8]) < 1e-12
    assert relative(whole[6], whole[7]) > 0.1


def test_a_fine_grid_adds_nothing_to_the_initial_field():
    instant = {"duration": 1e-6, "frames": 1, "steps": 1, "solver_resolution": 16}
    coarse, fine = vorticity([5], 16, instant), vorticity([5], 48, instant)
    assert relative(coefficients(fine, 23), coefficients(coarse, 23)) < 1e-6


@pytest.mark.parametrize("resolution", [32, 63, 64, 96])
def test_a_sample_is_the_same_function_at_every_resolution(resolution):
    reference, other = vorticity([5], 64, SHORT), vorticity([5], resolution, SHORT)
    modes = min(resolution - 1, 63) // 2
    assert relative(coefficients(other, modes), coefficients(reference, modes)) < 1e-5
    if resolution < 64:  # solved on the same grid
        assert relative(values(coefficients(reference, modes), resolution), other) < 1e-12


def test_initial_field_has_the_variance_of_the_well_known_generator():
    """Re Σ_k s_k (ξ + iη) exp(2πi k·x), written as that generator does, on its own numbers."""
    n, tau, alpha = 32, 7, 2.5
    k = np.fft.fftfreq(n, 1 / n)
    squares = k[:, None] ** 2 + k**2
    sigma = tau ** (0.5 * (2 * alpha - 2))
    scale = n**2 * np.sqrt(2) * sigma * (4 * np.pi**2 * squares + tau**2) ** (-alpha / 2)
    scale[0, 0] = 0
    numbers = np.random.default_rng(0).standard_normal((2, 2000, n, n))
    theirs = np.fft.ifft2(scale * (numbers[0] + 1j * numbers[1])).real
    ours = initial_vorticity(range(2000), n, seed=0, alpha=alpha, tau=tau, modes=15)
    assert np.isclose(ours.std(), theirs.std(), rtol=0.02)
    lag = [(w * np.roll(w, 3, 1)).mean() for w in (ours, theirs)]
    assert np.isclose(*lag, rtol=0.04)


def test_complete_keeps_what_is_given_and_adds_the_rest():
    p = DOMAIN.with_defaults({**SHORT, "steps": None, "solver_resolution": 32})
    assert p["steps"] % 6 == 0 and p["solver_resolution"] == 32
    assert DOMAIN.with_defaults({"steps": 7})["steps"] == 7
    assert DOMAIN.complete(p) == p
    grids = [solver_resolution(nu) for nu in (1e-2, 1e-3, 5e-4, 1e-4, 1e-5)]
    assert grids == [64, 64, 128, 128, 256]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"viscosity": 0}, "viscosity=0"),
        ({"viscosity": 1e-6}, "give solver_resolution"),
        ({"frames": 2.5}, "frames=2.5"),
        ({"steps": 0}, "steps=0"),
        ({"forcing": -1.0}, "forcing=-1.0"),
        ({"colour": 1}, "no parameter 'colour'"),
    ],
)
def test_senseless_parameters_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        DOMAIN.with_defaults({**SHORT, **wrong})


def test_an_error_out_of_reach_is_said():
    with pytest.raises(ValueError, match="out of reach"):
        pilot(16, 1e-3, 1.0, 0.1, 1e-17, 2.5, 7.0)


@pytest.mark.parametrize("error", [1e-3, 1e-6])
def test_the_stated_error_holds(error):
    chosen = {"duration": 4.0, "frames": 2, "error": error, "solver_resolution": 48}
    p = DOMAIN.with_defaults(chosen)
    coarse = vorticity(range(6), 48, p, seed=11)
    fine = vorticity(range(6), 48, {**p, "steps": 8 * p["steps"]}, seed=11)
    difference = np.sqrt(((coarse - fine) ** 2).sum((2, 3)) / (fine**2).sum((2, 3)))
    assert difference.max() < error
    if error == 1e-6:  # and not by waste: far fewer steps would miss it
        rough = vorticity(range(6), 48, {**p, "steps": max(2, p["steps"] // 8)}, seed=11)
        assert relative(rough, fine) > error


@pytest.mark.slow
@pytest.mark.parametrize("viscosity", [1e-3, 1e-4])
def test_the_stated_error_holds_up_to_time_20(viscosity):
    p = DOMAIN.with_defaults({"viscosity": viscosity})
    coarse = vorticity([1], 64, p, seed=11)
    fine = vorticity([1], 64, {**p, "steps": 2 * p["steps"]}, seed=11)
    assert relative(coarse[:, -1], fine[:, -1]) < p["error"]


def test_too_few_steps_blow_up_with_advice():
    with pytest.raises(ValueError, match=r"viscosity=1e-05 with steps=40.*take more steps"):
        vorticity(
            [0], 32, {"viscosity": 1e-5, "solver_resolution": 32, "steps": 40, "forcing": 9.0}
        )


def test_honest_data_passes(honest):
    assert DOMAIN.defects(honest).max() < 1e-4 < DOMAIN.tolerance(honest)
    assert DOMAIN.defects(honest.astype("float32")).max() < 1e-4


def test_coarse_grids_pass_within_their_tolerance(honest):
    coarse = dataset(values(coefficients(honest.vorticity.values, 11), 24), honest.parameters)
    assert DOMAIN.defects(coarse).max() < DOMAIN.tolerance(coarse)


def mistakes(ds):
    """Data sets that do not say what they hold."""
    w, p = ds.vorticity.values, ds.parameters
    yield "flipped", ds.assign(vorticity=(ds.vorticity.dims, w[:, :, ::-1]))
    yield "transposed", ds.assign(vorticity=(ds.vorticity.dims, w.swapaxes(2, 3)))
    yield "end point counted twice", ds.assign_coords(x=np.linspace(0, 1, ds.sizes["x"]))
    yield "stretched", ds.assign_coords(y=1.1 * ds.y.values)
    yield "moved by a point", ds.assign(vorticity=(ds.vorticity.dims, np.roll(w, 1, 2)))
    yield "twice the viscosity", ds.assign_attrs(parameters={**p, "viscosity": 2 * p["viscosity"]})
    yield "half the viscosity", ds.assign_attrs(parameters={**p, "viscosity": p["viscosity"] / 2})
    yield "no forcing", ds.assign_attrs(parameters={**p, "forcing": 0.0})
    yield "time in other units", ds.assign_coords(time=0.9 * ds.time.values)
    yield "times from 0", ds.assign_coords(time=np.linspace(0, 8, 8))
    kept = ds.isel(time=[0, 1, 2, 3, 5, 6, 7])
    yield "a dropped frame", kept.assign_coords(time=ds.time.values[:-1])
    yield "a doubled frame", ds.isel(time=[0, 1, 2, 2, 3, 4, 5, 6]).assign_coords(time=ds.time)


def test_mistakes_are_seen(honest):
    seen = {name: DOMAIN.defects(ds).min() / DOMAIN.tolerance(ds) for name, ds in mistakes(honest)}
    assert len(seen) == 12 and min(seen.values()) > 5, seen


def test_reversed_coordinates_with_reversed_data_are_no_mistake(honest):
    assert DOMAIN.defects(honest.isel(x=slice(None, None, -1))).max() < 1e-4


def test_data_that_cannot_be_followed_is_infinitely_wrong(honest):
    broken = honest.copy(deep=True)
    broken.vorticity[0, 0, 0, 0] = np.nan
    broken.vorticity[1] *= 1e9
    assert np.isinf(DOMAIN.defects(broken)).all()
    with pytest.raises(ValueError, match="two or more frames"):
        DOMAIN.defects(honest.isel(time=[0]))


@pytest.mark.slow
@pytest.mark.parametrize(("viscosity", "resolution"), [(1e-4, 64), (1e-4, 32), (1e-5, 64)])
def test_tolerance_holds_for_thin_viscosity(viscosity, resolution):
    p = DOMAIN.with_defaults(
        {"viscosity": viscosity, "duration": 10.0, "frames": 10, "steps": 1200}
    )
    ds = dataset(vorticity([1], resolution, p), p)
    assert DOMAIN.defects(ds).max() < DOMAIN.tolerance(ds)
    ten = ds.assign_attrs(parameters={**p, "viscosity": 10 * viscosity})
    assert DOMAIN.defects(ten).min() > 3 * DOMAIN.tolerance(ds)
