"""The wake of a cylinder: exact flows and the published one pass the check, mistakes do not."""

import numpy as np
import pytest
import xarray as xr

import sciops
from sciops.domains.cylinder import (
    DIMS,
    DOMAIN,
    divergence_defect,
    first_derivative,
    flows,
    momentum_residual,
    second_derivative,
)
from sciops.domains.labelling import from_arrays
from sciops.domains.reading import read_layout
from tests.domains.layout_files import shared


def wake_of(fields, points, reynolds):
    """u, v, p as functions of time, x and y on a grid, labelled."""
    grid = np.meshgrid(*points, indexing="ij")
    arrays = {name: field(*grid)[None] for name, field in zip("uvp", fields, strict=True)}
    coords = dict(zip(DIMS, points, strict=True))
    tree = from_arrays("cylinder_wake", arrays, coords=coords, parameters={"reynolds": reynolds})
    return tree["train"].to_dataset()


def drifting_vortices(n=24, reynolds=20.0, drift=(1.0, 0.5)):
    """Taylor's exact solution, carried along by a mean flow."""
    points = np.linspace(0, 2, n), np.linspace(0, 6, n), np.linspace(0, 5, n + 3)

    def decay(t):
        return np.exp(-2 * t / reynolds)

    def place(t, x, y):
        return x - drift[0] * t, y - drift[1] * t

    def u(t, x, y):
        a, b = place(t, x, y)
        return drift[0] + np.cos(a) * np.sin(b) * decay(t)

    def v(t, x, y):
        a, b = place(t, x, y)
        return drift[1] - np.sin(a) * np.cos(b) * decay(t)

    def p(t, x, y):
        a, b = place(t, x, y)
        return -(np.cos(2 * a) + np.cos(2 * b)) / 4 * decay(t) ** 2

    return wake_of((u, v, p), points, reynolds)


def swelling_flow(n=24, reynolds=20.0):
    """u = ∇φ balances its momentum by p = −φ_t − |∇φ|²/2 + Δφ/Re, but ∇·u = Δφ ≠ 0."""
    points = (np.linspace(0, 2, n),) * 3

    def u(t, x, y):  # of φ = sin x sin y cos t
        return np.cos(x) * np.sin(y) * np.cos(t)

    def v(t, x, y):
        return np.sin(x) * np.cos(y) * np.cos(t)

    def p(t, x, y):
        square = (u(t, x, y) ** 2 + v(t, x, y) ** 2) / 2
        return np.sin(x) * np.sin(y) * (np.sin(t) - 2 * np.cos(t) / reynolds) - square

    return wake_of((u, v, p), points, reynolds)


@pytest.fixture(scope="module")
def wake() -> xr.Dataset:
    path = shared("navier_stokes/cylinder_nektar_wake.mat")
    return read_layout("navier_stokes", path)["train"].to_dataset()


def declared(ds, **parameters):
    return ds.assign_attrs(parameters={**ds.attrs["parameters"], **parameters})


def with_values(ds, **values):
    return ds.assign({name: ds[name].copy(data=array) for name, array in values.items()})


def flipped(ds, names, dim):
    axis = ds["u"].dims.index(dim)
    return with_values(ds, **{name: np.flip(ds[name].values, axis) for name in names})


def failed(ds) -> set[str]:
    return {finding.check for finding in sciops.check(ds).findings if not finding.ok}


# -- exact flows ------------------------------------------------------------------------------


def test_differences_are_of_their_order():
    errors = {2: [], 4: []}
    for n in (20, 40):
        x = np.linspace(0, 1, n + 1)
        f = np.sin(3 * x)[:, None, None] * np.ones((1, 9, 9))
        inner = x[2:-2, None, None]
        for order in errors:
            first = first_derivative(f, 0, 1 / n, order) - 3 * np.cos(3 * inner)
            second = second_derivative(f, 0, 1 / n, order) + 9 * np.sin(3 * inner)
            errors[order].append([abs(first).max(), abs(second).max()])
    for order, pair in errors.items():
        assert (abs(np.log2(np.divide(*pair)) - order) < 0.3).all()


def test_an_exact_flow_leaves_only_the_error_of_the_differences():
    coarse, fine = drifting_vortices(24), drifting_vortices(48)
    assert DOMAIN.defects(coarse)[0] > 12 * DOMAIN.defects(fine)[0]  # order four gives 16 or so
    for ds in (coarse, fine):
        assert sciops.check(ds).ok
    assert failed(declared(fine, reynolds=40.0)) == {"equation"}
    assert failed(with_values(fine, p=-fine["p"].values)) == {"equation"}


def test_a_flow_that_swells_is_caught_though_its_momentum_balances():
    ds = swelling_flow()
    (flow,) = flows(ds)
    assert np.linalg.norm(momentum_residual(flow, 20.0)) < 1e-3 * np.linalg.norm(flow.u)
    assert divergence_defect(flow) > 0.5
    assert failed(ds) == {"equation"}


def test_every_trajectory_is_judged_by_itself():
    good = drifting_vortices()
    bad = with_values(good, p=-good["p"].values).assign_coords(sample=[1])
    both = xr.concat([good, bad], "sample", data_vars="all", join="outer")
    values = DOMAIN.defects(both.transpose("sample", "x", "time", "y"))  # in any order of axes
    np.testing.assert_allclose(values, [*DOMAIN.defects(good), *DOMAIN.defects(bad)])


