"""The same samples on several grids, for training at several resolutions."""

from collections.abc import Sequence

from torch.utils.data import Dataset

from sciops.task import Batch

from .samples import MemorySamples


class SeveralGrids(Dataset):
    """Samples that a network sees on another grid from batch to batch; a batch has one grid.

    An index is a pair (grid, sample), as `ShuffledBatches(…, grids=…)` draws them.
    """

    def __init__(self, members: Sequence[MemorySamples]):
        counts = {len(samples) for samples in members}
        if len(counts) != 1:
            raise ValueError(f"each grid must have the same samples; there are {sorted(counts)}")
        self.members = tuple(members)
        self.task = self.members[-1].task

    @property
    def grids(self) -> int:
        return len(self.members)

    def __len__(self) -> int:
        return len(self.members[0])

    def __getitems__(self, indices: Sequence[tuple[int, int]]) -> Batch:
        (grid,) = {grid for grid, _ in indices}
        return self.members[grid].__getitems__([sample for _, sample in indices])
