"""Tracks are straight and as long as geometry says; worms bend; charge is kept."""

import numpy as np
import pytest

from sciops.cosmic.particles import DETECTORS, STEP, cosmic_charge, spot, track, worm

THIN, THICK = DETECTORS["thin"], DETECTORS["thick"]


def many(kind, detector, n=3000):
    rng = np.random.default_rng(0)
    return [kind(detector, rng) for _ in range(n)]


def lengths(tracks) -> np.ndarray:
    ends = np.array([(y[-1] - y[0], x[-1] - x[0], len(y)) for y, x, *_ in tracks])
    return np.hypot(*ends[:, :2].T) * ends[:, 2] / (ends[:, 2] - 1)  # points are in the middles


@pytest.mark.parametrize("detector", [THIN, THICK])
def test_seen_lengths_are_those_of_the_flux(detector):
    """p(μ) ∝ μⁿ: the median of μ is ½^(1/(n+1))."""
    mu = 0.5 ** (1 / (detector.steep + 1))
    expected = detector.thickness * np.sqrt(1 / mu**2 - 1)
    assert np.isclose(np.median(lengths(many(track, detector))), expected, rtol=0.06)


def test_tracks_are_straight_in_every_direction():
    for y, x, *_ in many(track, THICK, 50):
        spread = np.linalg.svd(np.stack([y - y.mean(), x - x.mean()]), compute_uv=False)
        assert spread[1] < 1e-9 * max(spread[0], 1)
    angles = [np.arctan2(y[-1], x[-1]) for y, x, *_ in many(track, THIN, 2000)]
    assert np.abs(np.mean(np.exp(1j * np.array(angles)))) < 0.05


def test_longer_tracks_have_more_charge_and_the_tail_is_long():
    tracks = many(track, THIN)
    charge, length = np.array([q.sum() for _, _, q, _ in tracks]), lengths(tracks)
    long = length > np.median(length)
    assert np.median(charge[long]) > 1.3 * np.median(charge[~long])
    assert charge.mean() > 1.2 * np.median(charge) and charge.min() > 0


def test_worms_bend_and_end_bright():
    worms = [w for w in many(worm, THICK, 300) if len(w[0]) > 20]
    straight = [np.hypot(y[-1] - y[0], x[-1] - x[0]) / (STEP * (len(y) - 1)) for y, x, *_ in worms]
    assert np.median(straight) < 0.9 and max(straight) <= 1 + 1e-9
    assert np.mean([q[-3:].mean() / q[:10].mean() for *_, q, _ in worms]) > 2
    assert all(np.allclose(np.hypot(np.diff(y), np.diff(x)), STEP) for y, x, *_ in worms)


def test_a_spot_is_one_place():
    y, x, charge, spread = spot(THIN, np.random.default_rng(0))
    assert y == x == 0 and charge > 0 and 0 < spread < 1


def test_rate_is_per_area_whatever_the_size():
    rng = np.random.default_rng(0)
    for size, n in ((32, 300), (128, 20)):
        total = sum(cosmic_charge(size, THIN, 1.0, rng).sum() for _ in range(n))
        per_pixel = total / (n * size**2)
        assert 0.75 < per_pixel / expected_charge() < 1.33


def expected_charge() -> float:
    """Electrons a pixel: the rate times the mean charge of a particle."""
    means = [np.mean([q.sum() for *_, q, _ in many(k, THIN, 2000)]) for k in (track, worm, spot)]
    return float(THIN.rate / 1024**2 * np.dot(THIN.shares, means))


def test_no_particle_no_charge():
    assert not cosmic_charge(16, THIN, 0.0, np.random.default_rng(0)).any()
