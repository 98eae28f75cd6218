"""Tiles: a large map as overlapping windows of one size, of each of which the core is kept.

Neighbouring windows overlap by at least twice the margin and the cores meet in the middle of the
overlap, so that every point of a core is at least the margin away from the cut edges of its window.
What a network computes there is what it would compute on the whole map, if it reaches no further.
One that pools its input by twos sees the same pairs if windows begin at multiples of that step.
"""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple


class Tile(NamedTuple):
    """Where a window lies in the map, where its core lies in the map, and in the window."""

    window: tuple[slice, ...]
    core: tuple[slice, ...]
    inner: tuple[slice, ...]


def tiles(
    shape: tuple[int, ...], size: int | tuple[int, ...], margin: int, step: int = 1
) -> Iterator[Tile]:
    """Windows of `size` points along each axis, or of the whole axis if that is shorter.

    The cores are a partition of the map.

    step: windows begin at multiples of it; so must be the lengths of the axes, size and 2 · margin

    >>> [(t.window[0], t.core[0]) for t in tiles((10,), 6, 1)]
    [(slice(0, 6, None), slice(0, 5, None)), (slice(4, 10, None), slice(5, 10, None))]
    """
    sizes = size if isinstance(size, tuple) else (size,) * len(shape)
    for length in sizes:
        if not 0 <= 2 * margin < length:
            raise ValueError(
                f"a margin of {margin} on both sides leaves nothing of {length} points"
            )
    if any(length % step for length in (*shape, *sizes, 2 * margin)):
        raise ValueError(
            f"windows in steps of {step} need axes, a size and twice a margin that are multiples "
            f"of it, got {tuple(shape)}, {sizes} and 2 · {margin}; pad the map"
        )
    per_axis = zip(shape, sizes, strict=True)
    for parts in product(*(_along(n, length, margin, step) for n, length in per_axis)):
        window, core = zip(*parts, strict=True)
        inner = tuple(
            slice(c.start - w.start, c.stop - w.start) for w, c in zip(window, core, strict=True)
        )
        yield Tile(window, core, inner)


def _along(n: int, size: int, margin: int, step: int) -> list[tuple[slice, slice]]:
    """Windows of one axis, evenly spread, and their cores."""
    size = min(size, n)
    count = 1 if size == n else -(-(n - 2 * margin) // (size - 2 * margin))
    starts = [step * round(k * (n - size) / (step * max(count - 1, 1))) for k in range(count)]
    cuts = [(a + size + b) // 2 for a, b in pairwise(starts)]
    edges = [0, *cuts, n]
    return [
        (slice(start, start + size), slice(*core))
        for start, core in zip(starts, pairwise(edges), strict=True)
    ]


def even_size(n: int, largest: int, margin: int, step: int = 1) -> int:
    """The smallest size of windows of which no more are needed than of the `largest`.

    >>> even_size(1024, 512, 10), even_size(100, 512, 10)
    (355, 512)
    """
    if n <= largest:
        return largest
    count = -(-(n - 2 * margin) // (largest - 2 * margin))
    return -(-(-(-(n - 2 * margin) // count) + 2 * margin) // step) * step
