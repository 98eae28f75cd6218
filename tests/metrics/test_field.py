"""Scores of fields: hand-computed values, analytic norms, invariances, and one battery for all."""

import inspect
import math

import numpy as np
import pytest
import torch

from sciops.metrics import (
    METRICS,
    boundary_error,
    max_absolute_error,
    max_error,
    relative_h1,
    relative_l2,
)

RELATIVE = sorted(set(METRICS) - {"max_absolute_error"})
GRIDS = {  # shape → periodic; the last axis or more are closed
    (12,): (False,),
    (7, 8): (True, False),
    (5, 6, 4): (False, True, False),
}


def bound(name, periodic):
    """The metric with the geometry it asks for."""
    known = dict(periodic=periodic, lengths=tuple(1.0 + i for i in range(len(periodic))))
    asked = inspect.signature(METRICS[name]).parameters
    geometry = {key: value for key, value in known.items() if key in asked}
    return lambda p, y: METRICS[name](p, y, **geometry)


def pair(shape, batch=3, channels=2, seed=0, dtype=torch.float64):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(2, batch, channels, *shape, generator=made, dtype=torch.float64).to(dtype)


def points(n, periodic, length=1.0):
    return torch.arange(n, dtype=torch.float64) * (length / (n if periodic else n - 1))


# --- what every member of METRICS keeps -----------------------------------------------------------


@pytest.fixture(params=sorted(METRICS))
def name(request):
    return request.param


@pytest.fixture(params=GRIDS, ids=str)
def shape(request):
    return request.param


def test_asks_for_known_geometry_only(name):
    kinds = inspect.signature(METRICS[name]).parameters
    assert list(kinds)[:2] == ["prediction", "target"]
    assert set(list(kinds)[2:]) <= {"periodic", "lengths"}
    assert all(kinds[k].kind is inspect.Parameter.KEYWORD_ONLY for k in list(kinds)[2:])


def test_one_number_per_sample_and_zero_when_perfect(name, shape):
    p, y = pair(shape)
    metric = bound(name, GRIDS[shape])
    assert metric(p, y).shape == (3,) and (metric(p, y) > 0).all()
    assert metric(y, y).tolist() == [0, 0, 0]


