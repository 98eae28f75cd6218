"""Exponential time differencing for stiff equations in Fourier space, of order four.

    dv/dt = L v + N(v),        L diagonal and integrated exactly

The Runge–Kutta scheme is that of Cox & Matthews (2002), eq. 26–29; its coefficients, differences of
nearly equal numbers where L h is small, are there means over a circle around L h (Kassam &
Trefethen 2005).  For |L h| ≥ 1 the formulas themselves are accurate; a circle of fixed radius would
pass near their singularity 0.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

CIRCLE_POINTS = 32


class Coefficients(NamedTuple):
    """What a step of fixed length needs, each of the shape of L."""

    whole: np.ndarray  # exp(L h)
    half: np.ndarray  # exp(L h / 2)
    middle: np.ndarray  # h (exp(L h/2) − 1) / (L h)
    first: np.ndarray
    second: np.ndarray
    third: np.ndarray


def coefficients(linear: np.ndarray, step: float) -> Coefficients:
    """Coefficients for a real diagonal L and a time step."""
    angles = np.pi * (np.arange(1, CIRCLE_POINTS + 1) - 0.5) / CIRCLE_POINTS
    z = step * linear[..., None]
    z = z + np.where(abs(z) < 1, 2.0, 0.0) * np.exp(1j * angles)  # the lower half is conjugate
    e, mean = np.exp(z), lambda values: step * values.mean(-1).real
    return Coefficients(
        whole=np.exp(step * linear),
        half=np.exp(step * linear / 2),
        middle=mean((np.exp(z / 2) - 1) / z),
        first=mean((-4 - z + e * (4 - 3 * z + z**2)) / z**3),
        second=mean((2 + z + e * (z - 2)) / z**3),
        third=mean((-4 - 3 * z - z**2 + e * (4 - z)) / z**3),
    )


def advance(
    v: np.ndarray, nonlinear: Callable[[np.ndarray], np.ndarray], c: Coefficients
) -> np.ndarray:
    """v one step later."""
    n_v = nonlinear(v)
    a = c.half * v + c.middle * n_v
    n_a = nonlinear(a)
    b = c.half * v + c.middle * n_a
    n_b = nonlinear(b)
    d = c.half * a + c.middle * (2 * n_b - n_v)
    return c.whole * v + c.first * n_v + 2 * c.second * (n_a + n_b) + c.third * nonlinear(d)
