"""Darcy flow: one function on every grid, and the check against damage."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from sciops.domains.darcy import DOMAIN, coefficient
from sciops.domains.diffusion import face_values, solve_darcy
from sciops.domains.random_fields import normal_numbers

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def norm(values: np.ndarray) -> np.ndarray:
    return np.linalg.norm(values.reshape(len(values), -1), axis=1)


def darcy_field(n: int, samples=range(2), **parameters) -> np.ndarray:
    return coefficient(samples, n, 0, DOMAIN.with_defaults(parameters))


def solved(n: int, samples=range(4), seed=0, **parameters) -> dict[str, np.ndarray]:
    return DOMAIN.solve(samples, n, seed, DOMAIN.with_defaults(parameters))


def dataset(a, u, **parameters) -> xr.Dataset:
    points = {dim: np.linspace(0, 1, size) for dim, size in zip("xy", a.shape[1:], strict=True)}
    fields = {"a": (("sample", "x", "y"), a), "u": (("sample", "x", "y"), u)}
    return xr.Dataset(fields, coords=points, attrs={"parameters": parameters})


def test_a_sample_is_the_same_function_on_every_grid():
    fine = solved(421, range(2))
    for n, times in ((141, 3), (85, 5), (43, 10), (16, 28)):
        coarse = solved(n, range(2))
        assert np.array_equal(coarse["a"], fine["a"][:, ::times, ::times])
        subsampled = fine["u"][:, ::times, ::times]
        assert max(norm(coarse["u"] - subsampled) / norm(subsampled)) < 0.005


def test_grids_that_share_a_solver_grid_share_all_numbers():
    fine, coarse = solved(85), solved(43)
    assert np.array_equal(fine["u"][:, ::2, ::2], coarse["u"])
    points = DOMAIN.coordinates(43, {})
    assert list(points["x"]) == list(DOMAIN.coordinates(85, {})["x"][::2]) == list(points["y"])


def test_refine_chooses_the_solver_grid():
    plain, fine = solved(22, refine=1), solved(43, refine=1)
    assert np.array_equal(plain["a"], solved(22)["a"])
    assert np.array_equal(plain["u"], solve_darcy(plain["a"], 1.0)[0])
    assert np.array_equal(solved(22, refine=2)["u"], fine["u"][:, ::2, ::2])
    assert not np.array_equal(plain["u"], solved(22)["u"])


def test_lognormal_and_piecewise_come_from_one_field():
    piecewise = solved(33, high=5.0, low=2.0)["a"]
    lognormal = solved(33, coefficient="lognormal", scale=2.0)["a"]
    assert np.array_equal(piecewise, np.where(lognormal >= 1, 5.0, 2.0))
    assert set(np.unique(piecewise)) == {2.0, 5.0}
    np.testing.assert_allclose(
        solved(33, coefficient="lognormal", scale=1.0)["a"] ** 2, lognormal, rtol=1e-12
    )


def test_modes_have_the_declared_amplitude():
    alpha, tau = 1.5, 4.0
    a = solved(257, range(3), seed=5, coefficient="lognormal", alpha=alpha, tau=tau)["a"]
    x = np.linspace(0, 1, 257)
    weights = np.full(257, 1 / 256)
    weights[[0, -1]] /= 2
    first, second = (np.sqrt(2) * np.cos(np.pi * k * x) * weights for k in (1, 2))
    projection = np.einsum("sxy,x,y->s", np.log(a), first, second)
    numbers = projection / (tau ** (alpha - 1) * (5 * np.pi**2 + tau**2) ** (-alpha / 2))
    drawn = normal_numbers(range(3), 9, seed=5)  # modes 0, 1 and 2 of both axes
    assert np.abs(drawn - numbers[:, None]).min(1).max() < 1e-9
    assert np.abs(np.einsum("sxy,x,y->s", np.log(a), weights, weights)).max() < 1e-12  # no mean


def test_forcing_scales_the_solution():
    once, thrice = solved(17), solved(17, forcing=3)
    np.testing.assert_allclose(solved(17, forcing=-2.0)["u"], -2 * once["u"], rtol=1e-12)
    np.testing.assert_allclose(thrice["u"], 3 * once["u"], rtol=1e-12, atol=1e-14)


def test_parameters_are_completed_and_checked():
    p = DOMAIN.with_defaults({})
    assert (p["high"], p["low"], p["forcing"]) == (12.0, 3.0, 1.0)
    assert DOMAIN.with_defaults(p) == p
    for name, bad in [
        ("coefficient", "smooth"),
        ("faces", "upwind"),
        ("high", 0.0),
        ("low", -3.0),
        ("tau", "3"),
        ("scale", np.nan),
        ("forcing", 0.0),
        ("forcing", "1"),
        ("forcing", -np.inf),
        ("residual", True),
        ("refine", 0),
        ("refine", 1.5),
        ("refine", True),
        ("depth", 3),
    ]:
        with pytest.raises(ValueError, match=name):
            DOMAIN.with_defaults({name: bad})
    with pytest.raises(ValueError, match="resolution=2"):
        solved(2)


# The check


@pytest.mark.parametrize("coefficient", ["piecewise", "lognormal"])
@pytest.mark.parametrize("n", [16, 24, 43, 64, 85, 128])
def test_honest_data_passes_and_is_not_far_from_the_limit(n, coefficient):
    p = DOMAIN.with_defaults({"coefficient": coefficient})
    ds = dataset(**DOMAIN.solve(range(4), n, 1, p), **p)
    found, limit = DOMAIN.defects(ds), DOMAIN.tolerance(ds)
    assert limit / 25 < max(found) < limit / 1.5


@pytest.mark.parametrize("times", [2, 4, 7, 10])
@pytest.mark.parametrize("parameters", [{}, {"tau": 9.0}, {"faces": "arithmetic"}, {"low": 0.2}])
def test_subsampled_data_passes_without_knowing_its_origin(times, parameters):
    fine = solved(141, **parameters)
    ds = dataset(fine["a"][:, ::times, ::times], fine["u"][:, ::times, ::times], forcing=1.0)
    assert max(DOMAIN.defects(ds)) < DOMAIN.tolerance(ds)


def damaged(ds: xr.Dataset) -> dict[str, xr.Dataset]:
    a, u, dims = ds.a.values, ds.u.values, ds.a.dims
    return {
        "a flipped": ds.assign(a=(dims, a[:, ::-1])),
        "u flipped": ds.assign(u=(dims, u[:, :, ::-1])),
        "u transposed": ds.assign(u=(dims, u.transpose(0, 2, 1))),
        "samples mixed up": ds.assign(a=(dims, a[::-1])),
        "a scaled": ds.assign(a=1.2 * ds.a),
        "u scaled": ds.assign(u=0.8 * ds.u),
        "x stretched": ds.assign_coords(x=2 * ds.x),
        "x and y stretched": ds.assign_coords(x=2 * ds.x, y=2 * ds.y),
        "another forcing": ds.assign_attrs(parameters={**ds.parameters, "forcing": 1.3}),
        "no solution": ds.assign(u=0 * ds.u),
        "an edge": ds.assign(u=ds.u + 0.3 * ds.u.max()),
        "NaN": ds.assign(u=ds.u.where(ds.x != ds.x[3])),
        "coefficient zero": ds.assign(a=ds.a.where(ds.a > ds.a.mean(), 0.0)),
    }


@pytest.mark.parametrize("coefficient", ["piecewise", "lognormal"])
@pytest.mark.parametrize("n", [43, 85])
def test_damage_is_found_in_every_sample(n, coefficient):
    p = DOMAIN.with_defaults({"coefficient": coefficient})
    ds = dataset(**DOMAIN.solve(range(8), n, 1, p), **p)
    for what, bad in damaged(ds).items():
        assert min(DOMAIN.defects(bad)) > DOMAIN.tolerance(bad), what


def test_damage_is_found_on_a_coarse_grid():
    p = DOMAIN.with_defaults({})
    ds = dataset(**DOMAIN.solve(range(16), 16, 1, p), **p)
    for what, bad in damaged(ds).items():
        assert np.median(DOMAIN.defects(bad)) > 1.2 * DOMAIN.tolerance(bad), what


def test_defect_follows_names_and_directions():
    p = DOMAIN.with_defaults({})
    ds = dataset(**DOMAIN.solve(range(18), 22, 1, p), **p)  # more than one block of the check
    found = DOMAIN.defects(ds)
    for same in (
        ds.transpose("y", "sample", "x"),
        ds.isel(x=slice(None, None, -1)),
        ds.assign(u=ds.u / 2, a=ds.a / 2).assign_coords(x=ds.x / 2, y=ds.y / 2),
    ):
        np.testing.assert_allclose(DOMAIN.defects(same), found, rtol=1e-9)
    one_bad = ds.copy(deep=True)
    one_bad.u[17, 2, 2] = np.nan
    assert np.array_equal(np.isinf(DOMAIN.defects(one_bad)), np.arange(18) == 17)


def test_defect_of_an_exact_discrete_solution_is_its_residual():
    a = darcy_field(30, range(3))
    ds = dataset(a, solve_darcy(a, 2.5, faces="arithmetic")[0], forcing=2.5, faces="arithmetic")
    assert max(DOMAIN.defects(ds)) < 1e-8
    assert max(DOMAIN.defects(ds.assign(u=1.01 * ds.u))) == pytest.approx(0.01, rel=1e-5)


def test_check_says_what_it_misses():
    ds = dataset(np.ones((1, 5, 5)), np.ones((1, 5, 5)))
    with pytest.raises(ValueError, match="forcing"):
        DOMAIN.defects(ds)
    uneven = ds.assign_coords(y=[0, 0.1, 0.3, 0.6, 1]).assign_attrs(parameters={"forcing": 1.0})
    with pytest.raises(ValueError, match="coordinate y"):
        DOMAIN.defects(uneven)


# Data by others


@pytest.fixture(scope="module")
def torchphysics():
    """Finite elements with f = 10 on a closed grid, by the authors of torchphysics."""
    path = SHARED / "darcy" / "torchphysics_diffusion_64_first500.npz"
    if not path.exists():
        pytest.skip(f"no {path.name} beside the repository")
    with np.load(path) as file:
        return dataset(file["kappa"][:40], file["u"][:40], forcing=10)


def test_finite_elements_by_others_pass(torchphysics):
    limit = DOMAIN.tolerance(torchphysics)
    assert max(DOMAIN.defects(torchphysics)) < limit < 0.005
    kappa, u = torchphysics.a.values.astype(float), torchphysics.u.values.astype(float)
    across_x, across_y = face_values(kappa, "harmonic")
    flow = np.diff(across_x * np.diff(u[..., 1:-1], axis=1), axis=1)
    flow += np.diff(across_y * np.diff(u[:, 1:-1], axis=2), axis=2)
    assert np.median(-flow * 63**2) == pytest.approx(10, abs=0.02)
    for what, bad in damaged(torchphysics).items():
        if what != "another forcing":
            assert min(DOMAIN.defects(bad)) > limit, what


@pytest.mark.parametrize("faces", ["harmonic", "arithmetic"])
def test_finite_elements_by_others_agree(torchphysics, faces):
    u, _ = solve_darcy(torchphysics.a.values, 10.0, faces=faces)
    expected = torchphysics.u.values.astype(float)
    assert max(norm(u - expected) / norm(expected)) < 0.003


def test_neuraloperator_samples_are_a_contrast_of_18():
    """Their 0 and 1 are a/f = 0.02 and 0.36; the last row and column, the edge, are left out."""
    path = SHARED / "darcy" / "darcy_test_32.pt"
    if not path.exists():
        pytest.skip(f"no {path.name} beside the repository")
    import torch

    file = torch.load(path, weights_only=True)
    a = np.pad(np.where(file["x"].numpy(), 0.36, 0.02), ((0, 0), (0, 1), (0, 1)), mode="edge")
    u = np.pad(file["y"].numpy().astype(float), ((0, 0), (0, 1), (0, 1)))
    laplacian = 32**2 * (4 * u[:, 1:-1, 1:-1] - u[:, 2:, 1:-1] - u[:, :-2, 1:-1])
    laplacian -= 32**2 * (u[:, 1:-1, 2:] + u[:, 1:-1, :-2])
    for value in (0.02, 0.36):  # f/a wherever a is that value
        assert np.median(laplacian[a[:, 1:-1, 1:-1] == value]) == pytest.approx(1 / value, rel=0.02)
    solution, _ = solve_darcy(a, 1.0)
    assert np.median(norm(solution - u) / norm(u)) < 0.05
    found = DOMAIN.defects(dataset(a, u, forcing=1.0))
    assert np.median(found) < 0.05 and max(found) < DOMAIN.tolerance(dataset(a, u))
    swapped = dataset(0.0072 / a, u, forcing=1.0)
    assert min(DOMAIN.defects(swapped)) > 1
