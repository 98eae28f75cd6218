"""The solver of Burgers' equation, periodic in x.

    u_t + (u²/2)_x = ν u_xx

The state is the Fourier modes |k| < N/2 of a grid of N points.  Products are formed on a grid of
about 3N/2 points, so nothing is aliased; diffusion is integrated exactly (ETDRK4).
"""

import math
from collections.abc import Sequence

import numpy as np
import scipy.fft

from . import etdrk

SMALLEST_GRID, LARGEST_GRID = 1024, 2**15
FASTEST = 2.5  # half the jump of the strongest shocks of the random field in `burgers`
MOST_STEPS = 2**17


def modes_of(u: np.ndarray, n: int) -> np.ndarray:
    """Fourier coefficients of the frequencies 0 ≤ k < n/2; those u cannot know are 0.

    >>> abs(modes_of(np.cos(2 * np.pi * np.arange(8) / 8), 6)).round(3).tolist()
    [0.0, 0.5, 0.0]
    """
    wanted = (n + 1) // 2
    known = scipy.fft.rfft(u, norm="forward")[..., : min((u.shape[-1] + 1) // 2, wanted)]
    return np.pad(known, [(0, 0)] * (u.ndim - 1) + [(0, wanted - known.shape[-1])])


def values_of(modes: np.ndarray, n: int) -> np.ndarray:
    """The function with these modes at n points; frequencies of n/2 and above are left out."""
    return scipy.fft.irfft(modes[..., : (n + 1) // 2], n, norm="forward")


def march(
    modes: np.ndarray, viscosity: float, times: Sequence[float], steps: int, *, length: float = 1.0
) -> np.ndarray:
    """Modes (…, time, k) at the times, with (at least) `steps` steps from 0 to the last of them."""
    if np.any(np.diff(times, prepend=0) <= 0):
        raise ValueError(f"times must be positive and increase, got {list(times)}")
    count = modes.shape[-1]
    points = scipy.fft.next_fast_len(3 * count - 2, real=True)  # products reach 2 (count − 1)
    k = 2 * np.pi / length * np.arange(count)

    def nonlinear(v):
        return -0.5j * k * scipy.fft.rfft(values_of(v, points) ** 2, norm="forward")[..., :count]

    frames, before = [], 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # callers look at the result
        for time in times:
            inner = max(1, round(steps * (time - before) / times[-1] + 0.499))
            c = etdrk.coefficients(-viscosity * k**2, (time - before) / inner)
            for _ in range(inner):
                modes = etdrk.advance(modes, nonlinear, c)
            frames.append(modes)
            before = time
    return np.stack(frames, -2)


def solve_burgers(
    a: np.ndarray,
    viscosity: float,
    times: Sequence[float],
    steps: int,
    *,
    length: float = 1.0,
    grid: int | None = None,
) -> np.ndarray:
    """(…, n) values of one period, from x = 0 up to but not including x = length -> (…, time, n).

    times: increasing and positive.  steps: of time, from 0 to the last of them.  grid: of the
    solver, n points by default.

    >>> x = np.arange(16) / 16
    >>> u = solve_burgers(1e-9 * np.sin(2 * np.pi * x), 0.1, [0.5, 1.0], 4)
    >>> bool(np.allclose(u[-1] / u[-1, 4], np.sin(2 * np.pi * x))), u.shape
    (True, (2, 16))
    """
    n = a.shape[-1]
    modes = march(modes_of(a, grid or n), viscosity, times, steps, length=length)
    if not np.isfinite(modes).all():
        raise ValueError(
            f"Burgers' equation with viscosity={viscosity:g} became non-finite in steps={steps}; "
            "more steps are needed, or `a` itself is not finite"
        )
    return values_of(modes, n)


def norm(modes: np.ndarray) -> np.ndarray:
    """Root mean square of what varies in x, by Parseval's theorem."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.sqrt(2 * (np.abs(modes[..., 1:]) ** 2).sum(-1))


def converge(
    modes: np.ndarray, viscosity: float, times: Sequence[float], error: float, *, length=1.0
) -> tuple[np.ndarray, int]:
    """`march` with steps halved until that changes no function by more than the relative error.

    The finer solution is returned; of a method of order 4 it is some 15 times better than that.
    """
    if not np.isfinite(modes).all():
        raise ValueError("the initial velocity is not finite everywhere; there is nothing to solve")
    steps = 2 * len(times)
    coarse = march(modes, viscosity, times, steps, length=length)
    while (steps := 2 * steps) <= MOST_STEPS:
        fine = march(modes, viscosity, times, steps, length=length)
        if np.all(norm(fine - coarse) <= error * norm(fine)):  # not so if anything is NaN
            return fine, steps
        coarse = fine
    raise ValueError(
        f"Burgers' equation with viscosity={viscosity:g} did not reach the relative error "
        f"{error:g} in steps={steps // 2}; allow a larger error"
    )


def grid_for(
    viscosity: float, *, speed: float = FASTEST, length: float = 1.0, least: int = SMALLEST_GRID
) -> int:
    """Points that resolve shocks, a power of two.

    A shock −U tanh(Ux/2ν) has modes ~ exp(−2π²kν/UL): at N = 2UL/ν the last is exp(−2π²) = 3e-9.
    """
    needed = 2 * speed * length / viscosity
    if needed > LARGEST_GRID:
        raise ValueError(
            f"viscosity={viscosity:g} at speeds up to {speed:g} needs {needed:.0f} points for "
            f"its shocks; at most {LARGEST_GRID} are feasible, so take a larger viscosity"
        )
    return 2 ** math.ceil(math.log2(max(needed, least)))
