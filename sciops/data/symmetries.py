"""Symmetries of an equation: maps of a sample to another one that solves it as well.

Training sees a random member of the group in each batch, more data at no cost of a solver.  They
act on whole batches on the grid, exactly: points go to points.

    flip       any axis reversed
    swap       axes in another order; they must have the same points
    odd_flip   the axis reversed and the sign changed, u(x) → −u(−x), in one dimension
    roll       a periodic shift along each axis
    slide      a periodic shift by (s, −s), which a forcing of x + y allows
"""

from collections.abc import Callable, Sequence

import numpy as np

from sciops.task import Axis, Batch

Symmetry = Callable[[Batch, np.random.Generator], Batch]


def _flip(batch: Batch, rng: np.random.Generator) -> Batch:
    axes = [axis for axis in range(2, batch.x.ndim) if rng.random() < 0.5]
    return Batch(*(side.flip(axes) for side in batch)) if axes else batch


def _swap(batch: Batch, rng: np.random.Generator) -> Batch:
    order = (0, 1, *(2 + rng.permutation(batch.x.ndim - 2)).tolist())
    return Batch(*(side.permute(order).contiguous() for side in batch))


def _odd_flip(batch: Batch, rng: np.random.Generator) -> Batch:
    """On a periodic axis point 0 stays, j goes to n − j."""
    if rng.random() < 0.5:
        return batch
    return Batch(*(-side.flip(2).roll(1, 2) for side in batch))


def _roll(batch: Batch, rng: np.random.Generator) -> Batch:
    axes = tuple(range(2, batch.x.ndim))
    shifts = tuple(int(rng.integers(batch.x.shape[axis])) for axis in axes)
    return Batch(*(side.roll(shifts, axes) for side in batch))


def _slide(batch: Batch, rng: np.random.Generator) -> Batch:
    shift = int(rng.integers(batch.x.shape[2]))
    return Batch(*(side.roll((shift, -shift), (2, 3)) for side in batch))


SYMMETRIES: dict[str, Symmetry] = {
    "flip": _flip,
    "swap": _swap,
    "odd_flip": _odd_flip,
    "roll": _roll,
    "slide": _slide,
}


def transformed(batch: Batch, names: Sequence[str], rng: np.random.Generator) -> Batch:
    """A random member of each of the named groups, one after the other, applied to a batch.

    >>> import torch
    >>> batch = Batch(torch.tensor([[[1.0, 2.0, 3.0]]]), torch.tensor([[[4.0, 5.0, 6.0]]]))
    >>> transformed(batch, ["flip"], np.random.default_rng(0)).y.tolist()
    [[[4.0, 5.0, 6.0]]]
    >>> transformed(batch, ["flip"], np.random.default_rng(2)).y.tolist()
    [[[6.0, 5.0, 4.0]]]
    """
    for name in names:
        batch = SYMMETRIES[name](batch, rng)
    return batch


def fitting(names: Sequence[str], axes: Sequence[Axis]) -> tuple[str, ...]:
    """Those of the named symmetries that these grids have."""
    return tuple(name for name in names if _fits(name, axes))


def _fits(name: str, axes: Sequence[Axis]) -> bool:
    points = [np.asarray(axis.points) for axis in axes]
    if name in ("swap", "slide"):
        return all(len(p) == len(points[0]) and np.allclose(p, points[0]) for p in points)
    if name == "flip":
        return all(np.allclose(np.diff(p), np.diff(p)[::-1]) for p in points)
    return all(axis.periodic for axis in axes)
