"""What a telescope sees of the sky: stars and galaxies, blurred by atmosphere and optics.

    PSF       a Moffat profile (β − 1)/(π α²) · (1 + r²/α²)^−β with β = 2.5, as a sum of four
              Gaussians, within 2 % of it out to four times its full width at half maximum
    stars     their number is Poisson, their flux F a power law, N(> F) ∝ F^−1.2 from 40 electrons
              on, their places anywhere within the stamp and a margin around it
    galaxies  Sérsic profiles exp(−b ((r/Rₑ)^(1/n) − 1)), b = 2n − 1/3, on ellipses: n = 1 is an
              exponential disc, n = 4 an elliptical galaxy

Numbers of stars and fluxes are those of a crowded field in a nearby galaxy, seen for 150 s by
Hubble's STIS; fields from empty to twice as crowded are drawn.
"""

import math
from dataclasses import dataclass

import numpy as np

from .spots import smoothed, spots_image

SLOPE, FAINTEST, BRIGHTEST = 1.2, 40.0, 1e6  # of N(> F); electrons
STARS = (40.0, 1200.0)  # in 128² pixels, log-uniform
GALAXIES = 3.0  # in 128² pixels, the mean
GALAXY_FLUX = (200.0, 2e4)  # electrons, log-uniform
RADIUS = (1.5, 8.0)  # half of the light, pixels, log-uniform
FLATTEST = 0.25  # axis ratio of a disc seen from the side
WIDTHS = (1.6, 4.0)  # full width of the PSF at half maximum, pixels
MARGIN = 12  # pixels around a stamp, from which light comes in
# deviation of each Gaussian in units of the full width, and its share of the light
PSF = ((0.3755, 0.3676), (0.6530, 0.4341), (1.1419, 0.1611), (2.2689, 0.0372))


@dataclass(frozen=True)
class Psf:
    """Of a given full width at half maximum, in pixels."""

    width: float

    def of_points(self, y: np.ndarray, x: np.ndarray, flux: np.ndarray, size: int) -> np.ndarray:
        """The image (size, size) of stars."""
        parts = (spots_image(y, x, share * flux, s * self.width, size) for s, share in PSF)
        return sum(parts)

    def of_image(self, image: np.ndarray) -> np.ndarray:
        """The image of light that is spread already."""
        return sum(share * smoothed(image, s * self.width) for s, share in PSF)


def sky_scene(size: int, rng: np.random.Generator) -> np.ndarray:
    """Expected electrons of stars and galaxies, (size, size)."""
    psf = Psf(rng.uniform(*WIDTHS))
    area = (size + 2 * MARGIN) ** 2 / 128**2
    canvas = psf.of_image(galaxies(rng.poisson(GALAXIES * area), size + 2 * MARGIN, rng))
    y, x, flux = stars(rng.poisson(log_uniform(*STARS, rng) * area), size, rng)
    return canvas[MARGIN:-MARGIN, MARGIN:-MARGIN] + psf.of_points(y, x, flux, size)


def stars(count: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Places y, x and fluxes of stars, in the stamp and the margin around it."""
    y, x = rng.uniform(-MARGIN - 0.5, size + MARGIN - 0.5, (2, count))
    most = 1 - (BRIGHTEST / FAINTEST) ** -SLOPE
    flux = FAINTEST * (1 - most * rng.uniform(size=count)) ** (-1 / SLOPE)
    return y, x, flux


def galaxies(count: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """The light of galaxies before it is blurred, (size, size)."""
    y, x = rng.uniform(-0.5, size - 0.5, (2, count))
    flux, radius = log_uniform(*GALAXY_FLUX, rng, count), log_uniform(*RADIUS, rng, count)
    ratio, angle = rng.uniform(FLATTEST, 1, count), rng.uniform(0, np.pi, count)
    index = rng.choice([1.0, 1.0, 2.0, 4.0], count)
    canvas = np.zeros((size, size))
    for one in zip(y, x, flux, radius, ratio, angle, index, strict=True):
        canvas += sersic(*one, size)
    return canvas


def sersic(
    y: float,
    x: float,
    flux: float,
    radius: float,
    ratio: float,
    angle: float,
    index: float,
    size: int,
) -> np.ndarray:
    """A galaxy at (y, x) whose long axis makes `angle` with the rows; sums to about its flux."""
    down, along = (np.arange(size) - place for place in (y, x))
    u = np.cos(angle) * along + np.sin(angle) * down[:, None]
    v = np.cos(angle) * down[:, None] - np.sin(angle) * along
    r = np.sqrt(u**2 * ratio + v**2 / ratio + 0.1) / radius  # + 0.1: a pixel is no point
    b = 2 * index - 1 / 3
    light = 2 * math.pi * index * math.exp(b) * b ** (-2 * index) * math.gamma(2 * index)
    return flux / (light * radius**2) * np.exp(-b * (r ** (1 / index) - 1))


def log_uniform(
    low: float, high: float, rng: np.random.Generator, count: int | None = None
) -> np.ndarray:
    return np.exp(rng.uniform(np.log(low), np.log(high), count))
