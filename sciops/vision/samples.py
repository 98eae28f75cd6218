"""Images in memory as batches, plain or augmented in the published way.

Augmented, an image is perhaps mirrored and then cut out of its own frame of black pixels at a
random place, anew in every epoch: what CIFAR-10 is trained with, a flip and a crop of 32 with a
margin of 4.  Do not mirror digits or text, and do not augment permuted images: their neighbours
mean nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import Dataset

from sciops.task import Batch

from .images import image_task

if TYPE_CHECKING:
    import xarray as xr


class ImageSamples(Dataset):
    """Images of a split; a list of indices gives a `Batch` of x (b, channel, y, x), classes (b,).

    sequence: x is (b, channel, y · x), rows one after the other
    flip:     mirror left and right, every second time
    margin:   black pixels around the image, of which a part of its size is taken; 0 for none
    seed:     of flips and places

    Index k is image k mod n, drawn anew for every ⌊k / n⌋ if it is augmented.
    """

    def __init__(
        self,
        ds: "xr.Dataset",
        *,
        sequence: bool = False,
        flip: bool = False,
        margin: int = 0,
        seed: int = 0,
    ):
        if not isinstance(margin, int) or isinstance(margin, bool) or margin < 0:
            raise ValueError(f"margin={margin!r} must be a whole number of pixels ≥ 0")
        self.task = image_task(ds, sequence=sequence)
        self.x = torch.tensor(ds["image"].values)
        self.y = torch.tensor(ds["label"].values)
        self.sequence, self.flip, self.margin, self.seed = sequence, flip, margin, seed
        self.draws_anew = flip or margin > 0

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Batch:
        x, y = self.__getitems__([index])
        return Batch(x[0], y[0])

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        chosen = torch.as_tensor(indices) % len(self)
        x = self.x.index_select(0, chosen)
        if self.draws_anew:
            x = self._augmented(x, indices)
        return Batch(x.flatten(2) if self.sequence else x, self.y.index_select(0, chosen))

    def _augmented(self, x: Tensor, indices: Sequence[int]) -> Tensor:
        rows, columns = x.shape[-2:]
        framed = F.pad(x, (self.margin,) * 4)
        out = torch.empty_like(x)
        for k, index in enumerate(indices):
            rng = np.random.default_rng([self.seed, index])
            mirrored = rng.random() < 0.5  # drawn whether it is used or not: places stay the same
            top, left = rng.integers(2 * self.margin + 1, size=2).tolist()
            image = framed[k].flip(-1) if self.flip and mirrored else framed[k]
            out[k] = image[:, top : top + rows, left : left + columns]
        return out
