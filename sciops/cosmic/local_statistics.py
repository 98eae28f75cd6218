"""Centre and scale of an image that vary slowly over it, as a network is used to from its windows.

Training shows a network windows, each scaled by its own statistics.  An image of many windows has
them as a map: the statistics of blocks of about a window's size, interpolated linearly between
their middles.  The map belongs to the image, not to the tiles it is cut into, so tiles leave no
seams; and an image of one window has just one block, as in training.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

LEAST = 0.25  # share of a block's pixels that must be known; the whole image stands in for it

Statistic = Callable[[Tensor], tuple[Tensor, Tensor]]  # (1, 1, h, w) -> two of (1, 1, 1, 1)


class LocalStatistics(NamedTuple):
    """Centres and scales of blocks, and the weights (pixel, block) of each axis."""

    centre: Tensor  # (blocks, blocks)
    scale: Tensor
    rows: Tensor
    columns: Tensor

    def within(self, rows: slice, columns: slice) -> tuple[Tensor, Tensor]:
        """Centre and scale of the pixels of a window, (1, 1, h, w) each."""
        y, x = self.rows[rows], self.columns[columns]
        return tuple((y @ blocks @ x.mT)[None, None] for blocks in (self.centre, self.scale))


def local_statistics(
    image: Tensor,
    block: tuple[int, int],
    statistic: Statistic,
    extent: tuple[int, int] | None = None,
) -> LocalStatistics:
    """Of an image (h, w) whose unknown pixels are NaN.

    extent: (h, w) of a canvas that goes on below and to the right of the image
    """
    edges = [_edges(n, size) for n, size in zip(image.shape, block, strict=True)]
    whole = None
    found = torch.empty(2, *(len(e) - 1 for e in edges), dtype=image.dtype)
    for i, (top, bottom) in enumerate(pairwise(edges[0])):
        for j, (left, right) in enumerate(pairwise(edges[1])):
            part = image[top:bottom, left:right]
            if part.isfinite().double().mean() < LEAST:
                whole = statistic(image[None, None]) if whole is None else whole
                found[:, i, j] = torch.stack(whole).flatten()
            else:
                found[:, i, j] = torch.stack(statistic(part[None, None])).flatten()
    ends = image.shape if extent is None else extent
    weights = [_weights(e, n).to(image.dtype) for e, n in zip(edges, ends, strict=True)]
    return LocalStatistics(*found, *weights)


def _edges(n: int, block: int) -> list[int]:
    """Of blocks of about the given size, as equal as possible.

    >>> _edges(300, 128), _edges(100, 128)
    ([0, 150, 300], [0, 100])
    """
    count = max(1, round(n / block))
    return [round(k * n / count) for k in range(count + 1)]


def _weights(edges: list[int], n: int) -> Tensor:
    """(n, blocks): linear interpolation between their middles, constant beyond the outer ones."""
    middles = np.array([(a + b - 1) / 2 for a, b in pairwise(edges)])
    hats = [np.interp(np.arange(n), middles, unit) for unit in np.eye(len(middles))]
    return torch.from_numpy(np.stack(hats, 1))
