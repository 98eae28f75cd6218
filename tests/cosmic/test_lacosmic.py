"""LA Cosmic finds streaks, leaves out what is unknown, and has the rates that counting gives."""

import builtins

import numpy as np
import pytest

from sciops.cosmic.lacosmic import Noise, lacosmic_mask, lacosmic_rates
from tests.cosmic.mask_toy import sky

astroscrappy = pytest.importorskip("astroscrappy")


def test_it_finds_streaks():
    image, truth = sky(100, 120)
    found = lacosmic_mask(image)
    assert found.dtype == bool and found.shape == image.shape
    assert found[truth].mean() > 0.8 and found[~truth].mean() < 0.02


def test_options_reach_the_package():
    image, _ = sky()
    noise = Noise(gain=2.0, read_noise=3.0, saturation=3000.0)
    ours = lacosmic_mask(image, sigclip=3, sigfrac=0.5, objlim=2, rounds=2, noise=noise)
    theirs, _ = astroscrappy.detect_cosmics(
        image,
        sigclip=3,
        sigfrac=0.5,
        objlim=2,
        niter=2,
        gain=2.0,
        readnoise=3.0,
        satlevel=3000.0,
    )
    assert np.array_equal(ours, theirs)
    variance = np.full(image.shape, 1e6, np.float32)
    assert not lacosmic_mask(image, variance=variance).any()


def test_big_endian_images_with_holes():
    image, truth = sky(100, 120)
    image[:20, :20] = np.nan
    unknown = np.zeros(image.shape, bool)
    unknown[60:, 90:] = True
    found = lacosmic_mask(image.astype(">f4"), unknown=unknown)
    assert not found[:20, :20].any() and not found[unknown].any()
    rest = truth & ~unknown & np.isfinite(image)
    assert found[rest].mean() > 0.8
    with pytest.raises(ValueError, match="no known pixel"):
        lacosmic_mask(np.full((9, 9), np.nan))


def test_rates_are_counted_over_all_images():
    (first, hit), (second, other) = sky(40, 50, 1), sky(60, 50, 2)
    unknown = np.zeros(first.shape, bool), np.zeros(second.shape, bool)
    unknown[0][:10] = True
    second[0, :7] = np.nan
    rates = lacosmic_rates([first, second], [hit, other], unknown, sigclips=(3, 10, 1e6))
    masks = [lacosmic_mask(image, sigclip=10) for image in (first, second)]
    judged = [~unknown[0], np.isfinite(second)]
    flagged, truth = (
        np.concatenate([x[j] for x, j in zip(xs, judged, strict=True)])
        for xs in (masks, (hit, other))
    )
    assert rates.threshold.tolist() == [3, 10, 1e6]
    assert rates.true_positive_rate[1] == flagged[truth].mean()
    assert rates.false_positive_rate[1] == flagged[~truth].mean()
    assert rates.true_positive_rate[0] > 0.5 and rates.true_positive_rate[2] == 0


def test_hidden_pixels_hide_their_neighbours():
    """Which is why the rates are not of images with hidden pixels."""
    image, truth = sky(100, 120)
    beside = np.zeros(image.shape, bool)
    beside[1:] = truth[:-1] & ~truth[1:]
    seen, hidden = lacosmic_mask(image), lacosmic_mask(image, unknown=beside)
    assert hidden[truth].mean() < 0.5 * seen[truth].mean()


def test_rates_of_images_without_a_hit_are_unknown():
    image, _ = sky()
    rates = lacosmic_rates([image], [np.zeros(image.shape)], sigclips=[5], rounds=1)
    assert np.isnan(rates.true_positive_rate).all() and rates.false_positive_rate[0] > 0


def test_numbers_of_images_must_agree():
    with pytest.raises(ValueError, match="got 1 images, 2, 1 and 1"):
        lacosmic_rates([np.ones((9, 9))], [1, 2])


def test_a_package_that_is_missing_is_named(monkeypatch):
    load = builtins.__import__

    def without(name, *args, **options):
        if name == "astroscrappy":
            raise ImportError(name)
        return load(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install \"sciops\[cosmic\]\""):
        lacosmic_mask(np.ones((9, 9)))
