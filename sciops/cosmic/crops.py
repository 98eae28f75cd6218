"""Crops of stamps: what a network is trained on, cut and turned when a batch is asked for.

Training sees a stamp at random places, mirrored and turned, and under another sky, as published for
deepCR (Zhang & Bloom 2020):

    image + sky · u,        u uniform in (−0.9, 3)

which changes the level and not the noise.  Validation sees all of every stamp as it is:
`CoveringCrops` cannot change anything.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.utils.data import Dataset

from sciops.task import Axis, Batch, Field, Task

from .stamps import unpacked

if TYPE_CHECKING:
    import xarray as xr

SIZE = 128
SKY = (-0.9, 3.0)


def cosmic_task(size: int = SIZE) -> Task:
    """Predict from an image (size, size) which of its pixels were hit, as logits.

    >>> task = cosmic_task(64)
    >>> task.in_channels, task.out_channels, task.axes[0].size
    (1, 1, 64)
    """
    if not isinstance(size, int) or isinstance(size, bool) or size < 2:
        raise ValueError(f"size={size!r} must be a whole number of pixels ≥ 2")
    points = tuple(float(i) for i in range(size))
    axes = tuple(Axis(name, points, periodic=False, length=float(size)) for name in "yx")
    return Task("cosmic", (Field("image"),), (Field("mask"),), axes)


class AbstractCrops(Dataset):
    """Stamps in memory; a list of indices gives a `Batch`.

    x: (batch, 1, size, size), image;  y: (batch, 2, size, size), mask and ignore, 0 or 1
    """

    def __init__(self, ds: "xr.Dataset", task: Task):
        ds = unpacked(ds)
        self.size = task.axes[0].size
        self.images, self.skies = ds["image"].values, ds["sky"].values
        self.masks, self.ignored = ds["mask"].values, ds["ignore"].values
        if min(self.images.shape[1:]) < self.size:
            raise ValueError(
                f"the stamps are {self.images.shape[1:]}, smaller than the crops of {self.size} "
                "pixels that are asked for; read larger tiles or train on smaller crops"
            )

    def __len__(self) -> int:
        return len(self.images)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        x, y = zip(*(self.crop(index) for index in indices), strict=True)
        return Batch(torch.from_numpy(np.stack(x)), torch.from_numpy(np.stack(y)))

    def crop(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """x and y of one index."""
        raise TypeError(f"{type(self).__name__} must define crop()")

    def _cut(self, number: int, row: int, column: int) -> tuple[np.ndarray, np.ndarray]:
        window = number, slice(row, row + self.size), slice(column, column + self.size)
        targets = np.stack([self.masks[window], self.ignored[window]]).astype(np.float32)
        return self.images[window][None], targets


class CoveringCrops(AbstractCrops):
    """As few crops as cover every stamp, unchanged: to validate.

    Where their size does not divide that of the stamp, they overlap.
    """

    def __init__(self, ds: "xr.Dataset", task: Task):
        super().__init__(ds, task)
        rows, columns = (_starts(n, self.size) for n in self.images.shape[1:])
        self.corners = [(row, column) for row in rows for column in columns]

    def __len__(self) -> int:
        return len(self.images) * len(self.corners)

    def crop(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        number, corner = divmod(index, len(self.corners))
        return self._cut(number, *self.corners[corner])


def _starts(n: int, size: int) -> list[int]:
    """Of windows that cover n pixels.

    >>> _starts(128, 64), _starts(100, 64), _starts(64, 64)
    ([0, 64], [0, 36], [0])
    """
    count = -(-n // size)
    return [round(k * (n - size) / max(count - 1, 1)) for k in range(count)]


class TrainingCrops(AbstractCrops):
    """Random crops, turned and mirrored, under another sky: to train.

    Index k is of stamp k mod n, drawn anew for every ⌊k / n⌋.

    sky: the limits of u; None leaves the sky as it is
    """

    draws_anew = True

    def __init__(
        self,
        ds: "xr.Dataset",
        task: Task,
        *,
        seed: int = 0,
        sky: tuple[float, float] | None = SKY,
    ):
        super().__init__(ds, task)
        self.seed, self.sky = seed, sky

    def crop(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        number = index % len(self)
        rng = np.random.default_rng([self.seed, index])
        height, width = self.images.shape[1:]
        row, column = rng.integers([height - self.size + 1, width - self.size + 1]).tolist()
        x, y = self._cut(number, row, column)
        if self.sky is not None:
            x = x + np.float32(self.skies[number] * rng.uniform(*self.sky))
        turns, mirrored = rng.integers([4, 2]).tolist()
        x, y = (np.rot90(part, turns, axes=(1, 2)) for part in (x, y))
        return (x[..., ::-1], y[..., ::-1]) if mirrored else (x, y)
