"""The diffusion solver against sparse matrices and exact solutions."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from sciops.domains import diffusion
from sciops.domains.darcy import DOMAIN, coefficient
from sciops.domains.diffusion import solve_darcy

random = np.random.default_rng(0)


def matrix(a: np.ndarray, faces: str, hx: float, hy: float) -> scipy.sparse.csc_array:
    """A for one sample, node by node."""
    n, m = a.shape
    unknown = {(i, j): k for k, (i, j) in enumerate(np.ndindex(n - 2, m - 2))}
    dense = scipy.sparse.lil_array((len(unknown), len(unknown)))
    for (i, j), k in unknown.items():
        here = a[i + 1, j + 1]
        for di, dj, h in ((1, 0, hx), (-1, 0, hx), (0, 1, hy), (0, -1, hy)):
            there = a[i + 1 + di, j + 1 + dj]
            mean = 2 / (1 / here + 1 / there) if faces == "harmonic" else (here + there) / 2
            dense[k, k] += mean / h**2
            if (i + di, j + dj) in unknown:
                dense[k, unknown[i + di, j + dj]] = -mean / h**2
    return dense.tocsc()


def norm(values: np.ndarray) -> np.ndarray:
    return np.linalg.norm(values.reshape(len(values), -1), axis=1)


def darcy_field(n: int, samples=range(2), **parameters) -> np.ndarray:
    return coefficient(samples, n, 0, DOMAIN.with_defaults(parameters))


@pytest.mark.parametrize("faces", ["harmonic", "arithmetic"])
@pytest.mark.parametrize("spacing", [None, (0.3, 0.05)])
@pytest.mark.parametrize("shape", [(3, 3), (17, 17), (9, 24), (31, 12)])
def test_agrees_with_a_sparse_matrix(shape, faces, spacing):
    a = np.exp(random.standard_normal((2, *shape)))
    f = random.standard_normal((2, *shape))
    u, _ = solve_darcy(a, f, faces=faces, residual=1e-10, spacing=spacing)
    h = spacing or [1 / (size - 1) for size in shape]
    for one_a, one_f, one_u in zip(a, f, u, strict=True):
        right = one_f[1:-1, 1:-1].ravel()
        expected = scipy.sparse.linalg.spsolve(matrix(one_a, faces, *h), right)
        inner = one_u[1:-1, 1:-1].ravel()
        assert np.linalg.norm(inner - expected) <= 1e-7 * np.linalg.norm(expected)
        assert np.count_nonzero(one_u) == inner.size  # the edge is zero


def test_is_of_second_order_for_a_smooth_problem():
    """u = sin(πx) sin(2πy), a = 1 + x/2 + y²."""
    errors = []
    for n in (17, 33, 65):
        x, y = np.meshgrid(*[np.linspace(0, 1, n)] * 2, indexing="ij")
        a, pi = 1 + x / 2 + y**2, np.pi
        u = np.sin(pi * x) * np.sin(2 * pi * y)
        u_x, u_y = (
            pi * np.cos(pi * x) * np.sin(2 * pi * y),
            2 * pi * np.sin(pi * x) * np.cos(2 * pi * y),
        )
        f = -(u_x / 2 + 2 * y * u_y - 5 * pi**2 * a * u)
        errors.append(np.abs(solve_darcy(a[None], f)[0][0] - u).max())
    assert errors[0] < 0.03
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.1)


def interface_error(n: int, faces: str, left=12.0, right=3.0) -> float:
    """a jumps at x = ½, a face if n is even; u = φ(x) sin(πy) where −(aφ')' = 1."""
    x, y = np.meshgrid(*[np.linspace(0, 1, n)] * 2, indexing="ij")
    c = (1 / left + 3 / right) / 8 / (0.5 / left + 0.5 / right)  # aφ' = c − x everywhere
    phi_left = (c * x - x**2 / 2) / left
    phi_right = -(c * (1 - x) - (1 - x**2) / 2) / right
    phi, a = np.where(x < 0.5, phi_left, phi_right), np.where(x < 0.5, left, right)
    f = (1 + a * np.pi**2 * phi) * np.sin(np.pi * y)
    u = solve_darcy(a[None], f, faces=faces)[0][0]
    return np.abs(u - phi * np.sin(np.pi * y)).max() / np.abs(phi).max()


def test_harmonic_faces_are_of_second_order_across_a_jump():
    coarse, fine = (interface_error(n, "harmonic") for n in (32, 64))
    assert fine < 1e-3 and coarse / fine > 3.5
    assert interface_error(64, "arithmetic") > 10 * fine


@pytest.mark.parametrize("faces", ["harmonic", "arithmetic"])
def test_inverse_is_symmetric_and_positive(faces):
    n, m = 7, 8
    impulses = np.zeros(((n - 2) * (m - 2), n, m))
    impulses[:, 1:-1, 1:-1] = np.eye(len(impulses)).reshape(-1, n - 2, m - 2)
    a = np.exp(random.standard_normal((1, n, m))).repeat(len(impulses), axis=0)
    columns = solve_darcy(a, impulses, faces=faces, residual=1e-13)[0][:, 1:-1, 1:-1]
    inverse = columns.reshape(len(impulses), -1)
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-9, atol=1e-12 * inverse.max())
    assert np.linalg.eigvalsh(inverse).min() > 0


def test_iterations_do_not_depend_on_the_grid():
    counts = {n: max(solve_darcy(darcy_field(n), 1.0)[1]) for n in (43, 85, 141, 255, 421)}
    assert max(counts.values()) <= 25 and min(counts.values()) >= 10
    assert max(counts.values()) - min(counts.values()) <= 3


@pytest.mark.parametrize("residual", [1e-2, 1e-8, 1e-11])
def test_residual_is_what_was_asked_for(residual):
    a, n = darcy_field(65), 65
    f = random.standard_normal(a.shape)
    u, _ = solve_darcy(a, f, residual=residual)
    for one_a, one_f, one_u in zip(a, f, u, strict=True):
        right = one_f[1:-1, 1:-1].ravel()
        left = matrix(one_a, "harmonic", 1 / (n - 1), 1 / (n - 1)) @ one_u[1:-1, 1:-1].ravel()
        relative = np.linalg.norm(left - right) / np.linalg.norm(right)
        assert residual / 1e3 < relative <= residual * (1 + 1e-3)


def test_samples_do_not_depend_on_their_batch():
    a, f = darcy_field(33, range(5)), random.standard_normal((5, 33, 33))
    a[1] = 1.0  # converges at once, long before the others
    u, iterations = solve_darcy(a, f)
    assert iterations[1] == 2 and min(np.delete(iterations, 1)) > 10
    for order in ([4, 1, 0], [2], [3, 3, 1]):
        some, counts = solve_darcy(a[order], f[order])
        assert np.array_equal(some, u[order]) and np.array_equal(counts, iterations[order])


def test_is_linear_in_f_and_inverse_in_a():
    a, f, g = darcy_field(33), *random.standard_normal((2, 2, 33, 33))
    solve = lambda a, f: solve_darcy(a, f, residual=1e-12)[0]
    expected = 2 * solve(a, f) - 3 * solve(a, g)
    assert max(norm(solve(a, 2 * f - 3 * g) - expected) / norm(expected)) < 1e-11
    assert max(norm(7e-9 * solve(7e-9 * a, f) - solve(a, f)) / norm(solve(a, f))) < 1e-11


def test_no_forcing_no_flow():
    f = np.zeros((2, 9, 9))
    f[1] = 1.0
    u, iterations = solve_darcy(np.ones((2, 9, 9)), f)
    assert not u[0].any() and u[1].any() and iterations[0] == 0


def test_positive_forcing_makes_positive_pressure():
    f = np.zeros((41, 41))
    f[3, 30] = 1.0
    u, _ = solve_darcy(darcy_field(41), f, residual=1e-12)
    assert u[:, 1:-1, 1:-1].min() > 0
    assert np.unravel_index(u[0].argmax(), u[0].shape) == (3, 30)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_bad_coefficients_are_named(bad):
    a = np.ones((3, 5, 5))
    a[2, 4, 4] = bad
    with pytest.raises(ValueError, match="sample 2"):
        solve_darcy(a, 1.0)


def test_other_bad_input_is_refused():
    a = np.ones((1, 5, 5))
    for arguments, words in [
        (dict(a=a[0], f=1.0), "batch, n, m"),
        (dict(a=a[:, :2], f=1.0), "n, m ≥ 3"),
        (dict(a=a, f=np.nan), "f must be finite"),
        (dict(a=a, f=1.0, residual=0.0), "residual"),
        (dict(a=a, f=1.0, residual=1e-20), "residual"),
        (dict(a=a, f=np.ones((2, 5, 5))), "broadcast"),
        (dict(a=a, f=1.0, faces="geometric"), "'harmonic', 'arithmetic'"),
        (dict(a=a, f=1.0, spacing=(0.1, 0.0)), "spacing"),
    ]:
        with pytest.raises(ValueError, match=words):
            solve_darcy(**arguments)


def test_what_does_not_converge_is_an_error(monkeypatch):
    monkeypatch.setattr(diffusion, "MOST_ITERATIONS", 5)
    with pytest.raises(ValueError, match="in 5 iterations"):
        solve_darcy(darcy_field(33), 1.0)
