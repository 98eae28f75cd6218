"""Handwritten digits as sequences, a pixel a step: scikit-learn's 1797 real images of 8 × 8.

In order, row by row, neighbours in an image are steps that are close or 8 apart.  `permuted`, all
images have their pixels in one random order: what is close in the sequence has nothing to do with
what is close in the image, and a convolution over steps is the wrong operation (the permuted MNIST
of Le et al. 2015, arXiv:1504.00941, in small).
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch.utils.data import Dataset

from sciops.task import Axis, Batch, Field, Task

PIXELS, BRIGHTEST = 64, 16
CLASSES = tuple("0123456789")
SPLITS = {"train": (0, 1200), "val": (1200, 1400), "test": (1400, 1797)}  # the file's own order
ORDER = 0  # seed of the permutation, the same in every run


class Digits(Dataset):
    """Images as sequences; a list of indices gives a `Batch` of x (b, 1, 64) and classes (b,)."""

    def __init__(self, images: np.ndarray, classes: np.ndarray):
        self.x = torch.tensor(images / BRIGHTEST - 0.5, dtype=torch.float32)[:, None]
        self.y = torch.tensor(classes, dtype=torch.int64)

    def __len__(self) -> int:
        return len(self.x)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        chosen = torch.as_tensor(indices)
        return Batch(self.x[chosen], self.y[chosen])


def load_digits(*, permuted: bool) -> dict[str, Digits]:
    """train, val and test; nobody's handwriting is kept apart, as the data do not name writers."""
    try:
        from sklearn import datasets
    except ImportError:
        raise ImportError(
            "the digits come with scikit-learn, which is not installed: pip install sciops[digits]"
        ) from None
    bunch = datasets.load_digits()
    order = np.random.default_rng(ORDER).permutation(PIXELS) if permuted else np.arange(PIXELS)
    images = bunch.data[:, order]
    return {s: Digits(images[a:b], bunch.target[a:b]) for s, (a, b) in SPLITS.items()}


def digits_task() -> Task:
    """A class for each sequence of 64 pixels."""
    steps = Axis("step", tuple(float(k) for k in range(PIXELS)), False, float(PIXELS))
    return Task("digits", (Field("pixel"),), (Field("class"),), (steps,), CLASSES)
