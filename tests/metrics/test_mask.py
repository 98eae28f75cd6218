"""The loss leaves out what is to be ignored; scores are what scikit-learn and the hand say."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from sciops.metrics.mask import (
    auroc,
    average_precision,
    balanced_error_nb360,
    bce_without,
    counted_pixels,
    f1,
    false_negative_rate,
    mask_scores,
    masked_bce,
    roc_curve,
    sorted_pixels,
)

sklearn = pytest.importorskip("sklearn.metrics")


def batch(seed=0, n=4, size=6):
    generator = torch.Generator().manual_seed(seed)
    prediction = 3 * torch.randn(n, 1, size, size, generator=generator)
    target = (torch.rand(n, 2, size, size, generator=generator) < 0.3).float()
    return prediction, target


# --- the loss -------------------------------------------------------------------------------------


def test_loss_is_the_mean_over_counted_pixels():
    prediction, target = batch()
    for k, loss in enumerate(masked_bce(prediction, target)):
        counted = target[k, 1] == 0
        expected = F.binary_cross_entropy_with_logits(
            prediction[k, 0][counted], target[k, 0][counted]
        )
        torch.testing.assert_close(loss, expected)
    three = bce_without(prediction, target[:, :1], target[:, 1:])
    assert torch.equal(three, masked_bce(prediction, target))


def test_loss_by_hand():
    """Logits 0 and log 3 on a hit and on none; p = ½ and ¾."""
    prediction = torch.tensor([[[[0.0, math.log(3.0), 50.0]]]])
    target = torch.tensor([[[[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]]])
    expected = (math.log(2) + math.log(4)) / 2
    torch.testing.assert_close(masked_bce(prediction, target), torch.tensor([expected]))


@pytest.mark.parametrize("value", [7.0, torch.nan, torch.inf])
def test_ignored_pixels_change_neither_value_nor_gradient(value):
    prediction, target = batch()
    other = torch.where(target[:, 1:] == 1, value, prediction)
    flipped = target.clone()
    flipped[:, 0] = torch.where(target[:, 1] == 1, 1 - target[:, 0], target[:, 0])
    assert torch.equal(masked_bce(other, flipped), masked_bce(prediction, target))
    other.requires_grad_()
    masked_bce(other, target).sum().backward()
    assert (other.grad[target[:, 1:] == 1] == 0).all()
    assert (other.grad[target[:, 1:] == 0] != 0).all()


def test_a_stamp_without_counted_pixels_costs_nothing():
    prediction, target = batch(n=1)
    target[:, 1] = 1
    prediction.requires_grad_()
    loss = masked_bce(prediction, target)
    loss.sum().backward()
    assert loss.item() == 0 and not prediction.grad.any()


def test_wrong_shapes_are_explained():
    prediction, target = batch()
    with pytest.raises(ValueError, match=r"target \(batch, 2, h, w\).*got .* and \(4, 1, 6, 6\)"):
        masked_bce(prediction, target[:, :1])


# --- the scores -----------------------------------------------------------------------------------


def drawn(kind: str, seed: int = 0):
    """Scores and hits; of the second kind many are equal."""
    rng = np.random.default_rng(seed)
    hit = rng.uniform(size=2000) < 0.05
    scores = rng.normal(size=2000) + 1.5 * hit
    return (np.round(2 * scores) / 2 if kind == "ties" else scores.astype("f4")), hit


@pytest.mark.parametrize("kind", ["distinct", "ties"])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_scikit_learns(kind, seed):
    scores, hit = drawn(kind, seed)
    pixels = sorted_pixels(scores, hit)
    assert np.isclose(auroc(pixels), sklearn.roc_auc_score(hit, scores), rtol=1e-12)
    assert np.isclose(average_precision(pixels), sklearn.average_precision_score(hit, scores))
    assert np.isclose(f1(pixels), sklearn.f1_score(hit, scores > 0))
    assert np.isclose(f1(pixels, 1.0), sklearn.f1_score(hit, scores > 1))


@pytest.mark.parametrize("kind", ["distinct", "ties"])
def test_roc_curve_is_scikit_learns(kind):
    scores, hit = drawn(kind)
    ours = roc_curve(sorted_pixels(scores, hit))
    fpr, tpr, _ = sklearn.roc_curve(hit, scores, drop_intermediate=False)
    points = np.stack([fpr, tpr], 1)
    for point in zip(*ours[:2], strict=True):  # each corner is a point of theirs
        assert np.abs(points - point).max(1).min() < 1e-12
    area = np.trapezoid(ours.true_positive_rate, ours.false_positive_rate)
    assert np.isclose(area, auroc(sorted_pixels(scores, hit)), rtol=1e-12)
    for threshold, f, t in zip(ours.threshold[1:-1], fpr_of(ours), tpr_of(ours), strict=True):
        assert np.isclose((scores[hit] >= threshold).mean(), t)
        assert np.isclose((scores[~hit] >= threshold).mean(), f)


def fpr_of(curve):
    return curve.false_positive_rate[1:-1]


def tpr_of(curve):
    return curve.true_positive_rate[1:-1]


@pytest.mark.parametrize("kind", ["distinct", "ties"])
@pytest.mark.parametrize("rate", [0.0, 1e-3, 1e-2, 0.3, 1.0])
def test_false_negatives_at_a_rate_of_false_positives(kind, rate):
    """The least share of missed hits over all thresholds that keep to the rate."""
    scores, hit = drawn(kind)
    possible = [
        (scores[hit] <= t).mean()
        for t in [-np.inf, *scores]
        if (scores[~hit] > t).mean() <= rate + 1e-12
    ]
    assert np.isclose(false_negative_rate(sorted_pixels(scores, hit), rate), min(possible))


def test_auroc_by_hand_of_all_pairs():
    scores, hit = drawn("ties")
    wins = scores[hit][:, None] - scores[~hit]
    expected = ((wins > 0) + 0.5 * (wins == 0)).mean()
    assert np.isclose(auroc(sorted_pixels(scores, hit)), expected, rtol=1e-12)


def test_perfect_constant_and_reversed_scores():
    hit = np.array([0, 0, 1, 1])
    best = mask_scores(sorted_pixels([-2.0, -1.0, 1.0, 2.0], hit))
    assert best == {"auroc": 1, "average_precision": 1, "f1": 1, "fnr_1e-3": 0, "fnr_1e-2": 0}
    none = mask_scores(sorted_pixels(np.zeros(4), hit))
    assert none == {"auroc": 0.5, "average_precision": 0.5, "f1": 0, "fnr_1e-3": 1, "fnr_1e-2": 1}
    assert auroc(sorted_pixels([2, 1, 0, -1], hit)) == 0


def test_pixels_of_many_stamps_without_the_ignored():
    prediction, target = batch()
    pixels = counted_pixels(prediction, target)
    counted = (target[:, 1] == 0).numpy()
    scores, hit = prediction[:, 0].numpy()[counted], target[:, 0].numpy()[counted]
    assert len(pixels.hits) == hit.sum() and len(pixels.others) == (1 - hit).sum()
    assert np.isclose(auroc(pixels), sklearn.roc_auc_score(hit, scores))
    prediction[target[:, 1:] == 1] = torch.nan  # they are not even looked at
    assert auroc(counted_pixels(prediction, target)) == auroc(pixels)


def test_without_hits_there_is_no_score():
    pixels = sorted_pixels(np.arange(3.0), np.zeros(3))
    assert all(math.isnan(value) for value in mask_scores(pixels).values())
    with pytest.raises(ValueError, match="needs pixels that were hit and others"):
        roc_curve(pixels)


def test_bad_scores_are_refused():
    with pytest.raises(ValueError, match="some scores are NaN"):
        sorted_pixels(np.array([1.0, np.nan]), np.array([0, 1]))
    with pytest.raises(ValueError, match=r"scores have the shape \(2,\), hits \(3,\)"):
        sorted_pixels(np.zeros(2), np.zeros(3))


def test_nas_bench_360_by_hand():
    """Logits above 0.5 are taken: one of two hits, one of four others, so ½ (½ + ¼)."""
    prediction = torch.tensor([[[[0.6, 0.4, 2.0, 0.5, -3.0, 0.1]]]])
    target = torch.tensor([[[[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]], [[0.0, 1.0, 1.0, 0.0, 0.0, 0.0]]]])
    assert balanced_error_nb360(prediction, target) == (1 / 2 + 1 / 4) / 2
    assert auroc(counted_pixels(prediction, target)) == 1  # the area knows better
    assert math.isnan(balanced_error_nb360(prediction, torch.zeros(1, 2, 1, 6)))


def test_nas_bench_360_is_the_area_of_decisions():
    prediction, target = batch()
    hit, taken = target[:, 0].flatten() != 0, prediction.flatten() > 0.5
    theirs = 1 - sklearn.roc_auc_score(hit, taken)
    assert np.isclose(balanced_error_nb360(prediction, target), theirs)
