"""Interpolation is exact on the functions it is made for, on all sizes, odd, even and shifted."""

import math

import numpy as np
import pytest
import scipy.interpolate
import torch

from sciops.evaluation.interpolation import resampler

SIZES = [(8, 16), (16, 8), (9, 8), (8, 9), (7, 21), (21, 7), (12, 12)]


def period(n, shift=0.0):
    return torch.arange(n, dtype=torch.float64) / n + shift


def closed(n):
    return torch.linspace(0, 1, n, dtype=torch.float64)


def waves(s, highest):
    """Waves of all frequencies up to the highest, (1, 1, n)."""
    return sum((2 * math.pi * k * s + k).sin() / (k + 1) for k in range(highest + 1))[None, None]


@pytest.mark.parametrize(("old", "new"), SIZES)
@pytest.mark.parametrize("shift", [0.0, 0.013])
def test_waves_that_both_grids_hold_are_exact(old, new, shift):
    highest = (min(old, new) - 1) // 2
    a, b = period(old), period(new, shift)
    torch.testing.assert_close(resampler([a], [b], [True])(waves(a, highest)), waves(b, highest))


def test_waves_that_the_coarse_grid_cannot_tell_apart_are_left_out():
    fine, coarse = period(16), period(8)
    down = resampler([fine], [coarse], [True])
    low, high = waves(fine, 3), (2 * math.pi * 5 * fine).cos() + (2 * math.pi * 4 * fine).cos()
    torch.testing.assert_close(down(low + high), waves(coarse, 3))


@pytest.mark.parametrize("n", [6, 7, 8])
def test_the_finer_function_goes_through_the_values(n):
    values = torch.randn(2, 3, n, dtype=torch.float64)
    fine = resampler([period(n)], [period(3 * n)], [True])(values)
    torch.testing.assert_close(fine[..., ::3], values)


@pytest.mark.parametrize(("n", "new"), [(8, 24), (9, 31), (20, 9), (21, 8)])
def test_against_zero_padded_transforms(n, new):
    values = np.random.default_rng(0).standard_normal((2, 1, n))
    c = np.fft.fft(values) / n
    k = np.fft.fftfreq(n, 1 / n)
    if new < n:
        c = np.where(2 * abs(k) < new, c, 0)
    s = np.arange(new) / new  # of e^{2πiks} the real part: that of k = −n/2 is the cosine
    expected = (c @ np.exp(2j * np.pi * np.outer(k, s))).real
    got = resampler([period(n)], [period(new)], [True])(torch.as_tensor(values))
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize(("old", "new"), [(5, 17), (9, 6), (9, 12), (300, 43)])
def test_cubic_polynomials_are_exact_on_closed_axes(old, new):
    cubic = lambda s: (1 - 2 * s + 3 * s**3)[None, None]
    a, b = closed(old), closed(new)
    torch.testing.assert_close(resampler([a], [b], [False])(cubic(a)), cubic(b))


def test_uneven_points_and_a_little_beyond_the_ends():
    cubic = lambda s: (s**2 - s**3)[None, None]
    a = closed(9) ** 2
    b = torch.linspace(-0.02, 1.02, 14, dtype=torch.float64)
    torch.testing.assert_close(resampler([a], [b], [False])(cubic(a)), cubic(b))


def test_two_axes_against_a_loop():
    """scipy's spline along every row, a sum of waves along every column."""
    values = torch.randn(2, 3, 6, 7, dtype=torch.float64)
    x, y, x_new, y_new = period(6), closed(7), period(10), closed(12)
    expected = np.empty((2, 3, 10, 12))
    between = scipy.interpolate.CubicSpline(y.numpy(), values.numpy(), axis=-1)(y_new.numpy())
    for i, j, k in np.ndindex(2, 3, 12):
        c = np.fft.rfft(between[i, j, :, k]) / 6 * np.array([1, 2, 2, 1])
        expected[i, j, :, k] = [
            (c * np.exp(2j * np.pi * np.arange(4) * s)).sum().real for s in x_new.tolist()
        ]
    got = resampler([x, y], [x_new, y_new], [True, False])(values)
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_equal_grids_change_nothing_and_the_dtype_stays():
    values = torch.randn(2, 1, 6, 7)
    x, y = period(6), closed(7)
    assert torch.equal(resampler([x, y], [x, y + 1e-9], [True, False])(values), values)
    assert resampler([x, y], [period(9), y], [True, False])(values).dtype == torch.float32
