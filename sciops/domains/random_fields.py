"""Gaussian random fields that are the same functions on every grid.

    u(x) = Σ_k  λ(k) ξ_k φ_k(x),        ξ_k independent standard normal numbers

φ_k are orthonormal in L²([0, 1]ᵈ): cosines and sines of period 1 (`periodic`) or the cosines
√2 cos(πkx) of the Neumann problem (`neumann`).  The numbers ξ of sample s come from a stream of its
own, in shells of growing max |k|: a finer grid draws the same numbers and then more, so the field
on a coarse grid is the low modes of that on a fine one, whatever the batch or how many samples.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import scipy.fft

Spectrum = Callable[[np.ndarray], np.ndarray]  # λ as a function of |k|², k integers


def normal_numbers(samples: Sequence[int], count: int, *, seed: int) -> np.ndarray:
    """(len(samples), count) standard normal numbers; row s begins the same for every count.

    >>> long, short = normal_numbers([5, 7], 6, seed=1), normal_numbers([7], 4, seed=1)
    >>> bool((long[1, :4] == short[0]).all())
    True
    """
    streams = (np.random.default_rng([seed, int(sample)]) for sample in samples)
    return np.stack([stream.standard_normal(count) for stream in streams])


@lru_cache(maxsize=16)
def _shells(size: int, ndim: int) -> tuple[np.ndarray, ...]:
    """Indices 0 … size − 1 of every axis, in shells of growing maximum."""
    grid = np.indices((size,) * ndim).reshape(ndim, -1)
    order = np.lexsort((*grid[::-1], grid.max(0)))
    return tuple(grid[:, order])


def neumann(
    samples: Sequence[int], n: int, spectrum: Spectrum, *, seed: int, ndim: int = 2, modes=None
) -> np.ndarray:
    """(len(samples), n, …) on the closed grid x = 0, 1/(n−1), …, 1, of cosine modes below `modes`.

    The mean, k = 0, is left out.  modes: at most n, which is the default.
    """
    modes = n if modes is None else min(modes, n)
    index = _shells(modes, ndim)
    squares = sum(k.astype(float) ** 2 for k in index)
    amplitude = np.where(squares > 0, spectrum(squares), 0.0)
    for k in index:
        amplitude = amplitude * np.where(k > 0, np.sqrt(2), 1.0)
    numbers = normal_numbers(samples, modes**ndim, seed=seed)
    coefficients = np.zeros((len(samples), *(n,) * ndim))
    coefficients[(slice(None), *index)] = numbers * amplitude
    for axis in range(1, ndim + 1):  # DCT-I: inner terms count twice, the two ends once
        inner = [slice(None)] * (ndim + 1)
        inner[axis] = slice(1, n - 1)
        coefficients[tuple(inner)] /= 2
    return scipy.fft.dctn(coefficients, type=1, axes=range(1, ndim + 1))


def periodic(
    samples: Sequence[int], n: int, spectrum: Spectrum, *, seed: int, ndim: int = 2, modes=None
) -> np.ndarray:
    """(len(samples), n, …) on the grid x = 0, 1/n, …, of frequencies |k| < modes/2 on each axis.

    The mean is left out, and so are the frequencies ±n/2, which a grid cannot tell apart.
    """
    modes = n if modes is None else min(modes, n)
    size = modes - (modes + 1) % 2  # frequencies −h … h; odd numbers of them
    index = _shells(size, ndim)  # 0, 1, −1, 2, −2, … so that shells of |k| stay shells
    k = [np.where(i % 2 == 1, (i + 1) // 2, -(i // 2)) for i in index]
    squares = sum(axis.astype(float) ** 2 for axis in k)
    amplitude = np.where(squares > 0, spectrum(squares), 0.0)
    numbers = normal_numbers(samples, size**ndim, seed=seed)
    real = np.zeros((len(samples), *(n,) * ndim))
    real[(slice(None), *k)] = numbers * amplitude  # Hartley coefficients, negative k wrap around
    spectrum_of_real = scipy.fft.fftn(real, axes=range(1, ndim + 1))
    return spectrum_of_real.real - spectrum_of_real.imag  # Σ h_k cas(2πk·x): cas = cos + sin
