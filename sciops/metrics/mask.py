"""How well pixels are told apart: cosmic ray or not, and where nobody can say, ignored.

Predictions are logits (batch, 1, h, w).  Targets are (batch, 2, h, w): a mask, 1 where a pixel was
hit, and beside it 1 where a pixel is to be ignored.

The loss is the mean over the counted pixels of

    − y log p − (1 − y) log (1 − p),        p = 1 / (1 + e^−prediction)

A pixel that is ignored adds nothing, to the value or to the gradient.  (To multiply logits and mask
by 1 − ignore, as NAS-Bench-360 does, adds log 2 for each.)

Scores are of pixels from many stamps at once, which `counted_pixels` picks: arrays of scores, any
numbers that are larger where a hit is more likely, and of hits, 0 or 1.  With TPR(t) and FPR(t) the
shares of hits and of others with a score ≥ t,

    AUROC               area under TPR over FPR = P(score of a hit > score of another) + ½ P(equal)
    average precision   Σ (TPR(tₖ) − TPR(tₖ₋₁)) · precision(tₖ), tₖ falling
    false negatives     1 − TPR where FPR is at most 0.001 or 0.01
    F1                  2 TP / (2 TP + FP + FN) of the pixels with p > ½

All are exact, ties included, and quick for tens of millions of pixels: hits and others are sorted
apart, as plain numbers, and hits, which are few, are looked up among the others.  Without hits, or
without others, scores are NaN.

`balanced_error_nb360` is what NAS-Bench-360 calls "1 − AUROC": 1 − (TPR + TNR)/2 of the pixels with
a *logit* > 0.5, ignored ones counted too.  No area is under it; it is for comparison with published
tables only.
"""

import math
from typing import NamedTuple

import numpy as np
import torch.nn.functional as F
from torch import Tensor

FALSE_POSITIVES = ("1e-3", "1e-2")  # rates at which false negatives are counted


def masked_bce(prediction: Tensor, target: Tensor) -> Tensor:
    """The loss of each stamp, (batch,); 0 for one that is to be ignored altogether.

    prediction: (batch, 1, h, w), logits;  target: (batch, 2, h, w), mask and ignore

    >>> import torch
    >>> target = torch.tensor([[[[1.0, 0.0]], [[0.0, 1.0]]]])
    >>> masked_bce(torch.tensor([[[[0.0, 9.0]]]]), target)  # log 2
    tensor([0.6931])
    """
    mask, ignore = mask_and_ignore(prediction, target)
    return bce_without(prediction, mask, ignore)


def bce_without(prediction: Tensor, mask: Tensor, ignore: Tensor) -> Tensor:
    """The loss of each stamp without the pixels to ignore, (batch,); all are (batch, 1, h, w)."""
    counted = ignore == 0
    prediction = prediction.where(counted, 0.0)  # lest 0 · NaN be in a gradient
    each = F.binary_cross_entropy_with_logits(prediction, mask, reduction="none")
    sums = each.where(counted, 0.0).flatten(1).sum(1)
    return sums / counted.flatten(1).sum(1).clamp(min=1)


