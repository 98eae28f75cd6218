"""Pickles of plain values: NumPy arrays, text, numbers, and lists, tuples and dicts of them.

`pickle.load` runs whatever code a file names.  Here a file can only use what NumPy and Python write
for arrays and bytes (`MAKERS`), and everything else is refused by its name.  A shape is compared
with the data before an array is made.
"""

import math
import re
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path

import numpy as np

from .pickle_machine import Global, Machine, Refused, expect

NPY = b"\x93NUMPY"
DEPTH = 64  # of containers in containers
DTYPE = re.compile(r"b1|[iufc]\d\d?|[SU]\d{1,9}|O\d?")  # no records, no dates
SIMPLE = (str, bytes, bytearray, int, float, complex, bool, type(None))
REMEDY = "only arrays, text, numbers and lists, tuples and dicts of them are read"


def load_plain(source: str | Path | bytes, what: str) -> object:
    """The value in a pickle of any protocol, or in a `.npy` file; ValueError if it is not plain.

    source: the file, or its bytes
    what:   what the value is, for messages

    Text of Python 2 is read as Latin-1.

    >>> load_plain(b"(lp0\\nI1\\naF2.5\\na.", "a list")
    [1, 2.5]
    >>> load_plain(b"cos\\nsystem\\n(S'ls'\\ntR.", "a list")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: a list names os.system; only arrays, text, numbers and lists, tuples and ...
    """
    if isinstance(source, bytes):
        data, name = source, what
    else:
        data, name = Path(source).read_bytes(), f"{what} in {source}"
    try:
        return _npy_value(data) if data.startswith(NPY) else _pickled_value(data)
    except Refused as refusal:
        raise ValueError(f"{name} {refusal}; {REMEDY}") from None
    except Exception as error:  # whatever a damaged program does to the machine
        raise ValueError(
            f"{name} is damaged or no pickle ({type(error).__name__}: {error}); copy it again"
        ) from None


def _pickled_value(data: bytes) -> object:
    value = Machine(data, MAKERS, _build).run()
    _check_plain(value)
    return value


def _npy_value(data: bytes) -> np.ndarray:
    stream = BytesIO(data)
    version = np.lib.format.read_magic(stream)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise Refused(f"is npy of version {version}, which only records need")
    shape, fortran, dtype = readers[version](stream)
    rest = data[stream.tell() :]
    if not dtype.hasobject:
        return _from_buffer(rest, _DType(dtype.str), shape, "F" if fortran else "C")
    array = _pickled_value(rest)
    if not _is_array_of_objects(array) or array.shape != shape:
        raise Refused(f"declares objects of shape {shape} and holds something else")
    return array


# -- what is plain ----------------------------------------------------------------------------


def _check_plain(value: object) -> None:
    """Refuse what is left of the program's tools, very deep nesting, and what holds itself."""
    level = [value]
    for _ in range(DEPTH):
        level = list({id(m): m for container in level for m in _members(container)}.values())
        if not level:
            return
    raise Refused(f"is nested more than {DEPTH} deep, or holds itself")


def _members(value: object) -> Iterable:
    if type(value) is dict:
        return value.values()  # the machine has seen to the keys
    if type(value) in (list, tuple):
        return value
    if _is_array_of_objects(value):
        return value.ravel().tolist()
    if _is_unfilled(value):
        raise Refused("holds an array without values")
    if type(value) not in SIMPLE and not isinstance(value, np.ndarray | np.generic):
        raise Refused(f"holds {value}")
    return ()


def _is_array_of_objects(value: object) -> bool:
    return type(value) is np.ndarray and value.dtype.kind == "O"


def _is_unfilled(value: object) -> bool:
    return type(value) is np.ndarray and value.dtype == UNFILLED


# -- what a program may make ------------------------------------------------------------------

UNFILLED = np.dtype("V1")  # of an array that waits for its BUILD


