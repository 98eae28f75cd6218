"""How well the next frame of polyphonic music is predicted, in nats.

    nats = − Σₜ Σₖ  y log p + (1 − y) log (1 − p),        p = 1 / (1 + e^−prediction)

over the frames t that are known (NaN in the target: not known) and the 88 keys k, which are
predicted independently.  The published score of a collection is frame-weighted: the nats of all
pieces over the frames of all pieces (Bai et al. 2018, arXiv:1803.01271).
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


def nats(prediction: Tensor, target: Tensor) -> Tensor:
    """Of each sequence, the sum over its known frames, (batch,).

    prediction: (batch, keys, n), logits;  target: (batch, keys, n), 0, 1 or NaN
    """
    known = ~target.isnan()
    each = F.binary_cross_entropy_with_logits(
        prediction, target.where(known, 0.0), reduction="none"
    )
    return each.where(known, 0.0).flatten(1).sum(1)


def frames(target: Tensor) -> Tensor:
    """How many frames of each sequence are known, (batch,)."""
    return (~target[:, 0].isnan()).sum(-1).to(target.dtype)


def marginal_logits(notes: np.ndarray) -> Tensor:
    """What predicts each key by how often it sounds in these frames (n, keys), (keys,).

    By Laplace's rule, (count + 1) / (n + 2), so that no key is impossible.
    """
    count = torch.tensor(notes.sum(0, dtype=np.int64), dtype=torch.float64)
    return torch.log((count + 1) / (len(notes) + 1 - count))