def mask_and_ignore(prediction: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The two channels of a target, each as a prediction is, (batch, 1, h, w)."""
    expected = (len(prediction), 2, *prediction.shape[2:])
    if prediction.ndim != 4 or prediction.shape[1] != 1 or tuple(target.shape) != expected:
        raise ValueError(
            f"expected a prediction (batch, 1, h, w) and a target (batch, 2, h, w), mask and "
            f"ignore; got {tuple(prediction.shape)} and {tuple(target.shape)}"
        )
    return target[:, :1], target[:, 1:]


# --- scores of many pixels ------------------------------------------------------------------------


class Pixels(NamedTuple):
    """Sorted scores of the pixels that were hit, and of the others."""

    hits: np.ndarray
    others: np.ndarray


def counted_pixels(prediction: Tensor, target: Tensor) -> Pixels:
    """The pixels of all stamps that are not to be ignored; as `masked_bce` has them."""
    mask, ignore = mask_and_ignore(prediction, target)
    counted = ignore == 0
    return sorted_pixels(prediction[counted].numpy(force=True), mask[counted].numpy(force=True))


def sorted_pixels(scores: np.ndarray, hit: np.ndarray) -> Pixels:
    """Scores of pixels, any shape, and 1 where they were hit."""
    scores, hit = np.asarray(scores), np.asarray(hit)
    if scores.shape != hit.shape:
        raise ValueError(f"scores have the shape {scores.shape}, hits {hit.shape}; give the same")
    scores = scores if scores.dtype.kind == "f" else scores.astype(float)
    if np.isnan(scores).any():
        raise ValueError("some scores are NaN, so that pixels cannot be ranked by them")
    hit = hit != 0
    return Pixels(np.sort(scores[hit]), np.sort(scores[~hit]))


def auroc(pixels: Pixels) -> float:
    """The area under the ROC curve.

    >>> auroc(sorted_pixels([0.1, 0.4, 0.4, 0.8], [0, 0, 1, 1]))  # 3 ½ of 4 pairs
    0.875
    """
    hits, others = pixels
    below = np.searchsorted(others, hits, "left")
    not_above = np.searchsorted(others, hits, "right")
    pairs = len(hits) * len(others)
    return float((below.sum() + not_above.sum()) / 2 / pairs) if pairs else math.nan


class RocCurve(NamedTuple):
    """Shares of others and of hits with a score ≥ the threshold, which falls; all (points,)."""

    false_positive_rate: np.ndarray
    true_positive_rate: np.ndarray
    threshold: np.ndarray


def roc_curve(pixels: Pixels) -> RocCurve:
    """The corners of the curve, from (0, 0) to (1, 1): at most two for each score of a hit.

    Between two corners it is straight, so that the area under it is that of trapezia.  Of the two
    of one score the first stands for a threshold just above it.
    """
    hits, others = pixels
    if not len(hits) or not len(others):
        raise ValueError("a ROC curve needs pixels that were hit and others")
    scores = np.unique(hits)[::-1]
    sides = ("right", "left")  # > and ≥ the score
    points = [
        np.stack([len(p) - np.searchsorted(p, scores, side) for side in sides], 1).ravel() / len(p)
        for p in (others, hits)
    ]
    above = np.nextafter(scores, np.inf, dtype=scores.dtype)
    thresholds = np.stack([above, scores], 1).ravel()
    ends = (0.0, 1.0), (0.0, 1.0), (np.inf, -np.inf)
    columns = (np.r_[a, c, b] for (a, b), c in zip(ends, (*points, thresholds), strict=True))
    return RocCurve(*columns)


def average_precision(pixels: Pixels) -> float:
    """The mean precision over all hits, each at its own score as the threshold.

    >>> average_precision(sorted_pixels([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]))  # (1 + 2/3) / 2
    0.8333333333333333
    """
    hits, others = pixels
    if not len(hits) or not len(others):
        return math.nan
    true = len(hits) - np.searchsorted(hits, hits, "left")
    false = len(others) - np.searchsorted(others, hits, "left")
    return float(np.mean(true / (true + false)))


def false_negative_rate(pixels: Pixels, false_positive_rate: float) -> float:
    """The share of hits that is missed when at most so many of the others are taken for hits.

    The threshold is the score of the other that must not be taken any more; a hit with the same
    score is missed.

    >>> false_negative_rate(sorted_pixels([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]), 0.25)
    0.5
    """
    hits, others = pixels
    if not len(hits) or not len(others):
        return math.nan
    allowed = math.floor(false_positive_rate * len(others))
    if allowed >= len(others):
        return 0.0
    threshold = others[len(others) - 1 - allowed]
    return float(np.searchsorted(hits, threshold, "right") / len(hits))


def f1(pixels: Pixels, threshold: float = 0.0) -> float:
    """2 TP / (2 TP + FP + FN) of the pixels with a score above the threshold; logits: p > ½.

    >>> f1(sorted_pixels([-1.0, 2.0, 3.0, -4.0], [0, 0, 1, 1]))
    0.5
    """
    hits, others = pixels
    if not len(hits) or not len(others):
        return math.nan
    true, false = (len(p) - np.searchsorted(p, threshold, "right") for p in pixels)
    return float(2 * true / (true + false + len(hits)))


def mask_scores(pixels: Pixels) -> dict[str, float]:
    """All scores of some pixels whose scores are logits, by name."""
    missed = {f"fnr_{at}": false_negative_rate(pixels, float(at)) for at in FALSE_POSITIVES}
    return {
        "auroc": auroc(pixels),
        "average_precision": average_precision(pixels),
        "f1": f1(pixels),
        **missed,
    }


def balanced_error_nb360(prediction: Tensor, target: Tensor) -> float:
    """NAS-Bench-360's "1 − AUROC", of all pixels of all stamps; see above.

    prediction: (batch, 1, h, w), logits;  target: (batch, 2, h, w), of which only the mask is used
    """
    hit = mask_and_ignore(prediction, target)[0] != 0
    taken = prediction > 0.5
    hits, others = int(hit.sum()), int((~hit).sum())
    if not hits or not others:
        return math.nan
    misses, false = int((hit & ~taken).sum()), int((~hit & taken).sum())
    return (misses / hits + false / others) / 2
