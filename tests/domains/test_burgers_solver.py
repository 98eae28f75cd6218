"""The solver of Burgers' equation against exact solutions and other integrators."""

import numpy as np
import pytest

from sciops.domains import burgers_solver
from sciops.domains.burgers_solver import converge, modes_of, norm, solve_burgers, values_of


def grid(n, length=1.0):
    return np.arange(n) * length / n


def relative(u, truth):
    return np.linalg.norm(u - truth, axis=-1) / np.linalg.norm(truth, axis=-1)


def random_waves(samples=2, n=128, seed=0):
    """Smooth initial conditions of mean 0."""
    rng, x = np.random.default_rng(seed), grid(n)
    k = np.arange(1, 6)[:, None]
    waves = np.concatenate([np.cos(2 * np.pi * k * x), np.sin(2 * np.pi * k * x)])
    return rng.standard_normal((samples, 10)) / np.tile(k[:, 0], 2) ** 2 @ waves


def cole_hopf_wave(x, t, nu, b=0.9):
    """u = −2ν φ_x/φ of φ = 1 + b exp(−4π²νt) cos 2πx, which solves the heat equation."""
    e = b * np.exp(-4 * np.pi**2 * nu * t)
    return 4 * np.pi * nu * e * np.sin(2 * np.pi * x) / (1 + e * np.cos(2 * np.pi * x))


def test_norm_is_the_root_mean_square():
    u = random_waves()
    np.testing.assert_allclose(norm(modes_of(u + 3, 128)), np.sqrt((u**2).mean(-1)))


@pytest.mark.parametrize("length", [1.0, 2.5])
def test_the_exact_wave(length):
    """Scaled to a period L: u(x/L, t/L²)/L solves the same equation."""
    nu, times, n = 0.05, [0.3, 1.0], 128
    scaled = lambda t: cole_hopf_wave(grid(n), t / length**2, nu) / length
    u = solve_burgers(scaled(0.0), nu, times, 1000, length=length)
    np.testing.assert_allclose(u, [scaled(t) for t in times], atol=1e-10)


def test_order_four_in_time():
    nu, a = 0.05, cole_hopf_wave(grid(256), 0, 0.05)
    truth = cole_hopf_wave(grid(256), 1.0, nu)
    errors = [relative(solve_burgers(a, nu, [1.0], s)[0], truth) for s in (64, 128, 256, 512)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all((orders > 3.7) & (orders < 4.3)), orders


def test_spectral_in_space():
    """Each doubling of the grid squares the error, until time stepping or rounding is left."""
    nu, errors = 0.05, []
    for n in (8, 16, 32, 64):
        u = solve_burgers(cole_hopf_wave(grid(n), 0, nu, b=0.8), nu, [0.2], 400)[0]
        errors.append(abs(u - cole_hopf_wave(grid(n), 0.2, nu, b=0.8)).max())
    assert errors[1] < errors[0] / 10 and errors[2] < errors[1] / 100, errors
    assert errors[3] < 1e-9


def test_small_waves_obey_the_heat_equation():
    x, nu, t = grid(64), 0.1, 0.03
    for k in (1, 3, 7):
        wave = np.cos(2 * np.pi * k * x + 1)
        u = solve_burgers(1e-7 * wave, nu, [t], 4)[0] / 1e-7
        decay = np.exp(-4 * np.pi**2 * k**2 * nu * t)
        np.testing.assert_allclose(u, wave * decay, atol=1e-6 * decay)


def test_another_integrator_agrees():
    """Method of lines with dense differentiation matrices and LSODA."""
    from scipy.integrate import solve_ivp

    n, nu, a = 129, 0.02, values_of(modes_of(random_waves(1)[0], 129), 129)
    gaps = np.arange(1, n)
    row = np.concatenate([[0.0], np.pi * (-1.0) ** (gaps + 1) / np.sin(np.pi * gaps / n)])
    first = np.array([np.roll(row, i) for i in range(n)])  # Trefethen (2000), odd n, period 1
    second = first @ first
    rate = lambda t, u: -u * (first @ u) + nu * (second @ u)
    options = dict(method="LSODA", rtol=1e-10, atol=1e-12, t_eval=[0.5, 1.0])
    truth = solve_ivp(rate, (0, 1), a, **options).y.T
    np.testing.assert_allclose(solve_burgers(a, nu, [0.5, 1.0], 1000), truth, atol=2e-8)


def test_mean_is_conserved_and_energy_decays():
    a = random_waves(3) + 0.3
    frames = np.concatenate([a[:, None], solve_burgers(a, 0.01, np.arange(1, 11) / 10, 400)], 1)
    np.testing.assert_allclose(frames.mean(-1), np.repeat(a.mean(-1)[:, None], 11, 1), atol=1e-14)
    assert np.all(np.diff((frames**2).mean(-1)) < 0)


def test_products_are_not_aliased():
    """The rate of change of modes below N/2 is the exact convolution −(ik/2) Σ u_j u_{k−j}."""
    n, h = 16, 1e-7
    modes = np.zeros(8, complex)
    rng = np.random.default_rng(0)
    modes[1:] = rng.standard_normal(7) + 1j * rng.standard_normal(7)
    both = np.concatenate([modes[:0:-1].conj(), modes])  # −7 … 7
    product = np.convolve(both, both)[14:22]  # 0 … 7 of −14 … 14
    later = modes_of(solve_burgers(values_of(modes, n), 1e-9, [h], 1)[0], n)
    exact = -0.5j * 2 * np.pi * np.arange(8) * product
    np.testing.assert_allclose((later - modes) / h, exact, atol=2e-4 * abs(exact).max())


def test_an_error_out_of_reach_is_not_passed_over(monkeypatch):
    monkeypatch.setattr(burgers_solver, "MOST_STEPS", 64)
    with pytest.raises(ValueError, match=r"viscosity=0.01 .* 1e-08 in steps=64; allow a larger"):
        converge(modes_of(random_waves(1), 128), 0.01, [1.0], 1e-8)
