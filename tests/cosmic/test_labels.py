"""The rule of comparison, and the level of the sky."""

import numpy as np

from sciops.cosmic.labels import is_hit, sky_level


def test_rule_is_five_times_both_noises():
    assert is_hit(np.array([25.01, 24.99]), np.array(3.0), np.array(4.0)).tolist() == [True, False]


def test_sky_is_found_under_stars_and_cosmic_rays():
    rng = np.random.default_rng(0)
    image = rng.normal(30, 5, 10_000)
    image[:1500] += rng.exponential(500, 1500)
    assert abs(np.median(image) - 30) > 0.7
    assert abs(sky_level(image) - 30) < 0.3


def test_a_flat_sky_is_its_own_level():
    assert sky_level(np.full((4, 4), 7.0)) == 7
