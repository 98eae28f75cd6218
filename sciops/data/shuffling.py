"""The order in which training sees samples."""

import math
from collections.abc import Iterator

import numpy as np
from torch.utils.data import Sampler


class ShuffledBatches(Sampler[list]):
    """Batches of indices; their order depends on the seed and the epoch alone.

    Of several processes each takes its share of every batch, so together they take the same steps
    as one; a batch with fewer samples than processes is taken by all of them.

    Of several grids (see `SeveralGrids`) each batch has one, drawn at random; or, if there are
    `coarse_epochs`, these are divided among all grids but the last, which has the epochs after.

    Of samples that are drawn anew in every epoch, number k of epoch e is the index e · samples + k.
    """

    def __init__(
        self,
        samples: int,
        batch_size: int,
        *,
        seed: int,
        grids: int = 1,
        coarse_epochs: int | None = None,
        anew: bool = False,
    ):
        self.anew = anew
        self.samples, self.batch_size, self.seed = samples, batch_size, seed
        self.grids, self.coarse_epochs = grids, coarse_epochs
        self.epoch, self.process = 0, (0, 1)  # number of this process, and how many there are

    def __len__(self) -> int:
        return math.ceil(self.samples / self.batch_size)

    def size(self, index: int) -> int:
        """Samples of a batch in all processes together; the last one may have fewer."""
        return min(self.batch_size, self.samples - index * self.batch_size)

    def shares(self, size: int) -> int:
        """Into how many parts a batch of this size is divided."""
        processes = self.process[1]
        return processes if size >= processes else 1

    def __iter__(self) -> Iterator[list]:
        rng = np.random.default_rng([self.seed, self.epoch])
        order = rng.permutation(self.samples) + (self.epoch * self.samples if self.anew else 0)
        order = order.tolist()
        for i in range(0, self.samples, self.batch_size):
            batch = order[i : i + self.batch_size]
            if self.grids > 1:
                grid = self._grid(rng)
                batch = [(grid, sample) for sample in batch]
            shares = self.shares(len(batch))
            yield batch[self.process[0] % shares :: shares]

    def _grid(self, rng: np.random.Generator) -> int:
        if self.coarse_epochs is None:
            return int(rng.integers(self.grids))
        if self.epoch >= self.coarse_epochs:
            return self.grids - 1
        return self.epoch * (self.grids - 1) // self.coarse_epochs
