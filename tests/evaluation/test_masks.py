"""Scores of stamps: each by itself, and all pixels together."""

import numpy as np
import pytest
import torch

from sciops.evaluation.image_cleaning import logits, probabilities
from sciops.evaluation.masks import evaluate_masks, pooled_pixels, stamp_logits
from sciops.metrics.mask import auroc, balanced_error_nb360, mask_scores, masked_bce, sorted_pixels
from tests.cosmic.mask_toy import network, stirred
from tests.cosmic.toy import stamp

STAMPS = [stamp(k, size, row=k, exposure=2) for k, size in enumerate((16, 16, 24))]


@pytest.fixture(scope="module")
def model():
    return stirred(network("unet"))


def test_logits_are_those_of_the_probabilities(model):
    image = STAMPS[0].image.copy()
    image[3, 4] = np.nan
    found = logits(model, image)
    assert found[3, 4] == -np.inf and np.isfinite(np.delete(found.ravel(), 3 * 16 + 4)).all()
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(1 / (1 + np.exp(-found)), probabilities(model, image), atol=1e-6)


def test_every_stamp_and_all_pixels_are_judged(model):
    scores = evaluate_masks(model, STAMPS, progress=False)
    found = stamp_logits(model, STAMPS, progress=False)
    for k, (one, y) in enumerate(zip(STAMPS, found, strict=True)):
        keep = one.ignore == 0
        expected = mask_scores(sorted_pixels(y[keep].astype(float), one.mask[keep]))
        assert {name: float(scores[name][k]) for name in expected} == pytest.approx(expected)
    y, hit, ignored = (
        np.concatenate([part.ravel() for part in parts])
        for parts in (found, [s.mask for s in STAMPS], [s.ignore for s in STAMPS])
    )
    keep = ignored == 0
    together = mask_scores(sorted_pixels(y[keep].astype(float), hit[keep]))
    assert {name: scores.attrs[name] for name in together} == pytest.approx(together)
    assert scores.attrs["auroc"] == pytest.approx(auroc(pooled_pixels(found, STAMPS)))
    assert scores.attrs["auroc"] != pytest.approx(float(scores["auroc"].mean()), rel=1e-9)


def test_the_loss_and_the_published_score_are_those_of_the_network(model):
    two = STAMPS[:2]  # of the window's size
    x = torch.from_numpy(np.stack([s.image for s in two]))[:, None]
    y = torch.from_numpy(np.stack([np.stack([s.mask, s.ignore]) for s in two])).float()
    with torch.no_grad():
        predicted = model(x)
    scores = evaluate_masks(model, two, progress=False)
    np.testing.assert_allclose(scores["masked_bce"], masked_bce(predicted, y), rtol=1e-4)
    published = balanced_error_nb360(predicted, y)
    assert scores.attrs["balanced_error_nb360"] == pytest.approx(published)


def test_where_stamps_are_from_and_how_many_hits_they_have(model):
    scores = evaluate_masks(model, STAMPS, progress=False)
    assert scores["hits"].values.tolist() == [int(s.mask.sum()) for s in STAMPS]
    assert scores["field"].values.tolist() == ["toy-0", "toy-1", "toy-2"]
    assert scores["row"].values.tolist() == [0, 1, 2] and set(scores["exposure"].values) == {2}


def test_without_hits_there_are_no_rates(model):
    empty = STAMPS[0]._replace(mask=np.zeros((16, 16), "u1"))
    scores = evaluate_masks(model, [empty, STAMPS[1]], progress=False)
    assert np.isnan(scores["auroc"][0]) and np.isfinite(scores["masked_bce"][0])
    assert np.isfinite(scores.attrs["auroc"])


def test_pixels_that_are_not_finite_are_ignored(model):
    image, ignore = STAMPS[0].image.copy(), STAMPS[0].ignore.copy()
    image[3, 4], ignore[3, 4] = np.nan, 1
    given = [STAMPS[0]._replace(image=image), STAMPS[0]._replace(image=image, ignore=ignore)]
    first, second = (evaluate_masks(model, [s], progress=False) for s in given)
    first.attrs.pop("balanced_error_nb360"), second.attrs.pop("balanced_error_nb360")
    assert first.attrs == second.attrs


def test_nothing_to_judge(model):
    with pytest.raises(ValueError, match="there is no stamp to judge"):
        evaluate_masks(model, [], progress=False)
