"""Losses and scores of predicted distances between the residues of a protein, in Å.

Losses are of windows (batch, 1, n, m) and one number per window, as everywhere in this folder.
Cells where the target is NaN, not known or padding, count neither in the value nor in the gradient.

Scores are of a whole protein, arrays (L, L) with distances that are not clipped and NaN where not
known.  A pair of residues p < q counts once, in the upper triangle, if q − p ≥ separation: 24 is
called long range, 12 medium and long.

    MAE₈            mean |predicted − true| over pairs with a TRUE distance ≤ 8 Å;  MAE₁₂: ≤ 12 Å
    precision       share of contacts (true distance < 8 Å) among the pairs ranked first
    lDDT            share of distances kept to within 0.5, 1, 2 and 4 Å, among those < 15 Å

They are NaN where a protein has no such pair, and `across_proteins` leaves those out of the mean.

The triangles U (upper) and Λ (lower) of a prediction are averaged once, by `symmetrised`.  To write
the average into the upper triangle only, and to average again, is to score (U + 3Λ)/4: a map that
is not symmetric is refused.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from .field import matched

if TYPE_CHECKING:
    import pandas as pd

LONG, MEDIUM = 24, 12
RANGES = {"": LONG, "_medium": MEDIUM}  # endings of names of scores → least separation
CONTACT = 8.0  # Å
TOPS = ("L/5", "L/2", "L", "Nc")
ASYMMETRY = 1e-4  # of the largest entry: more is not rounding


# --- losses of windows ----------------------------------------------------------------------------


def log_cosh(prediction: Tensor, target: Tensor, limit: float = 16.0) -> Tensor:
    """Mean of log cosh(p − min(y, limit)) over the known cells: a parabola near 0, then |p − y|.

    Far pairs need not be told apart, only known to be far: targets are clipped at `limit`.

    >>> target = torch.tensor([[[[4.0, torch.nan], [30.0, 16.0]]]])
    >>> log_cosh(torch.tensor([[[[5.0, 9.0], [16.0, 16.0]]]]), target)  # log cosh(1) / 3
    tensor([0.1446])
    """
    prediction, target, known = known_cells(prediction, target)
    return mean_of_known(_log_cosh(prediction - target.clamp(max=limit)), known)


def inverse_log_cosh(prediction: Tensor, target: Tensor) -> Tensor:
    """Mean of log cosh(100/p − 100/y) over the known cells: near pairs matter most.

    No two residues are nearer than 1 Å.  Below that targets count as 1, and 100/p goes on along its
    tangent 100 (2 − p): a prediction of 0 has a finite loss and a gradient that leads away from it.

    >>> target = torch.tensor([[[[10.0, torch.nan]]]])
    >>> inverse_log_cosh(torch.tensor([[[[100 / 11, 3.0]]]]), target)  # log cosh(11 − 10)
    tensor([0.4338])
    """
    prediction, target, known = known_cells(prediction, target)
    inverse = torch.where(prediction < 1, 2 - prediction, 1 / prediction.clamp(min=1))
    return mean_of_known(_log_cosh(100 * (inverse - 1 / target.clamp(min=1))), known)


def _log_cosh(x: Tensor) -> Tensor:
    """|x| + log((1 + exp(−2|x|)) / 2) does not overflow; its gradient is tanh x."""
    return x.abs() + torch.log1p(torch.expm1(-2 * x.abs()) / 2)


def known_cells(prediction: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both with 1 where the target is NaN, lest 0 · NaN be in a gradient; where it is known."""
    prediction, target = matched(prediction, target)
    known = ~target.isnan()
    return torch.where(known, prediction, 1), torch.where(known, target, 1), known


def mean_of_known(values: Tensor, known: Tensor) -> Tensor:
    """The mean of the known cells of each sample, 0 if there is none."""
    return (values * known).flatten(1).sum(1) / known.flatten(1).sum(1).clamp(min=1)


# --- scores of a protein --------------------------------------------------------------------------


def symmetrised(prediction: np.ndarray) -> np.ndarray:
    """(U + Uᵀ)/2, to be taken once, of the whole map.

    >>> symmetrised(np.array([[0.0, 4.0], [8.0, 0.0]])).tolist()
    [[0.0, 6.0], [6.0, 0.0]]
    """
    prediction = np.asarray(prediction)
    return (prediction + prediction.T) / 2


def mae(
    prediction: np.ndarray, truth: np.ndarray, *, within: float = 8.0, separation: int = LONG
) -> float:
    """Mean |p − y| over pairs with a true distance y ≤ within, NaN if there is none."""
    predicted, true = distant_pairs(prediction, truth, separation)
    near = true <= within
    return float(np.abs(predicted - true)[near].mean()) if near.any() else math.nan


def contact_precision(
    prediction: np.ndarray, truth: np.ndarray, *, top: str = "L/5", separation: int = LONG
) -> float:
    """`score_precision` of predicted distances, ranked by `contact_probability`."""
    prediction, truth = checked_maps(prediction, truth)
    return score_precision(contact_probability(prediction), truth, top=top, separation=separation)


