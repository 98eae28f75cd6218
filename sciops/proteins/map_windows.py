"""Windows of maps: what a network is trained on, cut out of proteins when a batch is asked for.

A window has its own row and column offset, so most lie off the diagonal.  A chain shorter than the
window stands in its upper left corner; beyond its end inputs are 0 and distances unknown.

A feature of residues gives two channels of the map, its value at the column and its value at the
row; only those of the window are ever made.  `separation`, log(1 + |i − j|), needs no storage: away
from the diagonal a window could not tell otherwise how far apart its residues are.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from sciops.task import Axis, Batch, Field, Task

from .protein import Protein

WINDOW = 128
SEPARATION = "separation"


def map_task(protein: Protein, *, window: int = WINDOW, separation: bool = True) -> Task:
    """Predict distances from all the features of a protein, in windows.

    >>> features = {"profile": np.zeros((3, 22))}, {"couplings": np.zeros((3, 3))}
    >>> map_task(Protein("toy", "GAL", *features)).in_channels
    46
    """
    residues = [Field(name, (0, 2 * v.shape[1])) for name, v in protein.profiles.items()]
    pairs = [Field(name) for name in protein.maps]
    extra = [Field(SEPARATION)] if separation else []
    points = tuple(float(i) for i in range(window))
    axes = tuple(Axis(name, points, periodic=False, length=float(window)) for name in "ij")
    return Task("protein", (*residues, *pairs, *extra), (Field("distance"),), axes)


def window_size(task: Task) -> int:
    return task.axes[0].size


def input_map(protein: Protein, task: Task, rows: slice, columns: slice) -> np.ndarray:
    """The channels (in_channels, n, m) of some rows and columns of a protein."""
    i, j = (np.arange(len(protein))[part] for part in (rows, columns))
    parts = []
    for field in task.inputs:
        if field.frames is not None:
            values = protein.profiles[field.variable].T  # (channels, L)
            pair = np.empty((len(values), 2, len(i), len(j)), np.float32)
            pair[:, 0], pair[:, 1] = values[:, None, columns], values[:, rows, None]
            parts.append(pair.reshape(-1, len(i), len(j)))
        elif field.variable == SEPARATION:
            parts.append(np.log1p(np.abs(i[:, None] - j)).astype(np.float32)[None])
        else:
            parts.append(protein.maps[field.variable][None, rows, columns])
    return np.concatenate(parts)


def check_features(proteins: Sequence[Protein], task: Task) -> None:
    """ValueError unless every protein has the features of the task."""
    for protein in proteins:
        found = {f"{n}: {2 * v.shape[1]}" for n, v in protein.profiles.items()} | set(protein.maps)
        for field in task.inputs:
            name = field.variable if field.frames is None else f"{field.variable}: {field.channels}"
            if name not in found and name != SEPARATION:
                raise ValueError(
                    f"the network was made for the feature {name!r}, which {protein.name!r} lacks; "
                    f"it has {', '.join(sorted(found))}"
                )


class MapWindows(Dataset):
    """A window of every protein; a list of indices gives a `Batch`.

    Index k is a window of protein k mod n that is drawn anew for every ⌊k / n⌋.

    x: (batch, in_channels, w, w); y: (batch, 1, w, w) in Å, NaN where not known
    """

    draws_anew = True

    def __init__(self, proteins: Sequence[Protein], task: Task, *, seed: int = 0):
        check_features(proteins, task)
        unknown = [p.name for p in proteins if p.distance is None]
        if unknown:
            raise ValueError(f"no structure is known of {', '.join(unknown)}; leave them out")
        self.proteins, self.task, self.seed = list(proteins), task, seed

    def __len__(self) -> int:
        return len(self.proteins)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        x, y = zip(*(self._window(index) for index in indices), strict=True)
        return Batch(torch.stack(x), torch.stack(y))

    def _window(self, index: int) -> tuple[Tensor, Tensor]:
        protein = self.proteins[index % len(self)]
        size = window_size(self.task)
        rng = np.random.default_rng([self.seed, index])
        starts = rng.integers(max(len(protein) - size, 0) + 1, size=2)
        rows, columns = (slice(start, start + size) for start in starts.tolist())
        x = on_canvas(input_map(protein, self.task, rows, columns), size, 0.0)
        return x, on_canvas(protein.distance[None, rows, columns], size, torch.nan)


def on_canvas(values: np.ndarray, size: int, beyond: float) -> Tensor:
    """(channels, n, m) in the upper left corner of (channels, size, size)."""
    channels, n, m = values.shape
    canvas = torch.full((channels, size, size), beyond)
    canvas[:, :n, :m] = torch.from_numpy(np.ascontiguousarray(values, np.float32))
    return canvas
