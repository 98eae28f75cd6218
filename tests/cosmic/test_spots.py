"""Spots keep their flux, and are the integral of a Gaussian over each pixel."""

import numpy as np
from scipy import integrate
from scipy.stats import norm

from sciops.cosmic.spots import smoothed, spots_image


def test_a_pixel_holds_the_integral_over_it():
    image = spots_image(np.array([2.3]), np.array([3.9]), np.array([7.0]), 0.6, 6)
    by_hand, _ = integrate.dblquad(
        lambda x, y: 7 * norm.pdf(y, 2.3, 0.6) * norm.pdf(x, 3.9, 0.6), 1.5, 2.5, 2.5, 3.5
    )
    assert np.isclose(image[2, 3], by_hand)


def test_many_spots_are_the_sum_of_each():
    rng = np.random.default_rng(0)
    y, x, flux, sigma = rng.uniform(0.3, 9, (4, 5))
    one_by_one = [
        spots_image(y[k : k + 1], x[k : k + 1], flux[k : k + 1], sigma[k : k + 1], 11)
        for k in range(5)
    ]
    assert np.allclose(spots_image(y, x, flux, sigma, 11), np.sum(one_by_one, 0))


def test_flux_inside_is_kept_and_outside_is_lost():
    y, x = np.array([10.2, -3.0]), np.array([9.7, 5.0])
    image = spots_image(y, x, np.array([50.0, 1e6]), 0.4, 20)
    assert np.isclose(image.sum(), 50)


def test_a_blurred_point_is_a_spot():
    point = np.zeros((15, 15))
    point[7, 8] = 3
    spot = spots_image(np.array([7.0]), np.array([8.0]), np.array([3.0]), 1.3, 15)
    assert np.allclose(smoothed(point, 1.3), spot)
