"""The flow solver against exact solutions, invariants and an independent solver."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sciops.domains import random_fields
from sciops.domains.vorticity import (
    Unstable,
    coefficients,
    continuation_defects,
    highest,
    solve_vorticity,
    stable_step,
    values,
    velocity,
)


def smooth_fields(count, n, modes=9, seed=0):
    """Random vorticity of a few units."""
    return random_fields.periodic(
        range(count), n, lambda squares: 3 / (1 + squares), seed=seed, modes=modes
    )


def grid(n):
    return np.meshgrid(np.arange(n) / n, np.arange(n) / n, indexing="ij")


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("n", [16, 17])
def test_coefficients_are_those_of_the_definition(n):
    x, y = grid(n)
    w = 3 + np.cos(2 * np.pi * (2 * x - 3 * y)) + 4 * np.sin(2 * np.pi * 5 * x)
    c = coefficients(w, 6)
    assert c.shape == (13, 7)
    assert np.isclose(c[0, 0], 3) and np.isclose(c[-2, 3], 0.5)  # k = (−2, 3)
    assert np.isclose(c[5, 0], -2j) and np.isclose(c[-5, 0], 2j)
    assert np.isclose(np.abs(c).sum(), 3 + 0.5 + 4)
    assert np.allclose(values(c, n), w, atol=1e-13)
    assert np.allclose(values(c, 31)[::31, ::31], w[::n, ::n])


def test_restriction_to_a_coarse_grid_keeps_the_low_frequencies():
    x, y = grid(32)
    low, high = np.cos(2 * np.pi * (x + 3 * y)), np.sin(2 * np.pi * 9 * x)
    assert np.allclose(values(coefficients(low + high, 15), 16), low[::2, ::2], atol=1e-13)


def test_velocity_is_free_of_divergence_and_has_the_vorticity():
    w = smooth_fields(2, 256, modes=7)
    u, v = velocity(w)
    h = 1 / 256

    def d(f, axis):  # order two is enough to see a wrong sign or factor
        return (np.roll(f, -1, axis) - np.roll(f, 1, axis)) / (2 * h)

    assert np.abs(d(u, 1) + d(v, 2)).max() < 2e-3 * np.abs(d(u, 1)).max()
    assert relative(d(v, 1) - d(u, 2), w) < 2e-3


def test_velocity_is_that_of_a_stream_function():
    """ψ from the five-point Laplacian, the velocity from differences of ψ."""
    n, h = 32, 1 / 32
    w = smooth_fields(1, n, modes=5)[0]
    shift = np.roll(np.eye(n), 1, 0)
    second = (shift + shift.T - 2 * np.eye(n)) / h**2
    laplacian = np.kron(second, np.eye(n)) + np.kron(np.eye(n), second)
    psi = np.linalg.lstsq(-laplacian, w.ravel(), rcond=1e-10)[0].reshape(n, n)
    u = (np.roll(psi, -1, 1) - np.roll(psi, 1, 1)) / (2 * h)
    v = -(np.roll(psi, -1, 0) - np.roll(psi, 1, 0)) / (2 * h)
    assert relative(np.stack([u, v]), velocity(w)) < 0.03


@pytest.mark.parametrize("lengths", [(1.0, 1.0), (2.0, 0.5)])
def test_taylor_green_vortices_decay_exactly(lengths):
    x, y = grid(24)
    k, nu, times = (2 * np.pi / lengths[0], 2 * np.pi * 2 / lengths[1]), 1e-3, [0.7, 1.0, 3.0]
    w0 = np.cos(2 * np.pi * x) * np.sin(2 * np.pi * 2 * y)
    w = solve_vorticity(w0[None], nu, times, max_step=0.1, lengths=lengths)[0]
    for frame, t in zip(w, times, strict=True):
        exact = w0 * np.exp(-nu * (k[0] ** 2 + k[1] ** 2) * t)
        assert np.abs(frame - exact).max() < 1e-12


def test_advection_has_the_right_direction():
    """A short step without viscosity changes w by −u·∇w, pointwise."""
    w = smooth_fields(1, 48, modes=9)
    step, (u, v) = 1e-5, velocity(w)
    rate = (solve_vorticity(w, 0.0, [step], max_step=step)[:, 0] - w) / step
    c = coefficients(w, 15)
    k = np.r_[0:16, -15:0]
    w_x, w_y = values(2j * np.pi * k[:, None] * c, 48), values(2j * np.pi * np.arange(16) * c, 48)
    assert relative(rate, -(u * w_x + v * w_y)) < 1e-3


def test_order_four_in_time():
    w0 = smooth_fields(2, 32)
    runs = [solve_vorticity(w0, 1e-3, [1.0], max_step=1 / s) for s in (32, 64, 128, 256)]
    errors = [np.linalg.norm(a - b) for a, b in pairwise(runs)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 3.7).all() and (orders < 4.6).all(), orders


def test_spectral_convergence_in_space():
    w0 = smooth_fields(1, 16, modes=7)
    runs = [
        solve_vorticity(w0, 5e-3, [0.5], max_step=1 / 100, solver_resolution=n)
        for n in (24, 32, 48, 96)
    ]
    errors = [relative(run, runs[-1]) for run in runs[:-1]]
    assert errors[1] < errors[0] / 10 and errors[2] < errors[1] / 100 and errors[2] < 1e-7, errors


def test_energy_and_enstrophy_are_conserved_without_viscosity():
    w0 = smooth_fields(2, 48, modes=15)

    def invariants(w):
        return (velocity(w) ** 2).sum(0).mean((-2, -1)), (w**2).mean((-2, -1))

    drifts = []
    for step in (1 / 200, 1 / 400):
        w = solve_vorticity(w0, 0.0, [1.0], max_step=step, resolution=48)[:, 0]
        pairs = zip(invariants(w), invariants(w0), strict=True)
        drifts.append(max(np.abs(after / before - 1).max() for after, before in pairs))
    assert drifts[1] < 1e-6 and drifts[1] < drifts[0] / 10, drifts


def test_flow_agrees_with_an_independent_solver():
    """Full complex transforms, −u·∇w in advective form, and an adaptive method of order eight."""
    n, nu = 24, 2e-3
    w0 = smooth_fields(1, n, modes=7)[0]
    x, y = grid(n)
    f = np.sin(2 * np.pi * (x + y)) + np.cos(2 * np.pi * (x - 2 * y))
    k = np.fft.fftfreq(n, 1 / n)
    kx, ky = 2j * np.pi * k[:, None], 2j * np.pi * k
    laplacian = (kx**2 + ky**2).real
    kept = np.hypot(*np.meshgrid(k, k)) <= highest(n)

    def rate(_, w):
        c = np.fft.fft2(w.reshape(n, n)) * kept
        psi = -c / np.where(laplacian == 0, np.inf, laplacian)
        u, v, w_x, w_y = (np.fft.ifft2(s).real for s in (ky * psi, -kx * psi, kx * c, ky * c))
        advection = np.fft.fft2(f - u * w_x - v * w_y) * kept
        return np.fft.ifft2(advection + nu * laplacian * c).real.ravel()

    start = np.fft.ifft2(np.fft.fft2(w0) * kept).real.ravel()
    times = [0.3, 1.0]
    other = solve_ivp(rate, (0, 1), start, "DOP853", times, rtol=1e-9, atol=1e-9).y.T
    ours = solve_vorticity(w0[None], nu, times, max_step=1 / 200, forcing=f)
    assert relative(ours, other.reshape(ours.shape)) < 1e-7


def test_forcing_from_rest_grows_linearly_at_first():
    x, y = grid(16)
    f = 0.1 * (np.sin(2 * np.pi * (x + y)) + np.cos(2 * np.pi * (x + y)))
    w = solve_vorticity(np.zeros((1, 16, 16)), 1e-3, [0.01, 1.0], max_step=0.01, forcing=f)[0]
    assert relative(w[0], 0.01 * f) < 1e-3
    rate = 1e-3 * 8 * np.pi**2  # one diagonal wave does not advect itself, so this is exact
    assert np.allclose(w[1], f * (1 - np.exp(-rate)) / rate, atol=1e-13)


def test_sides_scale():
    """Twice the lengths and twice the time are the same flow with half the vorticity."""
    w0 = smooth_fields(1, 32)
    unit = solve_vorticity(w0, 1e-3, [0.5], max_step=0.01)
    wide = solve_vorticity(w0 / 2, 2e-3, [1.0], max_step=0.02, lengths=(2.0, 2.0))
    assert relative(2 * wide, unit) < 1e-12
    assert np.isclose(stable_step(w0 / 2, 32, (2.0, 2.0)), 2 * stable_step(w0, 32))


def test_the_stable_step_is_stable_and_four_times_as_much_is_not():
    w0 = smooth_fields(1, 32, modes=19)
    step = stable_step(w0, 32)
    solve_vorticity(w0, 1e-4, [2.0], max_step=step)
    with pytest.raises(Unstable, match=r"viscosity=0.0001 with steps=\d+ .*take more steps"):
        solve_vorticity(w0, 1e-4, [60.0], max_step=4 * step)


@pytest.mark.parametrize("times", [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
def test_times_must_increase(times):
    with pytest.raises(ValueError, match="increasing"):
        solve_vorticity(np.zeros((1, 8, 8)), 1e-3, times, max_step=0.1)


def test_continuation_sees_one_bad_frame_wherever_it_is():
    equation = {"viscosity": 1e-3, "forcing": np.zeros((32, 32)), "lengths": (1.0, 1.0)}
    times = np.arange(1, 10) / 10
    w = solve_vorticity(smooth_fields(3, 32), 1e-3, times, max_step=0.01)
    assert continuation_defects(w, times, solver_resolution=32, **equation).max() < 2e-3
    for gone in range(1, 8):
        kept, even = np.delete(w, gone, 1), times[:-1]
        assert continuation_defects(kept, even, solver_resolution=32, **equation).min() > 0.3
    w[1, 3, 0, 0] = np.nan
    bad = continuation_defects(w, times, solver_resolution=32, **equation)
    assert np.isinf(bad[1]) and bad[[0, 2]].max() < 2e-3
