"""IDX files, the format of MNIST and its relatives.

    0 0 type ndim | size of each axis, ndim × uint32 | values in C order         all big-endian

Only unsigned bytes (type 8) are read.  Sizes are compared with what the file can hold before
anything is allocated; a file that is longer or shorter than it says is refused.
"""

import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sciops.data.found import ReadError, fill, memory, unpacked

from .images import Labelled, as_images

UNSIGNED_BYTES = 8
FILES = {"train": "train", "test": "t10k"}  # split → how the names of its files begin
KINDS = {"images": 3, "labels": 1}  # and go on; how many axes they have


def read_idx(path: str | Path, ndim: int) -> np.ndarray:
    """The array of an IDX file with `ndim` axes, gzipped or not."""
    path = Path(path)
    if not path.is_file() or path.stat().st_size == 0:
        raise ReadError(f"{path} is not there, empty or no file; check the path")
    try:
        return _read(path, ndim)
    except (EOFError, OSError, struct.error, zlib.error) as error:
        raise ReadError(f"{path} is damaged or cut off ({error}); copy it again") from None


def _read(path: Path, ndim: int) -> np.ndarray:
    with unpacked(path) as (stream, most):
        shape = _header(path, stream, ndim)
        if math.prod(shape) > min(most, memory()):
            raise ReadError(
                f"{path} declares {shape} bytes, more than the file or the memory can hold; get "
                "an intact copy"
            )
        array = fill(np.empty(shape, np.uint8), stream)
        if stream.read(1):
            raise ReadError(f"{path} is longer than the {shape} bytes it declares")
    return array


def _header(path: Path, stream: BinaryIO, ndim: int) -> tuple[int, ...]:
    zeros, kind, found = struct.unpack(">HBB", stream.read(4))
    if zeros or (kind, found) != (UNSIGNED_BYTES, ndim):
        raise ReadError(
            f"{path} begins with {zeros:04x} {kind:02x} {found:02x}, expected 0000 08 {ndim:02x}: "
            f"an IDX file of unsigned bytes with {ndim} axes"
        )
    return struct.unpack(f">{ndim}I", stream.read(4 * ndim))


def find_idx(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Images and labels of train and test; nothing if there are no such files."""
    found = {}
    for split, begin in FILES.items():
        pair = [_find(folder, f"{begin}-{kind}", f"idx{n}-ubyte") for kind, n in KINDS.items()]
        if any(pair) and not all(pair):
            kind = "labels" if pair[0] else "images"
            raise ReadError(f"{folder} has no file {begin}-{kind}-idx{KINDS[kind]}-ubyte[.gz]")
        if all(pair):
            found[split] = tuple(pair)
    return found


def _find(folder: Path, begin: str, end: str) -> Path | None:
    names = [f"{begin}{joint}{end}{gz}" for joint in "-." for gz in ("", ".gz")]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_pair(images: str | Path, labels: str | Path) -> Labelled:
    """Images and their labels."""
    pixels, numbers = read_idx(images, 3), read_idx(labels, 1)
    if len(pixels) != len(numbers):
        raise ReadError(f"{images} has {len(pixels)} images, {labels} {len(numbers)} labels")
    return as_images(pixels, numbers, str(images))
