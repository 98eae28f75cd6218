"""Round Gaussian spots on a grid of pixels: all that a simulated detector collects is made of them.

A spot of flux f and deviation σ at (y, x) puts

    f · (Φ((i + ½ − y)/σ) − Φ((i − ½ − y)/σ)) · (Φ((j + ½ − x)/σ) − Φ((j − ½ − x)/σ))

into pixel (i, j), its integral over the pixel; Φ is the normal distribution function, and (0, 0)
the centre of the first pixel.  The two factors make the sum over all spots one matrix product.
"""

import numpy as np
from scipy.special import ndtr


def spots_image(
    y: np.ndarray, x: np.ndarray, flux: np.ndarray, sigma: np.ndarray, size: int
) -> np.ndarray:
    """The sum of all spots, (size, size); y, x, flux: (spots,), sigma: (spots,) or a number.

    >>> spots_image(np.array([1.0]), np.array([1.0]), np.array([100.0]), 0.1, 3).round()[1]
    array([  0., 100.,   0.])
    """
    sigma = np.broadcast_to(sigma, np.shape(y))
    rows, columns = _shares(y, sigma, size), _shares(x, sigma, size)
    return (rows * flux[:, None]).T @ columns


def _shares(centre: np.ndarray, sigma: np.ndarray, size: int) -> np.ndarray:
    """How much of each spot lies in each row of pixels, (spots, size)."""
    edges = np.arange(size + 1) - 0.5
    return np.diff(ndtr((edges - centre[:, None]) / sigma[:, None]), axis=1)


def smoothed(image: np.ndarray, sigma: float) -> np.ndarray:
    """An image (size, size) behind a Gaussian blur; beyond its edges there is nothing."""
    places = np.arange(len(image), dtype=float)
    blur = _shares(places, np.full(len(image), sigma), len(image))  # (from, to)
    return blur.T @ image @ blur
