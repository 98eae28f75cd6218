"""Simulated stamps: a function of their number, with the noise, the rate and the labels claimed."""

import numpy as np
import pytest
from scipy import ndimage

import sciops
from sciops.cosmic import simulator
from sciops.cosmic.particles import DETECTORS
from sciops.cosmic.simulator import FULL_WELL, READ_NOISE, generate_stamps, simulated_stamp


@pytest.fixture(scope="module")
def some():
    return generate_stamps(range(32), progress=False)


def events(mask) -> np.ndarray:
    """Pixels of each event."""
    return np.bincount(ndimage.label(mask, np.ones((3, 3)))[0].ravel())[1:]


def test_a_stamp_is_the_same_whatever_the_count(some):
    alone = simulated_stamp(17)
    assert np.array_equal(alone.image, some[17].image) and alone.field == some[17].field
    other = simulated_stamp(17, seed=1)
    assert not np.array_equal(alone.image, other.image)


@pytest.mark.parametrize("size", [16, 33, 200])
@pytest.mark.parametrize("detector", DETECTORS)
def test_any_size(size, detector):
    stamp = simulated_stamp(2, size=size, detector=detector)
    for values in stamp[:3]:
        assert values.shape == (size, size)
    assert stamp.image.dtype == np.float32 and np.isfinite(stamp.image).all()
    assert set(np.unique(stamp.mask)) <= {0, 1}


def test_events_are_as_many_and_as_large_as_hubbles(some):
    sizes = np.concatenate([events(stamp.mask) for stamp in some])
    per_frame = len(sizes) / 32 * 64  # of 1024²
    assert 450 < per_frame < 800
    assert 2 <= np.median(sizes) <= 4 and 6 <= np.percentile(sizes, 95) <= 14


def test_a_thick_detector_has_long_tracks():
    stamps = generate_stamps(range(16), detector="thick", progress=False)
    sizes = np.concatenate([events(stamp.mask) for stamp in stamps])
    assert np.median(sizes) > 12


def test_background_has_the_noise_of_sky_and_electronics(monkeypatch):
    monkeypatch.setattr(simulator, "sky_scene", lambda size, rng: np.zeros((size, size)))
    monkeypatch.setattr(simulator, "cosmic_charge", lambda size, *_: np.zeros((size, size)))
    for stamp in generate_stamps(range(5), progress=False):
        values = stamp.image[stamp.ignore == 0]
        assert not stamp.mask.any()
        assert np.isclose(values.mean(), stamp.sky, rtol=0.03)
        assert np.isclose(values.var(), stamp.sky + READ_NOISE**2, rtol=0.06)


def test_labels_stand_out_and_hot_pixels_are_ignored(some):
    for stamp in some[:20]:
        hit = (stamp.mask == 1) & (stamp.ignore == 0)
        above = stamp.image[hit] - stamp.sky
        assert above.min(initial=np.inf) > 2 * np.sqrt(2 * (stamp.sky + READ_NOISE**2))
    hot = np.concatenate([(s.image - s.sky)[s.ignore == 1] for s in some])
    assert np.median(hot) > 100
    assert max(s.image.max() for s in some) <= FULL_WELL


def test_wrong_requests_are_explained():
    with pytest.raises(ValueError, match=r"size=8 must be a whole number ≥ 16"):
        simulated_stamp(0, size=8)
    with pytest.raises(ValueError, match="detector='fat' is not known; there are thin, thick"):
        simulated_stamp(0, detector="fat")
    with pytest.raises(ValueError, match="there is no parameter 'width'; these data have size"):
        sciops.generate("cosmic", n=1, width=3)
