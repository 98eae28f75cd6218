"""Symmetries of an equation: maps of a sample to another one that solves it as well.

Training sees a random member of the group in each batch, more data at no cost of a solver.  They
act on whole batches on the grid, exactly: points go to points.

    flip       any axis reversed
    mirror     the same where the grid is not its own mirror image: the points move too
    swap       axes in another order; they must have the same points
    odd_flip   the axis reversed and the sign changed, u(x) → −u(−x), in one dimension
    roll       a periodic shift along each axis
    slide      a periodic shift by (s, −s), which a forcing of x + y allows
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from sciops.task import Axis, Batch


class Placed(NamedTuple):
    """A batch and its points, in units of the length of each axis; None is the usual grid."""

    batch: Batch
    coords: tuple[Tensor, ...] | None = None

    def mapped(self, change: Callable[[Tensor], Tensor]) -> "Placed":
        """Both sides of the batch changed, at the same points."""
        return self._replace(batch=Batch(*map(change, self.batch)))


Symmetry = Callable[[Placed, np.random.Generator], Placed]


def _axes(placed: Placed) -> range:
    return range(2, placed.batch.x.ndim)


def _flip(placed: Placed, rng: np.random.Generator) -> Placed:
    axes = [axis for axis in _axes(placed) if rng.random() < 0.5]
    return placed.mapped(lambda side: side.flip(axes)) if axes else placed


def _mirror(placed: Placed, rng: np.random.Generator) -> Placed:
    """s → 1 − s, with the points in increasing order again."""
    axes = [axis for axis in _axes(placed) if rng.random() < 0.5]
    coords = [1 - s.flip(0) if axis in axes else s for axis, s in enumerate(placed.coords, 2)]
    return placed.mapped(lambda side: side.flip(axes))._replace(coords=tuple(coords))


def _swap(placed: Placed, rng: np.random.Generator) -> Placed:
    order = rng.permutation(len(_axes(placed))).tolist()
    coords = placed.coords and tuple(placed.coords[axis] for axis in order)
    permuted = (0, 1, *(2 + axis for axis in order))
    return placed.mapped(lambda side: side.permute(permuted).contiguous())._replace(coords=coords)


def _odd_flip(placed: Placed, rng: np.random.Generator) -> Placed:
    """On a periodic axis point 0 stays, j goes to n − j."""
    if rng.random() < 0.5:
        return placed
    return placed.mapped(lambda side: -side.flip(2).roll(1, 2))


def _roll(placed: Placed, rng: np.random.Generator) -> Placed:
    axes = tuple(_axes(placed))
    shifts = tuple(int(rng.integers(placed.batch.x.shape[axis])) for axis in axes)
    return placed.mapped(lambda side: side.roll(shifts, axes))


def _slide(placed: Placed, rng: np.random.Generator) -> Placed:
    shift = int(rng.integers(placed.batch.x.shape[2]))
    return placed.mapped(lambda side: side.roll((shift, -shift), (2, 3)))


SYMMETRIES: dict[str, Symmetry] = {
    "flip": _flip,
    "mirror": _mirror,
    "swap": _swap,
    "odd_flip": _odd_flip,
    "roll": _roll,
    "slide": _slide,
}


def transformed(
    batch: Batch,
    names: Sequence[str],
    rng: np.random.Generator,
    coords: tuple[Tensor, ...] | None = None,
) -> Placed:
    """A random member of each of the named groups, one after the other, applied to a batch.

    >>> import torch
    >>> batch = Batch(torch.tensor([[[1.0, 2.0, 3.0]]]), torch.tensor([[[4.0, 5.0, 6.0]]]))
    >>> transformed(batch, ["flip"], np.random.default_rng(0)).batch.y.tolist()
    [[[4.0, 5.0, 6.0]]]
    >>> points = (torch.tensor([0.0, 0.25, 0.5]),)
    >>> moved = transformed(batch, ["mirror"], np.random.default_rng(2), points)
    >>> moved.batch.y.tolist(), moved.coords[0].tolist()
    ([[[6.0, 5.0, 4.0]]], [0.5, 0.75, 1.0])
    """
    placed = Placed(batch, coords)
    for name in names:
        placed = SYMMETRIES[name](placed, rng)
    return placed


def fitting(names: Sequence[str], axes: Sequence[Axis], *, movable: bool) -> tuple[str, ...]:
    """Those of the named symmetries that these grids have.

    movable: whether the network can be told where points are, so that a "flip" that the grid does
    not allow can be a "mirror"
    """
    found = []
    for name in names:
        if name == "flip" and not _fits(name, axes) and movable:
            name = "mirror"
        found += [name] if _fits(name, axes) else []
    return tuple(found)


def _fits(name: str, axes: Sequence[Axis]) -> bool:
    points = [np.asarray(axis.points) for axis in axes]
    if name in ("swap", "slide"):
        return all(len(p) == len(points[0]) and np.allclose(p, points[0]) for p in points)
    if name == "flip":
        even = all(np.allclose(np.diff(p), np.diff(p)[::-1]) for p in points)
        return even and not any(axis.ends_early for axis in axes)
    if name == "mirror":
        return not any(axis.periodic for axis in axes)
    return all(axis.periodic for axis in axes)
