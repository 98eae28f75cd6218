"""The order in which training sees samples."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler

ROUGHLY = 0.25  # by how much lengths that are taken for the same may differ


class ShuffledBatches(Sampler[list]):
    """Batches of indices; their order depends on the seed and the epoch alone.

    Of several processes each takes its share of every batch, so together they take the same steps
    as one; a batch with fewer samples than processes is taken by all of them.

    Of several grids (see `SeveralGrids`) each batch has one, drawn at random; or, if there are
    `coarse_epochs`, these are divided among all grids but the last, which has the epochs after.

    Of samples that are drawn anew in every epoch, number k of epoch e is the index e · samples + k.

    Samples that have `lengths` share a batch with others of about their length, so that little is
    padded; the longest are in the last batch if that is smaller than the others.
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
        lengths: Sequence[int] | None = None,
    ):
        self.anew, self.lengths = anew, None if lengths is None else np.asarray(lengths)
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
        if self.lengths is not None:
            order = self._by_length(order, rng)
        order = order.tolist()
        for i in range(0, self.samples, self.batch_size):
            batch = order[i : i + self.batch_size]
            if self.grids > 1:
                grid = self._grid(rng)
                batch = [(grid, sample) for sample in batch]
            shares = self.shares(len(batch))
            yield batch[self.process[0] % shares :: shares]

    def _by_length(self, order: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sorted by roughly the length, then whole batches in random order."""
        rough = self.lengths[order] * rng.uniform(1, 1 + ROUGHLY, len(order))
        order = order[np.argsort(rough)]
        whole = len(order) // self.batch_size
        batches = order[: whole * self.batch_size].reshape(whole, self.batch_size)
        return np.concatenate([rng.permutation(batches).ravel(), order[batches.size :]])

    def _grid(self, rng: np.random.Generator) -> int:
        if self.coarse_epochs is None:
            return int(rng.integers(self.grids))
        if self.epoch >= self.coarse_epochs:
            return self.grids - 1
        return self.epoch * (self.grids - 1) // self.coarse_epochs
