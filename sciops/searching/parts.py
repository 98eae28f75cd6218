"""Data sets divided in two, by a draw that depends on the seed alone."""

from collections.abc import Sequence

import numpy as np
from torch.utils.data import Dataset

from sciops.task import Batch


class Part(Dataset):
    """Some samples of a data set of batches (MemorySamples, SeveralGrids, MapWindows, …)."""

    def __init__(self, whole: Dataset, rows: Sequence[int]):
        self.whole, self.rows = whole, [int(row) for row in rows]
        self.grids = getattr(whole, "grids", 1)
        self.draws_anew = getattr(whole, "draws_anew", False)
        lengths = getattr(whole, "lengths", None)
        self.lengths = None if lengths is None else [lengths[row] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitems__(self, indices: Sequence) -> Batch:
        return self.whole.__getitems__([self._index(index) for index in indices])

    def _index(self, index):
        """That of the whole: of a sample, of (grid, sample), or of a sample drawn anew."""
        if isinstance(index, tuple):
            return (index[0], self.rows[index[1]])
        epoch, sample = divmod(index, len(self.rows))
        return epoch * len(self.whole) + self.rows[sample]


def halves(whole: Dataset, seed: int) -> tuple[Part, Part]:
    """Two halves, the first with one sample more if they are odd in number.

    >>> first, second = halves(list(range(5)), seed=0)
    >>> len(first), sorted(first.rows + second.rows)
    (3, [0, 1, 2, 3, 4])
    """
    if len(whole) < 2:
        raise ValueError(
            f"{len(whole)} training samples cannot be divided in two; give two or more"
        )
    order = np.random.default_rng([seed, len(whole)]).permutation(len(whole))
    middle = (len(whole) + 1) // 2
    return Part(whole, order[:middle]), Part(whole, order[middle:])
