"""Whole sequences: the probabilities of the next frame, and the scores of every piece."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from sciops.data.progress import progress_bar
from sciops.metrics.sequence import marginal_logits, nats
from sciops.music.sequences import Sequences

if TYPE_CHECKING:
    import xarray as xr


def predict_next(model: nn.Module, roll: np.ndarray) -> np.ndarray:
    """Of every frame (T, keys), the probability that each key sounds in the one after it."""
    x = torch.tensor(roll.T, dtype=torch.float32)[None]
    return _logits(model, x)[0].sigmoid().T.numpy()


def _logits(model: nn.Module, x: Tensor) -> Tensor:
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            return model(x)
    finally:
        model.train(was_training)


def evaluate_sequences(
    model: nn.Module, pieces: Sequence[np.ndarray], *, progress: bool = True
) -> "xr.Dataset":
    """Nats per frame of every piece, and how many frames were predicted, one fewer than it has.

    Dimension `piece`; attrs["nats"] is the published score, over all frames of all pieces.
    """
    import xarray as xr

    sequences = Sequences(pieces)
    totals, frames = np.empty(len(pieces)), np.array(sequences.lengths)
    with progress_bar("evaluating", len(pieces), shown=progress) as count:
        for k in range(len(pieces)):
            x, y = sequences.__getitems__([k])
            totals[k] = float(nats(_logits(model, x).double(), y.double()))
            count(1)
    scores = {"nats": ("piece", totals / frames), "frames": ("piece", frames)}
    attrs = {"nats": float(totals.sum() / frames.sum())}
    return xr.Dataset(scores, {"piece": np.arange(len(pieces))}, attrs)


def marginal_nats(train: Sequence[np.ndarray], pieces: Sequence[np.ndarray]) -> float:
    """The score of predicting each key, always, by how often it sounds in the training pieces."""
    logits = marginal_logits(np.concatenate(train))
    y = torch.tensor(np.concatenate([piece[1:] for piece in pieces]), dtype=torch.float64)
    return float(nats(logits.expand_as(y).T[None], y.T[None])) / len(y)
