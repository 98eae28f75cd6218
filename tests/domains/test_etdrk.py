"""ETDRK4: its coefficients against 60 digits, its order, and what it integrates exactly."""

import mpmath
import numpy as np
import pytest

from sciops.domains.etdrk import advance, coefficients


def exact_coefficients(z, step):
    """Cox & Matthews (2002), eq. 26–29, as they are written; their limits at z = 0."""
    if z == 0:
        values = [1, 1, mpmath.mpf(1) / 2, *[mpmath.mpf(1) / 6] * 3]
    else:
        with mpmath.workdps(60):
            z = mpmath.mpf(z)
            e, half = mpmath.exp(z), mpmath.exp(z / 2)
            values = [
                e,
                half,
                (half - 1) / z,
                (-4 - z + e * (4 - 3 * z + z**2)) / z**3,
                (2 + z + e * (z - 2)) / z**3,
                (-4 - 3 * z - z**2 + e * (4 - z)) / z**3,
            ]
    return [float(v) * (1 if i < 2 else step) for i, v in enumerate(values)]


@pytest.mark.parametrize("step", [1.0, 1e-3])
@pytest.mark.parametrize("z", [0.0, *(-(10.0**p) for p in range(-8, 5)), -0.99, -1.01, -2.5])
def test_coefficients_agree_with_high_precision(z, step):
    found = coefficients(np.array([z / step]), step)
    for name, value, truth in zip(found._fields, found, exact_coefficients(z, step), strict=True):
        assert value[0] == pytest.approx(truth, rel=2e-13, abs=1e-300), name


def solve(v, linear, nonlinear, time, steps):
    c = coefficients(linear, time / steps)
    for _ in range(steps):
        v = advance(v, nonlinear, c)
    return v


@pytest.mark.parametrize("time", [1e-3, 1.0, 50.0])
def test_the_linear_part_is_exact(time):
    linear = np.array([0.0, -1e-6, -1.0, -30.0])
    v = solve(np.array([2.0, -1.0, 0.5, 3.0]), linear, np.zeros_like, time, 5)
    np.testing.assert_allclose(
        v, np.array([2.0, -1.0, 0.5, 3.0]) * np.exp(linear * time), rtol=1e-13
    )


def test_a_constant_forcing_is_exact():
    linear, force = np.array([-1e-3, -1.0, -1e3]), np.array([1.0, 2.0, 3.0])
    v = solve(np.zeros(3), linear, lambda v: force, 0.7, 3)
    np.testing.assert_allclose(v, force * np.expm1(linear * 0.7) / linear, rtol=1e-12)


@pytest.mark.parametrize("rate", [0.5, 5.0, 50.0])
def test_order_four_on_the_logistic_equation(rate):
    """v' = −r v + r v², v = 1 / (1 + (1/v₀ − 1) exp(r t)): known, and N is as stiff as L."""
    time, start = 2 / rate, np.array([0.4])
    truth = 1 / (1 + (1 / start - 1) * np.exp(rate * time))
    steps = np.array([8, 16, 32, 64])
    errors = [
        abs(solve(start, np.array([-rate]), lambda v: rate * v**2, time, n) - truth)[0]
        for n in steps
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all((orders > 3.8) & (orders < 4.2)), orders


def orders_of_forced_problem(rate, size):
    """v' = −rate v + size sin t, with (sin t, cos t) as two more unknowns; on its slow solution."""
    exact = lambda t: size * (rate * np.sin(t) - np.cos(t)) / (1 + rate**2)
    start, linear = np.array([exact(0.0), 0.0, 1.0]), np.array([-rate, 0.0, 0.0])
    nonlinear = lambda v: np.array([size * v[1], v[2], -v[1]])
    errors = [abs(solve(start, linear, nonlinear, 1.0, n)[0] - exact(1.0)) for n in (8, 16, 32, 64)]
    return np.log2(np.array(errors[:-1]) / errors[1:])


def test_order_four_on_a_stiff_forced_problem():
    """Cox & Matthews's own example, u' = −100 u + sin t; L h from −12 to −1.6."""
    orders = orders_of_forced_problem(100.0, 1.0)
    assert np.all(orders > 3.5), orders


def test_the_order_falls_to_three_for_very_stiff_problems():
    """Known of this scheme (Hochbruck & Ostermann 2005): L h from −1250 to −156."""
    orders = orders_of_forced_problem(1e4, 1e4)
    assert np.all((orders > 2.8) & (orders < 3.5)), orders


def test_rows_are_independent():
    linear = np.array([-1.0, -7.0])
    rows = np.random.default_rng(0).standard_normal((5, 2))
    together = solve(rows, linear, np.sin, 1.0, 4)
    alone = np.stack([solve(row, linear, np.sin, 1.0, 4) for row in rows])
    np.testing.assert_allclose(together, alone, rtol=1e-14)
