"""Tables of pixels: a line for each image, comma-separated numbers, the label last (or first).

    0,0,51,159,…,0,7            28 · 28 values and the label

Gzipped or not.  Lines are counted and compared with the memory before they become an array.
"""

import math
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sciops.data.found import ReadError, memory, unpacked

from .images import Labelled, as_images

LONGEST = 2**24  # characters of a line
PLACES = ("last", "first")


def read_table(
    path: str | Path,
    *,
    label: str = "last",
    shape: tuple[int, ...] | None = None,
    brightest: float = 255,
) -> Labelled:
    """Images and labels of a table.

    label:     which column it is, "last" or "first"
    shape:     (y, x) or (channel, y, x) of an image; None is a square
    brightest: the value of white
    """
    if label not in PLACES:
        raise ValueError(f"label={label!r} must be one of {', '.join(map(repr, PLACES))}")
    values = _numbers(Path(path))
    labels, pixels = (
        (values[:, -1], values[:, :-1]) if label == "last" else (values[:, 0], values[:, 1:])
    )
    if not np.array_equal(labels, np.round(labels)):
        raise ReadError(
            f"{path}: the {label} column should hold labels, whole numbers; it has "
            f"{labels[labels != np.round(labels)][0]:g}; say which column it is by label="
        )
    shape = _square(path, pixels.shape[1]) if shape is None else tuple(shape)
    if math.prod(shape) != pixels.shape[1] or len(shape) not in (2, 3):
        raise ReadError(f"{path} has {pixels.shape[1]} pixels in a line, not shape={shape}")
    images = pixels.reshape(len(pixels), *shape)
    return as_images(images, labels.astype(np.int64), str(path), brightest=brightest)


def _numbers(path: Path) -> np.ndarray:
    """(lines, columns), float32."""
    if not path.is_file():
        raise ReadError(f"there is no file {path}; check the path")
    rows: list[np.ndarray] = []
    columns, left = 0, memory() // 4
    try:
        for number, line in enumerate(_lines(path), start=1):
            row = np.array(line.split(","), np.float32)
            columns = columns or len(row)
            if len(row) != columns or columns < 2:
                raise ReadError(
                    f"{path}, line {number}, has {len(row)} columns; expected {max(columns, 2)}: "
                    "pixels and a label"
                )
            left -= row.nbytes
            if left < 0:
                raise ReadError(f"{path} needs more than a quarter of the memory; divide it")
            rows.append(row)
    except ReadError:
        raise
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise ReadError(
            f"{path}, line {len(rows) + 1}: {error}; expected numbers between commas, no header"
        ) from None
    if not rows:
        raise ReadError(f"{path} is empty")
    values = np.stack(rows)
    if not np.isfinite(values).all():
        raise ReadError(f"{path} has values that are NaN or infinite")
    return values


def _lines(path: Path) -> Iterator[str]:
    with unpacked(path) as (stream, _):
        while line := stream.readline(LONGEST):
            yield line.decode("ascii")


def _square(path: str | Path, pixels: int) -> tuple[int, int]:
    side = math.isqrt(pixels)
    if side * side != pixels:
        raise ReadError(f"{path} has {pixels} pixels in a line, no square; give shape=(y, x)")
    return side, side
