"""Batches from a store that does not fit in memory.

Whole chunks are read in a random order, `window` of them at a time, and the samples of a window are
shuffled; the next window is read while the present one is used.  The order depends on the seed and
the epoch alone.  Arrays are opened where they are read, so that loader processes share nothing.
"""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from sciops.suggestions import did_you_mean
from sciops.task import Batch, Task

from .samples import as_batch, task_of, variables_of
from .store import ChunkFiles, chunk_files, open_store


class StreamedBatches(IterableDataset):
    """`Batch`es of one split of a store, each sample once an epoch.

    window: pieces in memory at a time, and as many again while the next window is being read; a
            piece is as few chunks as hold the same samples of every variable
    """

    def __init__(
        self,
        path: str | Path,
        split: str,
        batch_size: int,
        *,
        shuffle: bool = True,
        seed: int = 0,
        window: int = 8,
    ):
        tree = open_store(path)
        if split not in tree:
            raise ValueError(
                f"{path} has no split {split!r}; it has {', '.join(tree.children)}"
                f"{did_you_mean(split, tree.children)}"
            )
        self.path, self.split, self.batch_size = Path(path), split, batch_size
        self.task: Task = task_of(tree[split].to_dataset())
        self.shuffle, self.seed, self.window = shuffle, seed, window
        self.epoch = 0
        self.samples: int = tree[split].sizes["sample"]

    def set_epoch(self, epoch: int) -> None:
        """Another order for another epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Batch]:
        names = variables_of(self.task)
        files = {name: chunk_files(self.path, self.split, name) for name in names}
        length = math.lcm(*(f.length for f in files.values()))
        pieces = self._pieces(length)
        windows = [pieces[i : i + self.window] for i in range(0, len(pieces), self.window)]
        buffers = [_Window(files, self.window * length) for _ in windows[:2]]
        order = np.random.default_rng([self.seed, self.epoch, 1 + _worker()[0]])
        rest: Batch | None = None
        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(buffers[0].read, windows[0]) if windows else None
            for i in range(len(windows)):
                ready = coming.result()
                if i + 1 < len(windows):
                    coming = reader.submit(buffers[(i + 1) % 2].read, windows[i + 1])
                for batch in self._cut(ready, order, rest):
                    rest = None
                    if len(batch.x) < self.batch_size:
                        rest = batch
                    else:
                        yield batch
        if rest is not None:
            yield rest

    def _pieces(self, length: int) -> list[range]:
        """This worker's part of the store, as ranges of samples, in the order of reading."""
        starts = np.arange(0, self.samples, length)
        if self.shuffle:
            starts = np.random.default_rng([self.seed, self.epoch]).permutation(starts)
        worker, workers = _worker()
        return [range(a, min(a + length, self.samples)) for a in starts[worker::workers].tolist()]

    def _cut(self, window: "_Window", order: np.random.Generator, rest: Batch | None):
        """A window as batches, the first completing the rest of the window before."""
        count = window.count
        chosen = order.permutation(count) if self.shuffle else np.arange(count)
        start = 0 if rest is None else self.batch_size - len(rest.x)
        if rest is not None:
            more = as_batch(window.take(chosen[:start]), self.task)
            yield Batch(*(torch.cat(pair) for pair in zip(rest, more, strict=True)))
        for i in range(start, count, self.batch_size):
            yield as_batch(window.take(chosen[i : i + self.batch_size]), self.task)


class _Window:
    """Memory for some samples of every variable, used again and again."""

    def __init__(self, files: dict[str, ChunkFiles], capacity: int):
        self.files, self.count = files, 0
        self.memory = {
            name: np.empty((capacity, *f.shape[1:]), f.dtype) for name, f in files.items()
        }

    def read(self, pieces: list[range]) -> "_Window":
        """Fill it with these samples."""
        self.count = sum(map(len, pieces))
        for name, file in self.files.items():
            place = 0
            for start in (start for piece in pieces for start in piece[:: file.length]):
                place += file.read_into(start // file.length, self.memory[name][place:])
        return self

    def take(self, chosen: np.ndarray) -> dict[str, torch.Tensor]:
        """A copy of some samples."""
        index = torch.from_numpy(chosen)
        return {n: torch.from_numpy(m).index_select(0, index) for n, m in self.memory.items()}


def _worker() -> tuple[int, int]:
    """Number of this loader process and how many there are."""
    info = get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)
