"""Symmetries of an equation: maps of a sample to another one that solves it as well.

Training sees a random member of the group in each batch, more data at no cost of a solver.  They
act on whole batches on the grid, exactly: points go to points.

    flip       any axis reversed
    mirror     the same where the grid is not its own mirror image: the points move too
    swap       axes in another order; they must have the same points
    odd_flip   the axis reversed and the sign changed, u(x) → −u(−x), in one dimension
    roll       a periodic shift along each axis
    slide      a periodic shift by (s, −s), which a forcing of x + y allows
    half_turn  u(x, y) → u(1/8 − x, 1/8 − y), which one of sin 2π(x+y) + cos 2π(x+y) allows
    odd_swap   u(x, y) → −u(3/8 − y, 3/8 − x), likewise
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
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


def _some_axes(placed: Placed, rng: np.random.Generator) -> list[int]:
    return [axis for axis in _axes(placed) if rng.random() < 0.5]


def _flipped(placed: Placed, axes: Sequence[int]) -> Placed:
    return placed.mapped(lambda side: side.flip(list(axes))) if axes else placed


def _mirrored(placed: Placed, axes: Sequence[int]) -> Placed:
    """s → 1 − s, with the points in increasing order again."""
    coords = [1 - s.flip(0) if axis in axes else s for axis, s in enumerate(placed.coords, 2)]
    return _flipped(placed, axes)._replace(coords=tuple(coords))


def _swapped(placed: Placed, order: Sequence[int]) -> Placed:
    coords = placed.coords and tuple(placed.coords[axis] for axis in order)
    permuted = (0, 1, *(2 + axis for axis in order))
    return placed.mapped(lambda side: side.permute(permuted).contiguous())._replace(coords=coords)


def _reversed_about(side: Tensor, axes: Sequence[int], eighths: int = 0) -> Tensor:
    """On periodic axes s → c − s, c in eighths of the period: point j goes to n c − j."""
    middles = [side.shape[axis] * eighths // 8 for axis in axes]
    return side.flip(list(axes)).roll([1 + m for m in middles], list(axes))


def _odd_flipped(placed: Placed) -> Placed:
    return placed.mapped(lambda side: -_reversed_about(side, [2]))


def _half_turned(placed: Placed) -> Placed:
    return placed.mapped(lambda side: _reversed_about(side, [2, 3], 1))


def _odd_swapped(placed: Placed) -> Placed:
    return placed.mapped(lambda side: -_reversed_about(side.mT, [2, 3], 3))


def _rolled(placed: Placed, shifts: Sequence[int]) -> Placed:
    return placed.mapped(lambda side: side.roll(tuple(shifts), tuple(_axes(placed))))


def _flip(placed: Placed, rng: np.random.Generator) -> Placed:
    return _flipped(placed, _some_axes(placed, rng))


def _mirror(placed: Placed, rng: np.random.Generator) -> Placed:
    return _mirrored(placed, _some_axes(placed, rng))


def _swap(placed: Placed, rng: np.random.Generator) -> Placed:
    return _swapped(placed, rng.permutation(len(_axes(placed))).tolist())


def _half_the_time(change: Callable[[Placed], Placed]) -> Symmetry:
    return lambda placed, rng: placed if rng.random() < 0.5 else change(placed)


def _roll(placed: Placed, rng: np.random.Generator) -> Placed:
    return _rolled(placed, [int(rng.integers(n)) for n in placed.batch.x.shape[2:]])


def _slide(placed: Placed, rng: np.random.Generator) -> Placed:
    shift = int(rng.integers(placed.batch.x.shape[2]))
    return _rolled(placed, (shift, -shift))


SYMMETRIES: dict[str, Symmetry] = {
    "flip": _flip,
    "mirror": _mirror,
    "swap": _swap,
    "odd_flip": _half_the_time(_odd_flipped),
    "roll": _roll,
    "slide": _slide,
    "half_turn": _half_the_time(_half_turned),
    "odd_swap": _half_the_time(_odd_swapped),
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


class Member(NamedTuple):
    """A member of a group of symmetries and its inverse."""

    there: Callable[[Placed], Placed]
    back: Callable[[Placed], Placed]


SHIFTS = 8  # of a periodic axis, evenly spaced: a group of its own


def members(names: Sequence[str], size: Sequence[int]) -> list[Member]:
    """All members of the groups that are named, of shifts an evenly spaced few.

    size: of the grid

    >>> len(members(["flip", "swap"], (17, 17))), len(members(["odd_flip", "roll"], (64,)))
    (8, 16)
    """
    found = [Member(lambda placed: placed, lambda placed: placed)]
    for name in names:
        found = [_then(one, two) for one in found for two in _GROUPS[name](tuple(size))]
    return found


def _then(one: Member, two: Member) -> Member:
    return Member(lambda p: two.there(one.there(p)), lambda p: one.back(two.back(p)))


def _own_inverses(change: Callable[..., Placed], ndim: int) -> list[Member]:
    """Of every set of axes."""
    sets = (s for k in range(ndim + 1) for s in itertools.combinations(range(2, ndim + 2), k))
    changes = [partial(change, axes=axes) for axes in sets]
    return [Member(one, one) for one in changes]


def _twice(change: Callable[[Placed], Placed]) -> list[Member]:
    """What is its own inverse."""
    return [Member(lambda p: p, lambda p: p), Member(change, change)]


def _orders(size: tuple[int, ...]) -> list[Member]:
    inverse = [(o, np.argsort(o).tolist()) for o in itertools.permutations(range(len(size)))]
    return [Member(partial(_swapped, order=o), partial(_swapped, order=i)) for o, i in inverse]


def _shifts(size: tuple[int, ...], directions: Sequence[Sequence[int]]) -> list[Member]:
    """Along each direction as many as divide the axis evenly, SHIFTS at most."""
    found = [np.zeros(len(size), int)]
    for direction in directions:
        count = math.gcd(SHIFTS, *(n for n, d in zip(size, direction, strict=True) if d))
        step = np.array(direction) * [n // count for n in size]
        found = [shift + k * step for shift in found for k in range(count)]
    shifts = [shift.tolist() for shift in found]
    return [
        Member(partial(_rolled, shifts=s), partial(_rolled, shifts=[-n for n in s])) for s in shifts
    ]


OF_EIGHTHS = ("half_turn", "odd_swap")  # move points by eighths of the period

_GROUPS: dict[str, Callable[[tuple[int, ...]], list[Member]]] = {
    "flip": lambda size: _own_inverses(_flipped, len(size)),
    "mirror": lambda size: _own_inverses(_mirrored, len(size)),
    "swap": _orders,
    "odd_flip": lambda size: _twice(_odd_flipped),
    "roll": lambda size: _shifts(size, np.eye(len(size), dtype=int).tolist()),
    "slide": lambda size: _shifts(size, [(1, -1)]),
    "half_turn": lambda size: _twice(_half_turned),
    "odd_swap": lambda size: _twice(_odd_swapped),
}


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
    if name in ("swap", "slide", *OF_EIGHTHS):
        alike = all(len(p) == len(points[0]) and np.allclose(p, points[0]) for p in points)
        return alike and not (name in OF_EIGHTHS and len(points[0]) % 8)
    if name == "flip":
        even = all(np.allclose(np.diff(p), np.diff(p)[::-1]) for p in points)
        return even and not any(axis.ends_early for axis in axes)
    if name == "mirror":
        return not any(axis.periodic for axis in axes)
    return all(axis.periodic for axis in axes)
