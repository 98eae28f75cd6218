"""Light comes out as it went in, blurred by the profile that it claims."""

import numpy as np
import pytest

from sciops.cosmic.scene import FAINTEST, MARGIN, SLOPE, Psf, sersic, sky_scene, stars


@pytest.mark.parametrize("width", [2.0, 4.0])
def test_psf_is_moffats_profile(width):
    """Oversampled 8 times, so that a pixel is nearly a point."""
    psf, fine = Psf(8 * width), 601
    image = psf.of_points(*(np.array([v]) for v in (300.0, 300.0, 1.0)), fine)
    r = np.arange(0, int(4 * 8 * width))
    alpha = 8 * width / 2 / np.sqrt(2 ** (1 / 2.5) - 1)
    moffat = 1.5 / (np.pi * alpha**2) * (1 + (r / alpha) ** 2) ** -2.5
    assert np.allclose(image[300, 300 : 300 + len(r)] / moffat, 1, atol=0.025)


def test_psf_keeps_the_light():
    psf = Psf(2.5)
    point = psf.of_points(*(np.array([v]) for v in (40.0, 40.0, 10.0)), 81)
    disc = psf.of_image(sersic(40, 40, 10, 4, 0.7, 0.3, 1.0, 81))
    assert np.isclose(point.sum(), 10, rtol=1e-3)
    assert np.isclose(disc.sum(), 10, rtol=0.03)


@pytest.mark.parametrize("index", [1.0, 2.0, 4.0])
def test_half_of_a_galaxy_is_within_its_radius(index):
    image = sersic(200, 200, 1.0, 12, 1.0, 0.0, index, 401)
    r = np.hypot(*(np.arange(401)[:, None] - 200, np.arange(401) - 200))
    assert np.isclose(image.sum(), 1, atol=0.03)
    assert np.isclose(image[r < 12].sum(), 0.5, atol=0.03)


def test_a_galaxy_is_longest_along_its_angle():
    image = sersic(20, 20, 1.0, 4, 0.3, np.pi / 2, 1.0, 41)
    assert image[26, 20] > 3 * image[20, 26]
    assert np.isclose(image.sum(), 1, atol=0.03)


def test_fluxes_of_stars_are_a_power_law():
    y, x, flux = stars(200_000, 64, np.random.default_rng(0))
    for brighter in (2, 10, 100):
        expected = brighter**-SLOPE
        assert np.isclose((flux > brighter * FAINTEST).mean(), expected, rtol=0.06)
    assert y.min() > -MARGIN - 1 and x.max() < 64 + MARGIN


def test_scene_is_light_and_reproducible():
    one, again = (sky_scene(40, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(one, again) and one.shape == (40, 40) and one.min() >= 0