def test_noise_is_caught():
    ds, rng = drifting_vortices(), np.random.default_rng(0)
    assert failed(with_values(ds, **{n: rng.normal(size=ds["u"].shape) for n in "uvp"})) == {
        "equation"
    }


# -- what cannot be judged --------------------------------------------------------------------


def test_what_cannot_be_judged_says_why():
    ds = drifting_vortices()
    assert "x must be more than 4 equally spaced" in str(
        sciops.check(ds.assign_coords(x=ds["x"].values ** 2))
    )
    assert "time must be more than 4" in str(
        sciops.check(
            ds.isel(time=slice(0, 4)).assign_attrs(
                inputs=[{"variable": "u", "frames": [0, 2]}],
                targets=[{"variable": "u", "frames": [2, 4]}],
            )
        )
    )
    assert "reynolds=-3 must be a positive number" in str(sciops.check(declared(ds, reynolds=-3)))
    still = with_values(ds, **{n: np.broadcast_to(ds[n].values[:, :1], ds[n].shape) for n in "uv"})
    assert "never change" in str(sciops.check(still))
    unsaid = sciops.check(ds.assign_attrs(parameters={}))
    assert unsaid.ok
    assert "do not say reynolds" in str(unsaid)


@pytest.mark.parametrize("verb", [sciops.generate, sciops.load])
def test_a_wake_cannot_be_generated(verb):
    with pytest.raises(ValueError, match=r"cannot be generated; read a file of it: sciops\.read"):
        verb("cylinder_wake")
    assert "cylinder_wake" not in sciops.datasets().index


# -- the published wake -----------------------------------------------------------------------


def test_the_published_wake_passes(wake):
    report = sciops.check(wake)
    assert report.ok, str(report)
    assert "not checked" not in str(report)
    assert DOMAIN.defects(wake)[0] == pytest.approx(0.0066, abs=2e-4)
    assert DOMAIN.tolerance(wake) < 0.0095


def test_it_is_read_by_its_own_name_and_by_that_of_the_equation(wake):
    path = shared("navier_stokes/cylinder_nektar_wake.mat")
    own = sciops.read("cylinder_wake", path)["train"].to_dataset()  # a warning would be an error
    xr.testing.assert_identical(own, wake)


def test_its_first_frame_is_a_step_too_early(wake):
    """Frames 1, …, 7 extrapolate to it at t = −0.1 far better than at the 0 that the file says."""
    known = np.arange(1, 8)
    for name in "uvp":
        f = wake[name].values[0]
        misses = []
        for place in (0, -1):
            weights = [np.prod([(place - k) / (j - k) for k in known if k != j]) for j in known]
            guess = np.tensordot(weights, f[known], 1)
            misses.append(np.linalg.norm(guess - f[0]))
        assert misses[1] < 0.1 * misses[0]
    rest = wake.isel(time=slice(1, None))
    assert DOMAIN.defects(rest)[0] < 0.003


@pytest.mark.parametrize(
    "thinned",
    [dict(x=2, y=2), dict(x=3, y=3), dict(x=4, y=4), dict(time=2), dict(time=4)],
    ids=str,
)
def test_it_passes_on_coarser_grids(wake, thinned):
    some = wake.isel({dim: slice(None, None, k) for dim, k in thinned.items()})
    assert DOMAIN.defects(some)[0] <= DOMAIN.tolerance(some)
    assert DOMAIN.defects(with_values(some, p=-some["p"].values))[0] > 5 * DOMAIN.tolerance(some)


def test_it_passes_in_single_precision(wake):
    assert sciops.check(wake.astype("f4")).ok


MISTAKES = {
    "Re 1000": lambda w: declared(w, reynolds=1000.0),
    "Re 10": lambda w: declared(w, reynolds=10.0),
    "Re 90": lambda w: declared(w, reynolds=90.0),
    "Re 115": lambda w: declared(w, reynolds=115.0),
    "−p": lambda w: with_values(w, p=-w["p"].values),
    "p off by 3 %": lambda w: with_values(w, p=1.03 * w["p"].values),
    "time doubled": lambda w: w.assign_coords(time=2 * w["time"].values),
    "time off by 1 %": lambda w: w.assign_coords(time=1.01 * w["time"].values),
    "every second frame, old times": lambda w: (
        w.isel(time=slice(None, None, 2))
        .assign_coords(time=w["time"].values[:100])
        .assign_attrs(targets=[{"variable": "u", "frames": [10, 100]}])
    ),
    "space off by 2 %": lambda w: w.assign_coords(x=1.02 * w["x"], y=1.02 * w["y"]),
    "y flipped": lambda w: flipped(w, "uvp", "y"),
    "p flipped in y": lambda w: flipped(w, "p", "y"),
    "x flipped": lambda w: flipped(w, "uvp", "x"),
    "time flipped": lambda w: flipped(w, "uvp", "time"),
    "u and v swapped": lambda w: with_values(w, u=w["v"].values, v=w["u"].values),
    "two frames swapped": lambda w: w.isel(
        time=[*range(50), 51, 50, *range(52, 200)]
    ).assign_coords(time=w["time"].values),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_it_is_caught(wake, mistake):
    assert failed(MISTAKES[mistake](wake)) == {"equation"}


def test_a_true_mirror_image_is_a_flow_too(wake):
    mirrored = flipped(wake, "uvp", "y")
    mirrored = with_values(mirrored, v=-mirrored["v"].values)
    assert sciops.check(mirrored.assign_coords(y=-wake["y"].values[::-1])).ok