def test_samples_are_independent(name, shape):
    p, y = pair(shape)
    metric = bound(name, GRIDS[shape])
    alone = torch.cat([metric(p[i : i + 1], y[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(metric(p, y), alone, rtol=1e-13, atol=0)


@pytest.mark.parametrize("factor", [-3.0, 1e-25, 1e25])
def test_ratios_do_not_depend_on_units(shape, factor):
    p, y = pair(shape, dtype=torch.float32)
    for name in RELATIVE:
        metric = bound(name, GRIDS[shape])
        torch.testing.assert_close(metric(factor * p, factor * y), metric(p, y), rtol=1e-5, atol=0)


def test_gradients(name, shape):
    p, y = pair(shape, batch=2, channels=1)
    arguments = (p.requires_grad_(), y.requires_grad_())
    assert torch.autograd.gradcheck(bound(name, GRIDS[shape]), arguments)


def test_gradient_of_a_perfect_prediction_is_finite(name, shape):
    y = pair(shape)[1]
    p = y.clone().requires_grad_()
    bound(name, GRIDS[shape])(p, y).sum().backward()
    assert p.grad.isfinite().all()


def test_nan_is_never_hidden(name, shape):
    p, y = pair(shape)
    p[1, 0][(0,) * len(shape)] = math.nan  # a corner, so that the boundary sees it too
    metric = bound(name, GRIDS[shape])
    assert metric(p, y).isnan().tolist() == [False, True, False]
    y[2, 0][(0,) * len(shape)] = math.nan
    assert metric(p, y).isnan().tolist() == [False, True, True]


def test_zero_target_is_huge_but_finite(shape):
    p, y = pair(shape, dtype=torch.float32)
    y[1] = 0
    for name in RELATIVE:
        scores = bound(name, GRIDS[shape])(p, y)
        assert scores.isfinite().all() and scores[1] > 1e15 and (scores[[0, 2]] < 1e3).all()
        assert bound(name, GRIDS[shape])(0 * p, 0 * y).tolist() == [0, 0, 0]


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(name, shape, half):
    p, y = pair(shape, dtype=half)
    metric = bound(name, GRIDS[shape])
    assert metric(p, y).dtype == torch.float32
    assert torch.equal(metric(p, y), metric(p.float(), y.float()))
    assert metric(p, y.double()).dtype == torch.float64


def test_shapes_must_match(name):
    p, y = pair((7, 8))
    metric = bound(name, (True, False))
    for wrong in (p[:, :1], p[:1], p[..., :1], p[..., ::2]):
        with pytest.raises(ValueError, match="same shape, got"):
            metric(wrong, y)


def test_bad_fields(name):
    metric = bound(name, (False,))
    for bad in (torch.ones(3, 4), torch.ones(3, 4, 0), torch.ones(0, 3, 4)):
        with pytest.raises(ValueError, match=r"prediction must be \(batch, channel, \*space\)"):
            metric(bad, bad)
    for bad in (np.ones((1, 1, 4)), torch.ones(1, 1, 4).int(), torch.ones(1, 1, 4) + 0j, None):
        with pytest.raises(ValueError, match="real floating-point"):
            metric(bad, bad)


# --- L2 and maximum -------------------------------------------------------------------------------


def test_relative_l2_is_the_published_formula():
    p, y = pair((9, 11))
    expected = np.linalg.norm((p - y).reshape(3, -1), axis=1) / np.linalg.norm(
        y.reshape(3, -1), axis=1
    )
    np.testing.assert_allclose(relative_l2(p, y), expected, rtol=1e-14)


def test_relative_l2_by_hand():
    y = torch.tensor([[[2.0, 0.0], [0.0, 1.0]]])  # ‖y‖ = √5 over both channels
    assert float(relative_l2(torch.zeros(1, 2, 2), y)) == 1
    assert float(relative_l2(y + torch.tensor([1.0, 2.0]), y)) == pytest.approx(math.sqrt(2))


def test_max_errors_by_hand():
    y = torch.tensor([[[1.0, -8.0]], [[0.0, 4.0]]])
    p = torch.tensor([[[1.5, -10.0]], [[-1.0, 4.0]]])
    assert max_error(p, y).tolist() == [0.25, 0.25]
    assert max_absolute_error(p, y).tolist() == [2, 1]


# --- H¹ -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [15, 16])
def test_h1_of_sines_is_exact_on_periodic_axes(n):
    period, a, b = 3.0, 2 * math.pi / 3, 10 * math.pi / 3
    x = points(n, True, period)
    y, e = torch.sin(a * x), 0.2 * torch.cos(b * x)
    score = relative_h1((y + e)[None, None], y[None, None], periodic=(True,), lengths=(period,))
    assert float(score) == pytest.approx(0.2 * math.sqrt((1 + b * b) / (1 + a * a)), rel=1e-13)


def test_h1_counts_the_nyquist_mode():
    """∫ u² → 1 and the slope πn/P: the sawtooth ±1 is as rough as its wave number says."""
    n = 8
    y, sawtooth = torch.ones(1, 1, n).double(), (-1.0) ** points(n, True, n)
    score = relative_h1(y + sawtooth, y, periodic=(True,), lengths=(1.0,))
    assert float(score) == pytest.approx(math.sqrt(1 + (math.pi * n) ** 2), rel=1e-13)


def h1_oracle(u, periodic, lengths):
    """∫ u² + |∇u|² of one channel in plain numpy; odd periodic axes only."""
    weights, total = np.ones(()), u**2
    for axis, (n, is_periodic, length) in enumerate(zip(u.shape, periodic, lengths, strict=True)):
        if is_periodic:
            k = np.fft.fftfreq(n, 1 / n).reshape([-1 if a == axis else 1 for a in range(u.ndim)])
            slope = np.fft.ifft(2j * np.pi / length * k * np.fft.fft(u, axis=axis), axis=axis).real
            q = np.full(n, length / n)
        else:
            v, h = np.moveaxis(u, axis, 0), length / (n - 1)
            d = np.empty_like(v)
            d[1:-1] = (v[2:] - v[:-2]) / (2 * h)
            d[0] = (-3 * v[0] + 4 * v[1] - v[2]) / (2 * h)
            d[-1] = (3 * v[-1] - 4 * v[-2] + v[-3]) / (2 * h)
            slope, q = np.moveaxis(d, 0, axis), np.r_[h / 2, np.full(n - 2, h), h / 2]
        total, weights = total + slope**2, np.multiply.outer(weights, q)
    return (weights * total).sum()


@pytest.mark.parametrize(
    ("shape", "periodic"),
    [
        ((9,), (True,)),
        ((3,), (False,)),
        ((8, 5), (False, True)),
        ((6, 7), (False, False)),
        ((5, 6, 7), (True, False, True)),
    ],
)
def test_h1_equals_the_oracle(shape, periodic):
    p, y = pair(shape)
    lengths = (0.7, 1.9, 3.1)[: len(shape)]
    norms = [
        [sum(h1_oracle(c.numpy(), periodic, lengths) for c in sample) for sample in u]
        for u in (p - y, y)
    ]
    score = relative_h1(p, y, periodic=periodic, lengths=lengths)
    np.testing.assert_allclose(score, np.sqrt(np.divide(*norms)), rtol=1e-12)


def closed_h1(n):
    """y = eˣ, e = x² on [0, 2]: ‖y‖² = e⁴ − 1, ‖e‖² = 32/5 + 32/3."""
    x = points(n, False, 2.0)
    y, e = x.exp()[None, None], x.square()[None, None]
    return float(relative_h1(y + e, y, periodic=(False,), lengths=(2.0,)))


def test_h1_converges_to_second_order_on_closed_axes():
    exact = math.sqrt((32 / 5 + 32 / 3) / (math.exp(4) - 1))
    errors = [abs(closed_h1(n) - exact) for n in (33, 65, 129, 257)]
    rates = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (np.abs(rates - 2) < 0.1).all() and errors[-1] < 1e-5


@pytest.mark.parametrize("n", [24, 25, 48])
def test_h1_of_a_band_limited_pair_is_the_same_on_every_grid(n):
    def score(n):
        x, z = torch.meshgrid(points(n, True), points(n + 2, True, 2.0), indexing="ij")
        y = torch.sin(2 * math.pi * (x + z)) + torch.cos(6 * math.pi * x)
        e = torch.cos(2 * math.pi * (3 * x - 2 * z)) + 0.5
        lengths = (1.0, 2.0)
        return relative_h1(
            (y + e)[None, None], y[None, None], periodic=(True,) * 2, lengths=lengths
        )

    torch.testing.assert_close(score(n), score(96), rtol=1e-12, atol=0)


def test_h1_bad_geometry():
    p, y = pair((7, 8))
    bad = [
        (dict(periodic=(True,), lengths=(1.0, 1.0)), "periodic must be a tuple"),
        (dict(periodic=True, lengths=(1.0, 1.0)), "periodic must be a tuple"),
        (dict(periodic=(True, True), lengths=(1.0,)), "lengths must be a tuple"),
        (dict(periodic=(True, True), lengths=(1.0, 0.0)), "positive and finite"),
        (dict(periodic=(True, True), lengths=(1.0, math.nan)), "positive and finite"),
    ]
    for geometry, message in bad:
        with pytest.raises(ValueError, match=message):
            relative_h1(p, y, **geometry)
    with pytest.raises(ValueError, match="at least 3 points"):
        relative_h1(p[..., :2], y[..., :2], periodic=(True, False), lengths=(1.0, 1.0))


# --- boundary -------------------------------------------------------------------------------------


def test_boundary_error_sees_the_faces_only():
    p, y = pair((5, 6))
    inside = torch.zeros(5, 6, dtype=torch.bool)
    inside[1:-1, 1:-1] = True
    other = torch.where(inside, 1e9, p)
    score = boundary_error(p, y, periodic=(False, False))
    assert torch.equal(score, boundary_error(other, y, periodic=(False, False)))
    faces = [u[:, :, ~inside].flatten(1) for u in (p - y, y)]
    torch.testing.assert_close(score, faces[0].norm(dim=1) / faces[1].norm(dim=1))


def test_boundary_error_leaves_periodic_axes_alone():
    p, y = pair((5, 6))
    score = boundary_error(p, y, periodic=(True, False))
    ends = [u[..., [0, -1]].flatten(1) for u in (p - y, y)]
    torch.testing.assert_close(score, ends[0].norm(dim=1) / ends[1].norm(dim=1))


@pytest.mark.parametrize("noise", [0, 1e-9])
def test_boundary_error_of_a_target_that_vanishes_there(noise):
    x = points(101, False)
    y = (torch.sin(math.pi * x) + noise)[None, None]
    score = float(boundary_error(y + 0.01, y, periodic=(False,)))
    assert score == pytest.approx(0.01 / math.sqrt(0.5 * 100 / 101), rel=1e-6)


def test_boundary_error_needs_a_boundary():
    p, y = pair((5, 6))
    with pytest.raises(ValueError, match="all axes are periodic; leave it out"):
        boundary_error(p, y, periodic=(True, True))
    with pytest.raises(ValueError, match="periodic must be a tuple"):
        boundary_error(p, y, periodic=(False,))
