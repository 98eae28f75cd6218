"""Samples that stay on disk: the same batches as from memory, for sets that do not fit in it.

A sample is read where it lies in its chunk, one read for each variable.  A chunk is compared with
its checksum when the first of its samples is asked for.  What is read again soon comes from the
memory that the operating system has to spare.  Disks that turn are better served by
`StreamedBatches`, which reads whole chunks.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

from sciops.task import Batch, Task

from .samples import as_batch, variables_of
from .store import ChunkFiles, StoreError, chunk_files, verify

AT_ONCE = 256  # samples, where all are looked at


class StoredSamples(Dataset):
    """The first n samples of a split of a store; a list of indices gives a `Batch`."""

    def __init__(self, path: str | Path, split: str, task: Task, n: int):
        verify(path)
        self.task, self.n = task, n
        self.files = {name: chunk_files(path, split, name) for name in variables_of(task)}
        self.checked: set[Path] = set()

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Batch:
        return Batch(*(side[0] for side in self.__getitems__([index])))

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        return as_batch({name: self._read(f, indices) for name, f in self.files.items()}, self.task)

    def _read(self, files: ChunkFiles, indices: Sequence[int]) -> torch.Tensor:
        out = np.empty((len(indices), *files.shape[1:]), files.dtype)
        for row, index in zip(out, indices, strict=True):
            chunk, place = divmod(int(index), files.length)
            self._check(files, chunk)
            with files.files[chunk].open("rb", buffering=0) as file:
                read = os.preadv(
                    file.fileno(), [row.reshape(-1).view(np.uint8)], place * row.nbytes
                )
            if read != row.nbytes:
                raise StoreError(f"{files.files[chunk]} was cut short while it was in use")
        return torch.from_numpy(out)

    def _check(self, files: ChunkFiles, chunk: int) -> None:
        """Read a chunk once as a whole, which compares it with its checksum."""
        if files.files[chunk] not in self.checked:
            files.read_into(chunk, np.empty((files.length, *files.shape[1:]), files.dtype))
            self.checked.add(files.files[chunk])

    def spread(self) -> Batch:
        """Two samples of one point, with the mean and deviation of all, in double precision."""
        return Batch(*(_two_with(*moments) for moments in zip(*self._moments(), strict=True)))

    def _moments(self) -> list[tuple[torch.Tensor, ...]]:
        """Mean and deviation by channel, of both sides; a second pass for the deviation."""
        mean = [total / count for total, count in self._sums([0, 0], 1)]
        squares = [total / count for total, count in self._sums(mean, 2)]
        return [tuple(mean), tuple(square.sqrt() for square in squares)]

    def _sums(self, centre: Sequence, power: int) -> list[tuple[torch.Tensor, int]]:
        sums: list = [0, 0]
        counts = [0, 0]
        for start in range(0, self.n, AT_ONCE):
            batch = self.__getitems__(range(start, min(start + AT_ONCE, self.n)))
            for side, data in enumerate(batch):
                channels = data.double().movedim(1, 0).flatten(1)  # (channel, points)
                middle = torch.as_tensor(centre[side]).reshape(-1, 1)
                sums[side] = sums[side] + ((channels - middle) ** power).sum(1)
                counts[side] += channels.shape[1]
        return list(zip(sums, counts, strict=True))


def _two_with(mean: torch.Tensor, deviation: torch.Tensor) -> torch.Tensor:
    return torch.stack([mean - deviation, mean + deviation]).unsqueeze(-1)  # (2, channel, 1)
