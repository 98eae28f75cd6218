"""Variables of MATLAB 5 and 7 files.

They are parsed here because scipy's reader crashes the process on some damaged files.

    file     = header of 128 bytes, element, element, …
    element  = type, size, data                  (compressed, it holds one element of type matrix)
    matrix   = flags, sizes, name, real numbers[, imaginary numbers], an element each
    cell     = flags, sizes, name, matrix, matrix, …

The numbers run through the first axis fastest, and may be kept in a smaller type than they have.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .found import CHUNK, Found, ReadError, fill, unreadable

MATRIX, COMPRESSED = 14, 15  # types of elements of a file
INTEGERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 12: "i8", 13: "u8"}
STORED = {**INTEGERS, 7: "f4", 9: "f8"}
CLASSES = dict(enumerate(["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"], start=6))
CELL = 1
OPAQUE = 17  # an object of a class written in MATLAB; it has no shape
OTHERS = {1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 16: "function", 17: "object"}


class _Element:
    """The bytes of one element of a file, unpacked on the way if they are compressed."""

    def __init__(self, file: BinaryIO, start: int, size: int, *, packed: bool):
        file.seek(start)
        self.file, self.left = file, size
        self.unpacker = zlib.decompressobj() if packed else None

    def read(self, count: int) -> bytes:
        if self.unpacker is None:
            return self._raw(count)
        while not self.unpacker.eof:
            data = self.unpacker.unconsumed_tail or self._raw(CHUNK)
            out = self.unpacker.decompress(data, count)
            if out or not data:
                return out
        return b""

    def _raw(self, count: int) -> bytes:
        data = self.file.read(min(count, self.left))
        self.left -= len(data)
        return data

    def exactly(self, count: int) -> bytes:
        return fill(np.empty(count, np.uint8), self).tobytes()

    def finish(self) -> None:
        """Look for the end of what is compressed, where its checksum is."""
        if self.unpacker and (self.read(1) or not self.unpacker.eof):
            raise ValueError("the compressed data do not end where the variable does")


@contextmanager
def open_matlab5(path: Path) -> Iterator[dict[str, Found]]:
    size = path.stat().st_size
    with path.open("rb") as file:
        order = "<" if file.read(128)[126:128] == b"IM" else ">"
        place, variables = 128, {}
        while place < size:
            file.seek(place)
            kind, length = struct.unpack(order + "II", file.read(8))
            if kind not in (MATRIX, COMPRESSED) or place + 8 + length > size:
                raise ReadError(
                    f"{path} is damaged or truncated: at byte {place} of {size} an element of type "
                    f"{kind} with {length} bytes; get an intact copy"
                )
            name, found = _matrix(file, place + 8, length, kind == COMPRESSED, order)
            if name:  # MATLAB keeps data of its own under no name
                variables[name] = found
            place += 8 + length
        yield variables


def _tag(element: _Element, order: str) -> tuple[int, int, bytes | None]:
    """Type and size of a part of a matrix, and its data if they are in the tag itself."""
    raw = element.exactly(8)
    word, size = struct.unpack(order + "II", raw)
    if word >> 16:  # small: type, size ≤ 4, data
        return word & 0xFFFF, min(word >> 16, 4), raw[4 : 4 + min(word >> 16, 4)]
    return word, size, None


def _part(element: _Element, order: str, most: int = 4096) -> bytes:
    """The data of a short part of a matrix."""
    _, size, data = _tag(element, order)
    if data is None and size > most:
        raise ValueError(f"a part of a header is declared as {size} bytes")
    return element.exactly(size + -size % 8)[:size] if data is None else data


def _matrix(file: BinaryIO, start: int, size: int, packed: bool, order: str) -> tuple[str, Found]:
    """Name and content of the variable at `start`."""
    element = _Element(file, start, size, packed=packed)
    if packed and struct.unpack(order + "II", element.exactly(8))[0] != MATRIX:
        raise ValueError(f"what is compressed at byte {start} is not a variable")
    kind, flags, shape, name = _header(element, order)
    if kind not in (CELL, *CLASSES):
        word = OTHERS.get(kind, f"class {kind}")
        return name, unreadable(word, f"is a MATLAB {word}", shape)

    def reopened() -> _Element:
        again = _Element(file, start, size, packed=packed)
        again.exactly(8 if packed else 0)
        _header(again, order)
        return again

    def load() -> np.ndarray:
        again = reopened()
        array = _array(again, order, flags, shape)
        again.finish()
        return array

    def load_cells() -> Iterator[np.ndarray]:
        again = reopened()
        for _ in range(math.prod(shape)):
            yield _cell(again, order)
        again.finish()

    if kind == CELL:
        return name, Found(shape, OTHERS[CELL], load_cells, "is a MATLAB cell")
    return name, Found(shape, _dtype(flags), load)


def _header(element: _Element, order: str) -> tuple[int, int, tuple[int, ...], str]:
    """Kind, flags, shape and name of a matrix."""
    flags = struct.unpack(order + "I", _part(element, order)[:4])[0]
    kind = flags & 0xFF
    sizes = b"" if kind == OPAQUE else _part(element, order)
    shape = tuple(np.frombuffer(sizes, order + "i4").tolist())
    return kind, flags, shape, _part(element, order).decode("latin-1")


def _dtype(flags: int) -> np.dtype:
    dtype = np.dtype(bool if flags & 0x200 else CLASSES[flags & 0xFF])
    return np.dtype("c8" if dtype == np.float32 else "c16") if flags & 0x800 else dtype


def _array(element: _Element, order: str, flags: int, shape: tuple[int, ...]) -> np.ndarray:
    """The numbers of a matrix whose header was read."""
    array = _numbers(element, order, shape)
    if flags & 0x800:
        array = array + 1j * _numbers(element, order, shape)
    return array.astype(_dtype(flags), copy=False)


def _cell(element: _Element, order: str) -> np.ndarray:
    """The array that comes next in a cell; an empty one may have no header."""
    tag, size, _ = _tag(element, order)
    if tag != MATRIX:
        raise ValueError(f"a cell holds an element of type {tag}, which is no array")
    if size == 0:
        return np.empty((0, 0))
    kind, flags, shape, _ = _header(element, order)
    if kind not in CLASSES:
        raise ValueError(f"a cell holds a MATLAB {OTHERS.get(kind, kind)}, not numbers")
    return _array(element, order, flags, shape)


def _numbers(element: _Element, order: str, shape: tuple[int, ...]) -> np.ndarray:
    """A real array; MATLAB stores doubles that are small integers as such."""
    kind, size, data = _tag(element, order)
    if kind not in STORED:
        raise ValueError(f"numbers of an unknown type {kind}")
    dtype = np.dtype(order + STORED[kind])
    if size != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{size} bytes of {dtype} are no array of shape {shape}")
    if data is not None:
        return np.frombuffer(data, dtype).reshape(shape, order="F").copy()
    array = fill(np.empty(shape[::-1], dtype), element).T
    element.exactly(-size % 8)
    return array
