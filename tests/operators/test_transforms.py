"""Modes mean the same function on every grid: bases against explicit complex exponentials."""

import itertools
import math

import pytest
import torch

from sciops.operators import transforms
from sciops.operators.transforms import (
    basis,
    check_points,
    default_points,
    frequencies,
    modes_from_basis,
    quadrature,
    tap_phases,
)
from tests.contracts import random_tensor, relative_error


def analysis_and_synthesis(points, modes, one_sided, grid, period):
    """A (m, n) and S (n, m) of the layer, put together from their real factors."""
    r, b = basis(points, modes, one_sided=one_sided, grid=grid, period=period)
    t = modes_from_basis(modes, one_sided=one_sided)
    return t @ r.cdouble(), b.cdouble() @ t.mH


def exponentials(points, f, period):
    return torch.exp(2j * math.pi * torch.outer(points, f.double()) / period)  # (n, m)


# --- the definition -------------------------------------------------------------------------------


def test_last_axis_keeps_one_sign_and_the_others_both():
    assert frequencies(6, one_sided=True).tolist() == [0, 1, 2, 3, 4, 5]
    assert frequencies(6, one_sided=False).tolist() == [-3, -2, -1, 0, 1, 2]


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize(
    ("grid", "period"), [("periodic", 1.0), ("periodic", 6.5), ("closed", 1.25)]
)
def test_bases_are_the_exponentials_of_the_design(one_sided, grid, period):
    modes = 8
    f = frequencies(modes, one_sided=one_sided)
    for n in (24, 37):
        points = default_points(n, grid=grid, period=period)
        step = period / n if grid == "periodic" else 1 / (n - 1)
        weights = torch.full((n,), step, dtype=torch.float64)
        if grid == "closed":
            weights[[0, -1]] /= 2
        twice = torch.where(f > 0, 2.0, 1.0) if one_sided else torch.ones(modes)
        e = exponentials(points, f, period)
        expected = twice[:, None] * weights * e.mH / period
        a, s = analysis_and_synthesis(points, modes, one_sided, grid, period)
        assert relative_error(a, expected) < 1e-13
        assert relative_error(s, e) < 1e-13


