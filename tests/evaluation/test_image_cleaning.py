"""Images of any size: the same in tiles as at once, in all units, with holes; bounded memory."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from sciops.backbones.image_masks import MASK_NETWORKS
from sciops.cosmic.inpainting import inpaint
from sciops.cosmic.local_statistics import local_statistics
from sciops.evaluation.image_cleaning import clean, logits, probabilities
from tests.cosmic.mask_toy import network, sky, stirred

FINITE = [("unet", {}), ("unet", dict(levels=3)), ("resnet", {}), ("unet", dict(norm="weight"))]


def at_once(model, image: np.ndarray) -> np.ndarray:
    """Logits by the network as it is, on the whole image."""
    x = torch.from_numpy(image)
    local = local_statistics(x, model.window, model.statistics)
    with torch.no_grad():
        y = model(x[None, None], local.within(slice(None), slice(None)))
    return y[0, 0].numpy()


@pytest.mark.parametrize(("op", "options"), FINITE, ids=str)
@pytest.mark.parametrize("size", [(120, 155), (121, 64)])
def test_tiles_leave_no_seams(op, options, size):
    model = stirred(network(op, **options)).double()
    image = sky(*size)[0].astype(np.float64)
    expected = at_once(model, image)
    assert expected.std() > 1e-5
    for tile in (56, 72, None):
        np.testing.assert_allclose(logits(model, image, tile=tile), expected, atol=2e-6)


def test_tiles_that_begin_anywhere_would_leave_seams(monkeypatch):
    """As pools would see other pairs of pixels: the test above can fail."""
    model = stirred(network("unet")).double()
    image = sky(120, 155)[0].astype(np.float64)
    expected = at_once(model, image)
    monkeypatch.setattr(model, "step", 1)
    worst = [np.abs(logits(model, image, tile=t) - expected).max() for t in (41, 50, 57)]
    assert max(worst) > 1e-3


@pytest.mark.parametrize("op", MASK_NETWORKS)
@pytest.mark.parametrize("size", [(16, 16), (37, 50), (9, 40)])
def test_any_size_by_any_network(op, size):
    model = stirred(network(op))
    image, _ = sky(*size)
    p = probabilities(model, image)
    assert p.shape == size and p.dtype == np.float32
    assert ((p >= 0) & (p <= 1)).all()
    if size == model.window:  # as in training
        with torch.no_grad():
            y = model(torch.from_numpy(image)[None, None])[0, 0]
        np.testing.assert_allclose(logits(model, image), y, atol=1e-5 * float(y.abs().max()))
        np.testing.assert_allclose(p, y.sigmoid(), atol=2e-5)


@pytest.mark.parametrize("op", ["unet", "unet-xd"])
def test_units_and_sky_do_not_matter(op):
    model, (image, _) = stirred(network(op)), sky()
    image = image.astype(np.float64)
    expected = logits(model, image)
    np.testing.assert_allclose(logits(model, 1e-3 * image + 7), expected, atol=4e-4)
    assert np.array_equal(logits(model, 4 * image), expected)


def test_mask_and_image_follow_from_the_probabilities():
    model, (image, _) = stirred(network()), sky()
    chances = np.sort(probabilities(model, image), axis=None)
    threshold = float(chances[int(0.95 * chances.size)])
    cleaned = clean(model, image, threshold=threshold)
    assert 0.02 < cleaned.mask.mean() <= 0.05
    assert np.array_equal(cleaned.mask, cleaned.probability > threshold)
    assert np.array_equal(cleaned.image, inpaint(image, cleaned.mask))


def test_the_network_is_left_as_it_was():
    model, (image, _) = network().train(), sky()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    probabilities(model, image)
    assert model.training and all(p.requires_grad for p in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_nan_stay_nan_and_are_never_flagged():
    model, (image, _) = stirred(network()), sky()
    image[10:14, 10:20] = np.nan
    image[30, 30] = np.inf
    image[50:, :20] = np.nan
    holes = ~np.isfinite(image)
    threshold = float(np.quantile(probabilities(model, image)[~holes], 0.9))
    cleaned = clean(model, image, threshold=threshold)
    assert cleaned.mask.any() and not cleaned.mask[holes].any()
    assert (cleaned.probability[holes] == 0).all()
    assert np.array_equal(cleaned.image[holes], image[holes], equal_nan=True)
    assert np.isfinite(cleaned.image[~holes]).all()
    expected = 1 / (1 + np.exp(-at_once(model, image)[~holes]))
    np.testing.assert_allclose(cleaned.probability[~holes], expected, rtol=1e-4)


def test_unknown_pixels_are_as_nan_but_keep_their_value():
    model, (image, _) = stirred(network()), sky()
    unknown = np.zeros(image.shape, bool)
    unknown[20:30, 20:30] = True
    with_nan = np.where(unknown, np.nan, image)
    threshold = float(np.quantile(probabilities(model, with_nan), 0.9))
    expected, found = (
        clean(model, one, threshold=threshold, unknown=out)
        for one, out in ((with_nan, None), (image.astype(np.int32), unknown))
    )
    assert np.array_equal(found.image[unknown], image.astype(np.int32)[unknown])
    assert not found.mask[unknown].any() and found.image.dtype == np.int32
    whole = clean(model, np.floor(with_nan), threshold=threshold)
    np.testing.assert_allclose(found.probability, whole.probability, rtol=1e-4)
    assert expected.image.dtype == np.float32


def test_saturated_pixels_are_never_flagged():
    model, (image, _) = stirred(network()), sky()
    level, threshold = float(np.quantile(image, 0.8)), float(np.median(probabilities(model, image)))
    free, held = (clean(model, image, threshold=threshold, saturation=s) for s in (None, level))
    assert free.mask[image >= level].any() and not held.mask[image >= level].any()
    assert np.array_equal(held.probability[image < level], free.probability[image < level])
    assert np.array_equal(held.image[image >= level], image[image >= level])


@pytest.mark.parametrize("dtype", [">f4", ">i2", "u2", "f8"])
def test_all_types_of_fits(dtype):
    model, (image, _) = stirred(network()), sky()
    image = np.rint(image).astype(dtype)
    expected = logits(model, image.astype(np.float32))
    np.testing.assert_allclose(logits(model, image), expected, atol=1e-4)
    assert clean(model, image).image.dtype == np.dtype(dtype).newbyteorder("=")


@pytest.mark.parametrize(
    ("op", "options", "message"),
    [
        ("unet", dict(tile=16), "tiles of 16 pixels that share 20 get nowhere"),
        ("unet", dict(overlap=8), "overlap=8 leaves seams.*reaches 9 pixels.*share 18 or more"),
        ("unet", dict(tile=0.5), "tile=0.5 must be a whole number"),
        ("unet-xd", dict(tile=64), r"whole window of \(16, 16\) pixels.*leave tile=64 out"),
        ("unet-xd", dict(overlap=16), "tiles of 16 pixels that share 16 get nowhere"),
        ("unet", dict(threshold=1.0), "threshold=1.0 must be a probability"),
        ("unet", dict(unknown=np.zeros((2, 2))), r"shape of the image, \(60, 75\), got \(2, 2\)"),
        ("unet", dict(image=np.zeros((3, 4, 4))), r"an image \(h, w\), got.*\(3, 4, 4\)"),
        ("unet", dict(image=np.zeros((3, 4), complex)), "real numbers, got complex128"),
        ("unet", dict(image=np.full((9, 9), np.nan)), "no pixel that is a finite number"),
    ],
    ids=str,
)
def test_bad_requests(op, options, message):
    given = dict(image=sky()[0]) | options
    with pytest.raises(ValueError, match=message):
        clean(network(op), **given)


@pytest.mark.parametrize("op", ["resnet-xd", "unet-xd-grid"])
def test_windows_need_not_be_square(op):
    image, _ = sky(40, 30)
    assert probabilities(network(op, (16, 12)), image).shape == (40, 30)


LARGE = """
import resource, numpy as np, torch
from sciops.evaluation.image_cleaning import clean
from tests.cosmic.mask_toy import network
image = np.random.default_rng(0).normal(100, 5, (4096, 4096)).astype(np.float32)
cleaned = clean(network("unet", (128, 128), width=32), image, threshold=0.9)
print(cleaned.mask.mean(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_a_large_image_in_two_gigabytes():
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True)
    kilobytes = int(done.stdout.split()[1])
    assert kilobytes < 2e6