def score_precision(
    scores: np.ndarray, truth: np.ndarray, *, top: str = "L/5", separation: int = LONG
) -> float:
    """Share of true contacts among the pairs with the highest scores, such as covariations.

    top: how many pairs: "L", "L/2", "L/5", …, of the L residues with known coordinates, rounded, or
         "Nc", as many as there are contacts

    Where pairs tie for the last places it is the mean over all orders of the tied, so that the
    order of the residues does not matter.  NaN if the protein has no contact.
    """
    scores, true = distant_pairs(scores, truth, separation)
    contact = true < CONTACT
    if not contact.any():
        return math.nan
    count = number_of_pairs(top, known_residues(truth), np.count_nonzero(contact))
    return _precision(scores, contact, min(count, len(scores)))


def known_residues(truth: np.ndarray) -> int:
    """How many residues have coordinates: a known distance to another one.

    The distance to itself is 0 and says nothing.

    >>> known_residues(np.array([[0, 5, np.nan], [5, 0, np.nan], [np.nan, np.nan, 0]]))
    2
    """
    known = ~np.isnan(truth)
    np.fill_diagonal(known, False)
    return int(known.any(1).sum())


def contact_probability(distance: np.ndarray) -> np.ndarray:
    """min(1, 4 Å / d), and 1 for d ≤ 0.

    >>> contact_probability(np.array([0.0, 3.0, 8.0])).tolist()
    [1.0, 1.0, 0.5]
    """
    return 4 / np.maximum(np.asarray(distance, float), 4)


def number_of_pairs(top: str, residues: int, contacts: int) -> int:
    """How many pairs "L", "L/5", … or "Nc" are, at least one.

    >>> [number_of_pairs(top, 68, 31) for top in TOPS]
    [14, 34, 68, 31]
    """
    if top == "Nc":
        return contacts
    found = re.fullmatch(r"L(?:/([1-9][0-9]*))?", str(top))
    if found is None:
        raise ValueError(f'top must be "L", "L/2", "L/5", … or "Nc", got {top!r}')
    return max(1, round(residues / int(found[1] or 1)))


def _precision(scores: np.ndarray, hits: np.ndarray, count: int) -> float:
    """Share of hits among the `count` highest scores, averaged over the orders of the tied."""
    last = np.partition(scores, -count)[-count]
    above, tied = scores > last, scores == last
    rest = (count - above.sum()) * hits[tied].mean()
    return float((hits[above].sum() + rest) / count)


def lddt(
    prediction: np.ndarray,
    truth: np.ndarray,
    *,
    radius: float = 15.0,
    thresholds: Sequence[float] = (0.5, 1.0, 2.0, 4.0),
    separation: int = 1,
) -> float:
    """Among pairs with a true distance y < radius, the share with |p − y| < t, mean over t.

    All pairs count by default; "more than S apart" is separation = S + 1.  NaN if there is no pair.
    """
    predicted, true = distant_pairs(prediction, truth, separation)
    errors = np.abs(predicted - true)[true < radius]
    return float(np.mean([errors < t for t in thresholds])) if errors.size else math.nan


def map_scores(prediction: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """All scores of one protein by name: mae8, mae12, those of `precision_scores`, lddt.

    Names that end in _medium are of medium and long range, the others of long range; lddt of all.
    """
    errors = {
        f"mae{within}{ending}": mae(prediction, truth, within=within, separation=separation)
        for ending, separation in RANGES.items()
        for within in (8, 12)
    }
    precisions = precision_scores(contact_probability(prediction), truth)
    return {**errors, **precisions, "lddt": lddt(prediction, truth)}


def precision_scores(scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """precision_L5, _L2, _L, _Nc of a map ranked from the highest score, such as covariations."""
    return {
        f"precision_{top.replace('/', '')}{ending}": score_precision(
            scores, truth, top=top, separation=least
        )
        for ending, least in RANGES.items()
        for top in TOPS
    }


def across_proteins(scores: Iterable[Mapping[str, float]]) -> "pd.Series":
    """The mean of every score; proteins count alike, those where a score is NaN not at all.

    >>> across_proteins([{"mae8": 2.0}, {"mae8": 3.0}, {"mae8": math.nan}]).to_dict()
    {'mae8': 2.5}
    """
    import pandas as pd

    return pd.DataFrame(list(scores)).mean()


# --- parts ----------------------------------------------------------------------------------------


def distant_pairs(
    prediction: np.ndarray, truth: np.ndarray, separation: int
) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and true values of the known pairs q − p ≥ separation, row by row."""
    prediction, truth = checked_maps(prediction, truth)
    upper = np.triu(~np.isnan(truth), separation)
    return prediction[upper], truth[upper]


def checked_maps(prediction: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 (L, L), or a ValueError."""
    prediction, truth = np.asarray(prediction, float), np.asarray(truth, float)
    if truth.ndim != 2 or truth.shape[0] != truth.shape[1] or prediction.shape != truth.shape:
        raise ValueError(
            f"prediction and truth must be (L, L) of one protein, got {prediction.shape} and "
            f"{truth.shape}; cut padding off and score one protein at a time"
        )
    if not np.isfinite(prediction).all():
        raise ValueError("the prediction has NaN or infinite values; did the training diverge?")
    for name, values in (("prediction", prediction), ("truth", truth)):
        slack = ASYMMETRY * np.nanmax(np.abs(values), initial=0)
        if not np.allclose(values, values.T, rtol=0, atol=slack, equal_nan=True):
            raise ValueError(f"the {name} is not symmetric; symmetrise once, with symmetrised(map)")
    return prediction, truth