@pytest.mark.parametrize("n", [5, 6, 7, 8, 11, 12, 33, 64])
def test_real_functions_survive_analysis_and_synthesis(n):
    """On one axis every sampled function comes back if the band reaches the Nyquist frequency."""
    points = default_points(n, grid="periodic", period=2.0)
    x = random_tensor(n, dtype=torch.float64)
    for modes, one_sided in [
        (n // 2 + 2, True),
        (n + n % 2, False),
        (n + 4 + n % 2, False),
        (128, True),
    ]:
        if not one_sided and n % 2 and modes < n + 1:
            continue
        a, s = analysis_and_synthesis(points, modes, one_sided, "periodic", 2.0)
        assert relative_error((s @ (a @ x.cdouble())).real, x) < 1e-12


@pytest.mark.parametrize("n", [8, 12, 13])
def test_modes_above_the_nyquist_frequency_are_masked(n):
    points = default_points(n, grid="periodic", period=1.0)
    for one_sided in (False, True):
        f = frequencies(32, one_sided=one_sided).abs()
        a, s = analysis_and_synthesis(points, 32, one_sided, "periodic", 1.0)
        beyond = f > n / 2
        assert beyond.any() and a[beyond].abs().max() == 0 and s[:, beyond].abs().max() == 0
        assert a[~beyond].abs().sum(1).min() > 0 and s[:, ~beyond].abs().sum(0).min() > 0


def test_nyquist_of_a_closed_grid_is_that_of_its_gaps():
    points = default_points(11, grid="closed", period=1.25)  # gaps .1, Nyquist f = 1.25 / .2 = 6.25
    a, _ = analysis_and_synthesis(points, 16, True, "closed", 1.25)
    kept = a.abs().sum(1) > 0
    assert kept.tolist() == [f <= 6 for f in range(16)]


@pytest.mark.parametrize("n", [8, 12])
def test_nyquist_mode_is_counted_once(n):
    """(−1)ʲ is one sampled function, not two."""
    x = torch.cos(math.pi * torch.arange(n)).cdouble()
    points = default_points(n, grid="periodic", period=1.0)
    for one_sided, modes in itertools.product((False, True), (n, n + 2, 2 * n)):
        a, s = analysis_and_synthesis(points, modes, one_sided, "periodic", 1.0)
        assert relative_error((s @ (a @ x)).real, x.real) < 1e-12


# --- grids and their weights ----------------------------------------------------------------------


def test_default_points_are_one_period_or_both_ends():
    expected = torch.tensor([0, 0.5, 1, 1.5]).double()
    assert torch.equal(default_points(4, grid="periodic", period=2.0), expected)
    ends = default_points(5, grid="closed", period=1.25)
    assert torch.equal(ends, torch.tensor([0, 0.25, 0.5, 0.75, 1]).double())
    with pytest.raises(ValueError, match="needs n ≥ 2, got n=1"):
        default_points(1, grid="closed", period=1.25)


def test_weights_integrate_constants_and_lines():
    points = torch.tensor([0.1, 0.2, 0.45, 0.5, 0.9], dtype=torch.float64)
    weights, gap = quadrature(points, grid="closed", period=2.0)
    assert math.isclose(float(weights.sum()), 0.8)
    assert math.isclose(float((weights * points).sum()), (0.9**2 - 0.1**2) / 2)  # exact: trapezoid
    assert math.isclose(gap, 0.4)
    weights, gap = quadrature(points, grid="periodic", period=2.0)
    assert math.isclose(float(weights.sum()), 2.0)
    assert math.isclose(float(weights[0]), (0.1 + 1.2) / 2) and math.isclose(gap, 1.2)


def test_uniform_periodic_weights_are_equal():
    weights, gap = quadrature(
        default_points(7, grid="periodic", period=3.0), grid="periodic", period=3.0
    )
    assert relative_error(weights, torch.full((7,), 3 / 7, dtype=torch.float64)) < 1e-14
    assert math.isclose(gap, 3 / 7)


def test_taps_lie_where_a_convolution_has_them():
    """y(x) = Σⱼ w[j] u(x + tⱼ), tⱼ = (d·j − left) h: tap j has the spectrum exp(2πi f tⱼ / P)."""
    for kernel, dilation, period in (
        (1, 1, 1.0),
        (4, 1, 1.0),
        (5, 1, 2.5),
        (3, 2, 1.0),
        (4, 3, 2.5),
    ):
        spacing = torch.tensor(0.07, dtype=torch.float64)
        left = dilation * (kernel - 1) // 2  # as torch pads for padding="same"
        for one_sided in (False, True):
            f = frequencies(8, one_sided=one_sided)
            steps = dilation * torch.arange(kernel) - left
            expected = torch.exp(2j * math.pi * torch.outer(f, steps).double() * 0.07 / period)
            got = tap_phases(8, one_sided, kernel, dilation, period, spacing)
            assert relative_error(got, expected) < 1e-13


# --- applying the fixed matrices ------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(7,), (5, 6), (4, 3, 5)], ids=str)
def test_analyse_and_synthesise_are_products_along_every_axis(sizes):
    x = random_tensor(2, 3, *sizes, dtype=torch.float64)
    rows = [n + 2 - 3 * (a == 1) for a, n in enumerate(sizes)]
    matrices = [
        random_tensor(r, n, dtype=torch.float64, seed=r) for r, n in zip(rows, sizes, strict=True)
    ]
    expected = x
    for axis, matrix in enumerate(matrices):
        expected = torch.tensordot(expected, matrix, dims=([axis + 2], [1])).movedim(-1, axis + 2)
    before = x.clone()
    for function in (transforms.analyse, transforms.synthesise):
        assert relative_error(function(x, matrices), expected) < 1e-13
    assert torch.equal(x, before)


@pytest.mark.parametrize("sizes", [(3,), (3, 2), (2, 3, 2)], ids=str)
def test_analyse_and_synthesise_pass_gradcheck(sizes):
    matrices = [random_tensor(4, n, dtype=torch.float64, seed=n) for n in sizes]
    x = random_tensor(2, 2, *sizes, dtype=torch.float64).requires_grad_()
    for function in (transforms.analyse, transforms.synthesise):
        call = lambda v, function=function: function(v, matrices)
        assert torch.autograd.gradcheck(call, (x,))
        assert torch.autograd.gradgradcheck(call, (x,))


# --- coordinates of users -------------------------------------------------------------------------


def check(points, n=5, grid="periodic", period=1.0):
    return check_points(points, n, 1, grid=grid, period=period)


@pytest.mark.parametrize(
    "points",
    [[0.0, 0.2, 0.4, 0.6, 0.8], torch.zeros(5, 5), torch.arange(5), None, torch.tensor(0.5)],
    ids=["list", "mesh", "integers", "none", "scalar"],
)
def test_points_must_be_one_floating_tensor_per_axis(points):
    with pytest.raises(ValueError, match=r"coords\[1\] must be a 1-dimensional.*torch.as_tensor"):
        check(points)


def test_points_must_be_as_many_as_the_axis_has():
    with pytest.raises(
        ValueError, match=r"coords\[1\] has 4 points, but axis 1 of the input has 5"
    ):
        check(torch.linspace(0, 0.8, 4))


@pytest.mark.parametrize(
    "values", [[0, 0.2, 0.1, 0.3, 0.4], [0, 0.1, 0.1, 0.2, 0.3], [0.5, 0.4, 0.3, 0.2, 0.1]]
)
def test_points_must_increase(values):
    with pytest.raises(ValueError, match="finite and strictly increasing; sort the axis first"):
        check(torch.tensor(values))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_points_must_be_finite(bad):
    for place in (0, 2, 4):
        values = torch.linspace(0, 0.8, 5)
        values[place] = bad
        with pytest.raises(ValueError, match="finite and strictly increasing"):
            check(values)


def test_points_must_fit_into_the_period():
    ends = torch.linspace(0, 1, 5)
    with pytest.raises(
        ValueError, match="spans 1, more than the layer's period 1 on a periodic grid"
    ):
        check(ends)  # the last point is the first one again
    assert len(check(ends, grid="closed")) == 5
    with pytest.raises(ValueError, match=r"give XD a larger period= or rescale"):
        check(2 * ends, grid="closed", period=1.25)
    assert (
        check(ends + 100, grid="closed", period=1.25).dtype == torch.float64
    )  # anywhere on the line
