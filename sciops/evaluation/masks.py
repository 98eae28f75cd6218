"""Masks of stamps: logits of all their pixels, and how well these are told apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from sciops.backbones.image_masks import ImageMask
from sciops.cosmic.stamps import PLACE, Stamp
from sciops.data.progress import progress_bar
from sciops.metrics.mask import (
    Pixels,
    balanced_error_nb360,
    counted_pixels,
    mask_scores,
    masked_bce,
)

from .image_cleaning import logits

if TYPE_CHECKING:
    import xarray as xr

Judged = tuple[Tensor, Tensor]  # logits (1, 1, 1, pixels), and mask and ignore (1, 2, 1, pixels)


def stamp_logits(
    model: ImageMask, stamps: Sequence[Stamp], *, progress: bool = True
) -> list[np.ndarray]:
    """Of whole stamps, (h, w) each; seen in windows, as images of any size are."""
    found = []
    with progress_bar("evaluating", len(stamps), shown=progress) as count:
        for stamp in stamps:
            found.append(logits(model, stamp.image))
            count(1)
    return found


def pooled_pixels(found: Sequence[np.ndarray], stamps: Sequence[Stamp]) -> Pixels:
    """The pixels of all stamps that are not to be ignored."""
    return counted_pixels(*_pooled([_judged(*one) for one in zip(found, stamps, strict=True)]))


def evaluate_masks(
    model: ImageMask, stamps: Sequence[Stamp], *, progress: bool = True
) -> "xr.Dataset":
    """Scores of every stamp (see `sciops.metrics.mask`), NaN where one has no hit.

    Dimension `stamp`; attrs has the scores of all pixels together, which is how they are published,
    and NAS-Bench-360's.
    """
    import xarray as xr

    if not stamps:
        raise ValueError("there is no stamp to judge")
    found = stamp_logits(model, stamps, progress=progress)
    judged = [_judged(*one) for one in zip(found, stamps, strict=True)]
    rows = [_scores(*one) for one in judged]
    together = _pooled(judged)
    attrs = _scores(*together) | {"balanced_error_nb360": balanced_error_nb360(*together)}
    variables = {name: ("stamp", np.array([row[name] for row in rows])) for name in rows[0]}
    variables["hits"] = ("stamp", np.array([int(np.sum(s.mask != 0)) for s in stamps]))
    places = {name: ("stamp", np.array([getattr(s, name) for s in stamps])) for name in PLACE}
    return xr.Dataset(variables, {"stamp": np.arange(len(stamps)), **places}, attrs)


def _scores(prediction: Tensor, target: Tensor) -> dict[str, float]:
    loss = float(masked_bce(prediction, target))
    return {**mask_scores(counted_pixels(prediction, target)), "masked_bce": loss}


def _judged(found: np.ndarray, stamp: Stamp) -> Judged:
    """In double precision; what is not finite in the image is to be ignored."""
    ignore = (stamp.ignore != 0) | ~np.isfinite(stamp.image)
    target = np.stack([stamp.mask != 0, ignore]).reshape(1, 2, 1, -1)
    prediction = np.where(np.isfinite(found), found, 0.0).reshape(1, 1, 1, -1)
    return torch.from_numpy(prediction).double(), torch.from_numpy(target).double()


def _pooled(judged: Sequence[Judged]) -> Judged:
    predictions, targets = zip(*judged, strict=True)
    return torch.cat(predictions, 3), torch.cat(targets, 3)
