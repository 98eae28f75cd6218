"""Whole pieces as batches: the notes of all frames but the last in, those of the next frames out.

Pieces of one batch are padded to the longest: beyond its end the input of a piece is silent, and
its target NaN, which is not counted (`sciops.metrics.sequence`).  Causal networks do not see what
comes behind the end, so a piece in a batch is treated as it would be alone.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch.utils.data import Dataset

from sciops.task import Axis, Batch, Field, Task

from .rolls import KEYS

WINDOW = 40  # frames, as published


def music_task(*, window: int = WINDOW) -> Task:
    """Predict all keys of the next frame; `window` is what XD operations span.

    >>> music_task().in_channels
    88
    """
    if not isinstance(window, int) or isinstance(window, bool) or window < 2:
        raise ValueError(f"window={window!r} must be a whole number of frames ≥ 2")
    points = tuple(float(t) for t in range(window))
    notes = (Field("notes", (0, KEYS)),)
    return Task("music", notes, notes, (Axis("time", points, False, float(window)),))


class Sequences(Dataset):
    """Pieces (T, 88); a list of indices gives a `Batch`.

    x: (batch, 88, n) frames 1 … T − 1, then 0;  y: (batch, 88, n) frames 2 … T, then NaN
    """

    def __init__(self, pieces: Sequence[np.ndarray]):
        self.pieces = [torch.tensor(piece.T, dtype=torch.float32) for piece in pieces]  # (88, T)
        self.lengths = [piece.shape[1] - 1 for piece in self.pieces]

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        longest = max(self.lengths[index] for index in indices)
        x = torch.zeros(len(indices), KEYS, longest)
        y = torch.full_like(x, torch.nan)
        for row, index in enumerate(indices):
            piece, n = self.pieces[index], self.lengths[index]
            x[row, :, :n], y[row, :, :n] = piece[:, :-1], piece[:, 1:]
        return Batch(x, y)