class _DType:
    """A dtype, of which BUILD may still set the byte order."""

    def __init__(self, code: str, align: object = False, copy: object = True):
        if not DTYPE.fullmatch(expect(code, str).lstrip("<>|")):
            raise Refused(f"holds an array of the dtype {code!r}")
        self.dtype = np.dtype(code)

    def set_state(self, state: tuple) -> None:
        _version, order, subarray, names, fields, *_sizes = state
        if (subarray, names, fields) != (None, None, None):
            raise Refused("holds an array of records")
        self.dtype = self.dtype.newbyteorder(order)

    def __str__(self):
        return f"the dtype {self.dtype}"


def _build(value: object, state: tuple) -> None:
    if type(value) is _DType:
        value.set_state(state)
    elif _is_unfilled(value):
        _fill(value, *state[-4:])  # the oldest have no version before these
    else:
        raise Refused(f"changes a {type(value).__name__}")


def _fill(array: np.ndarray, shape: tuple, kind: _DType, fortran: int, raw: object) -> None:
    dtype, raw = expect(kind, _DType).dtype, _as_bytes(raw)
    _check_size(raw, dtype, shape)
    if dtype.kind == "O" and any(_is_array_of_objects(v) or _is_unfilled(v) for v in raw):
        raise Refused("holds arrays of objects in arrays of objects")  # freeing them is recursive
    array.__setstate__((1, shape, dtype, bool(fortran), raw))


def _empty_array(kind: Global, *_) -> np.ndarray:
    if kind != ("numpy", "ndarray"):
        raise Refused(f"makes an array of the kind {kind}")
    return np.empty(0, UNFILLED)


def _scalar(kind: _DType, raw: object) -> np.generic:
    return _from_buffer(raw, kind, (), "C")[()]


def _from_buffer(
    raw: object, kind: _DType, shape: tuple, order: str, axes: tuple | None = None
) -> np.ndarray:
    """The array, in general without a copy."""
    raw, dtype = _as_bytes(raw), expect(kind, _DType).dtype
    _check_size(raw, dtype, shape)
    array = np.frombuffer(raw, dtype) if raw else np.empty(0, dtype)
    if axes is not None:
        return array.reshape(shape).transpose(axes)
    return array.reshape(shape, order=order)


def _as_bytes(raw: object) -> object:
    """What was a string of bytes in Python 2."""
    return raw.encode("latin-1") if type(raw) is str else raw


def _check_size(raw: object, dtype: np.dtype, shape: tuple) -> None:
    """Whether the data, bytes or a list of objects, are an array of that shape."""
    size = dtype.itemsize
    if dtype.kind == "O":
        expect(raw, list)
        size = 1
    if any(type(n) is not int or n < 0 for n in expect(shape, tuple)):
        raise Refused(f"declares an array of the shape {shape}")
    if len(raw) != math.prod(shape) * size:
        raise Refused(f"declares {dtype} of shape {shape} and holds {len(raw)} bytes or objects")


def _encode(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes for Python 2."""
    if encoding != "latin1":
        raise Refused(f"encodes text as {encoding!r}")
    return expect(text, str).encode("latin-1")


def _no_bytes() -> bytes:
    return b""


def _complex(real: float, imaginary: float) -> complex:
    return complex(expect(real, float), expect(imaginary, float))


MAKERS: dict[tuple[str, str], Callable | None] = {
    ("numpy", "ndarray"): None,  # only named
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _encode,
}
for _core in ("numpy.core", "numpy._core"):
    MAKERS[f"{_core}.multiarray", "_reconstruct"] = _empty_array
    MAKERS[f"{_core}.multiarray", "scalar"] = _scalar
    MAKERS[f"{_core}.numeric", "_frombuffer"] = _from_buffer
for _builtins in ("__builtin__", "builtins"):
    MAKERS[_builtins, "bytes"] = _no_bytes
    MAKERS[_builtins, "complex"] = _complex
