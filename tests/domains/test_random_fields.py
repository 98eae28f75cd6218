"""Random fields against the sum of basis functions that defines them."""

import itertools

import numpy as np
import pytest

from sciops.domains.random_fields import neumann, normal_numbers, periodic

FIELDS = {"periodic": periodic, "neumann": neumann}


def decay(squares):
    return (1 + squares) ** -1.5


def shell_order(size, ndim):
    """Indices in the order in which the numbers are drawn: by largest index, then row by row."""
    return sorted(itertools.product(range(size), repeat=ndim), key=lambda k: (max(k), k))


def slow_periodic(sample, n, ndim, modes, seed):
    half = (min(modes, n) - 1) // 2
    signed = [0, *itertools.chain.from_iterable((k, -k) for k in range(1, half + 1))]
    x = np.stack(np.meshgrid(*[np.arange(n) / n] * ndim, indexing="ij"))
    order = shell_order(len(signed), ndim)
    u = np.zeros((n,) * ndim)
    for number, index in zip(
        normal_numbers([sample], len(order), seed=seed)[0], order, strict=True
    ):
        k = np.array([signed[i] for i in index])
        if k.any():
            angle = 2 * np.pi * np.tensordot(k, x, 1)
            u += decay(float(k @ k)) * number * (np.cos(angle) + np.sin(angle))
    return u


def slow_neumann(sample, n, ndim, modes, seed):
    x = np.linspace(0, 1, n)
    order = shell_order(min(modes, n), ndim)
    u = np.zeros((n,) * ndim)
    for number, k in zip(normal_numbers([sample], len(order), seed=seed)[0], order, strict=True):
        if any(k):
            term = decay(float(np.dot(k, k))) * number
            for axis, frequency in enumerate(k):
                cosine = np.sqrt(2) * np.cos(np.pi * frequency * x) if frequency else np.ones(n)
                term = term * cosine.reshape([-1 if a == axis else 1 for a in range(ndim)])
            u += term
    return u


SLOW = {"periodic": slow_periodic, "neumann": slow_neumann}


@pytest.mark.parametrize("modes", [3, 6, 7, 100])
@pytest.mark.parametrize("n", [8, 9])
@pytest.mark.parametrize("ndim", [1, 2])
@pytest.mark.parametrize("kind", FIELDS)
def test_fields_are_the_sum_of_basis_functions(kind, ndim, n, modes):
    fast = FIELDS[kind]([4, 11], n, decay, seed=2, ndim=ndim, modes=modes)
    slow = np.stack([SLOW[kind](s, n, ndim, modes, 2) for s in (4, 11)])
    np.testing.assert_allclose(fast, slow, atol=1e-13)


@pytest.mark.parametrize("ndim", [1, 2])
@pytest.mark.parametrize("fine", [33, 40])
@pytest.mark.parametrize("coarse", [16, 17])
def test_a_coarse_periodic_field_is_the_low_modes_of_a_fine_one(coarse, fine, ndim):
    small = periodic([3], coarse, decay, seed=1, ndim=ndim)[0]
    large = periodic([3], fine, decay, seed=1, ndim=ndim)[0]
    half = (coarse - 1) // 2
    low = np.r_[0 : half + 1, -half:0]
    pick = np.ix_(*[low] * ndim)
    spectra = [np.fft.fftn(u, norm="forward")[pick] for u in (small, large)]
    np.testing.assert_allclose(*spectra, atol=1e-15)
    if coarse % 2 == 0:
        assert abs(np.fft.fftn(small)[coarse // 2]).max() < 1e-12  # no Nyquist frequency


@pytest.mark.parametrize("ndim", [1, 2])
def test_a_band_limited_neumann_field_is_the_same_on_nested_closed_grids(ndim):
    coarse, fine = (neumann([3], n, decay, seed=1, ndim=ndim, modes=9)[0] for n in (9, 33))
    np.testing.assert_allclose(fine[(slice(None, None, 4),) * ndim], coarse, atol=1e-14)


@pytest.mark.parametrize("kind", FIELDS)
def test_samples_do_not_depend_on_their_batch(kind):
    field = lambda samples, seed=5: FIELDS[kind](samples, 16, decay, seed=seed)
    batch = field([9, 2, 10**9 + 2])
    np.testing.assert_allclose(batch[1], field([2])[0], atol=1e-15)
    assert np.array_equal(batch, field([9, 2, 10**9 + 2]))
    others = [*batch, field([2], seed=6)[0], field([5], seed=2)[0]]
    for one, other in itertools.combinations(others, 2):
        assert abs(one - other).max() > 0.1


@pytest.mark.parametrize("ndim", [1, 2])
@pytest.mark.parametrize("kind", FIELDS)
def test_variance_is_the_sum_of_squared_amplitudes(kind, ndim):
    """Of 2000 samples: the standard error of the mean square is below 4 % here; 4 σ are allowed."""
    n, modes = 10, 9
    u = FIELDS[kind](range(2000), n, decay, seed=0, ndim=ndim, modes=modes)
    weights = np.ones(n) / n
    if kind == "neumann":  # trapezia
        weights = np.array([0.5, *[1] * (n - 2), 0.5]) / (n - 1)
    square, mean = u**2, u
    for _ in range(ndim):
        square, mean = square @ weights, mean @ weights
    ks = range(-4, 5) if kind == "periodic" else range(modes)
    squares = np.array([np.dot(k, k) for k in itertools.product(ks, repeat=ndim) if any(k)])
    variance = np.sum(decay(squares) ** 2)
    error = square.std() / np.sqrt(len(square))
    assert error < 0.04 * variance
    assert abs(square.mean() - variance) < 4 * error
    np.testing.assert_allclose(mean, 0, atol=1e-13)  # of each sample
    assert np.all(abs(u.mean(0)) < 5 * u.std(0) / np.sqrt(2000))  # at each point


def test_numbers_are_standard_normal():
    from scipy.stats import kstest

    numbers = normal_numbers(range(200), 100, seed=0)
    assert kstest(numbers.ravel(), "norm").pvalue > 0.01
    correlation = np.corrcoef(numbers)
    assert abs(correlation[~np.eye(200, dtype=bool)]).max() < 0.5  # 5 σ of independent rows
