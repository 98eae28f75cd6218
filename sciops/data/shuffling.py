"""The order in which training sees samples."""

import math
from collections.abc import Iterator

import numpy as np
from torch.utils.data import Sampler


class ShuffledBatches(Sampler[list]):
    """Batches of indices; their order depends on the seed and the epoch alone.

    Of several processes each takes its share of every batch, so together they take the same steps
    as one; a batch with fewer samples than processes is taken by all of them.

    Of several grids (see `SeveralGrids`) each batch has one, drawn at random.
    """

    def __init__(self, samples: int, batch_size: int, *, seed: int, grids: int = 1):
        self.samples, self.batch_size, self.seed, self.grids = samples, batch_size, seed, grids
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
        order = rng.permutation(self.samples).tolist()
        for i in range(0, self.samples, self.batch_size):
            batch = order[i : i + self.batch_size]
            if self.grids > 1:
                grid = int(rng.integers(self.grids))
                batch = [(grid, sample) for sample in batch]
            shares = self.shares(len(batch))
            yield batch[self.process[0] % shares :: shares]
