"""A variable found in a file, before it is loaded, and the error of what cannot be read."""

import gzip
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sciops.memory import memory_there

CHUNK = 2**22  # bytes read at once
DEFLATE = 1032  # times that deflate can pack zeros
NUMBERS = "biufc"  # kinds of dtype that are read


class ReadError(ValueError):
    """A file, or a variable of it, that cannot be read: what is wrong, and what to do."""


@dataclass(frozen=True)
class Found:
    """A variable in an open file."""

    shape: tuple[int, ...]
    dtype: Any  # np.dtype, or a word for what is not numbers
    load: Callable[[], np.ndarray]
    problem: str | None = None

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def unreadable(word: str, problem: str, shape: tuple[int, ...] = ()) -> Found:
    return Found(shape, word, lambda: np.empty(0), problem)


def fill(array: np.ndarray, stream: BinaryIO) -> np.ndarray:
    """The array, C-contiguous and in the stream's byte order, with the bytes that come next."""
    view, done = array.reshape(-1).view(np.uint8), 0
    while done < view.size:
        data = stream.read(min(CHUNK, view.size - done))
        if not data:
            raise EOFError(f"{view.size} bytes of data were expected, there are {done}")
        view[done : done + len(data)] = np.frombuffer(data, np.uint8)
        done += len(data)
    return array


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """The bytes of a file, gzipped or not, and how many there can be at most."""
    size = path.stat().st_size
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=raw) as stream:
                yield stream, DEFLATE * size
        else:
            yield raw, size


def memory() -> int:
    """Bytes of memory that this process can still have; 16 GB where that cannot be found out."""
    free = memory_there()
    return 16 * 10**9 if free is None else free
