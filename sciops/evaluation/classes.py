"""The class of every sample: probabilities, and scores one by one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from sciops.data.progress import progress_bar
from sciops.metrics.classes import accuracy, cross_entropy, error_rate

if TYPE_CHECKING:
    import xarray as xr

AT_ONCE = 256  # samples


def class_logits(model: nn.Module, x: Tensor, *, progress: bool = False) -> Tensor:
    """(batch, classes) of inputs (batch, channels, *space), some at a time."""
    was_training = model.training
    model.eval()
    parts = []
    try:
        with (
            torch.inference_mode(),
            progress_bar("evaluating", len(x), shown=progress) as count,
        ):
            for part in x.split(AT_ONCE):
                parts.append(model(part))
                count(len(part))
    finally:
        model.train(was_training)
    return torch.cat(parts)


def class_probabilities(model: nn.Module, x: Tensor) -> np.ndarray:
    """(batch, classes), each row adding up to 1."""
    return class_logits(model, x).softmax(1).numpy()


def evaluate_classes(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    classes: Sequence[str],
    samples: np.ndarray,
    *,
    progress: bool = True,
) -> "xr.Dataset":
    """Accuracy, error rate and cross entropy of every sample, its class and the one predicted.

    samples: their numbers
    """
    import xarray as xr

    logits = class_logits(model, x, progress=progress).double()
    known = (accuracy, error_rate, cross_entropy)
    scores = {score.__name__: ("sample", score(logits, y).numpy()) for score in known}
    named = np.array(list(classes))
    words = {"label": named[y.numpy()], "predicted": named[logits.argmax(1).numpy()]}
    coords = {"sample": samples, **{name: ("sample", values) for name, values in words.items()}}
    return xr.Dataset(scores, coords)
