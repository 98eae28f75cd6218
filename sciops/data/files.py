"""Arrays from one file that somebody else wrote: MATLAB, HDF5, netCDF, NumPy and torch.

The format is read from the content, not from the suffix; `FORMATS` says which module reads it.
Nothing in a file is executed, nothing is written, and no size that a file declares is believed
before it is compared with

    the limit in bytes, the machine's memory by default        (of all arrays that are read)
    EXPANSION × the size of the file                            (nothing is packed more tightly)
"""

import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .found import Found, ReadError, memory
from .hdf5 import open_hdf5, open_matlab73
from .matlab5 import open_matlab5
from .plain_files import open_netcdf3, open_npy, open_npz, open_torch

EXPANSION = 8300  # deflate reaches 1032, and MATLAB keeps doubles that are small integers in a byte

FORMATS = {
    "MATLAB 5": open_matlab5,
    "MATLAB 7.3": open_matlab73,
    "HDF5": open_hdf5,
    "netCDF 3": open_netcdf3,
    "npy": open_npy,
    "npz": open_npz,
    "torch": open_torch,
}


class Entry(NamedTuple):
    """A line of `list_arrays`."""

    name: str
    shape: tuple[int, ...]
    dtype: str  # or what it is instead of an array of numbers
    problem: str | None  # why it cannot be read


def list_arrays(path: str | Path) -> list[Entry]:
    """What is in a file; the arrays are not loaded."""
    with _opened(path) as variables:
        return [Entry(n, v.shape, str(v.dtype), v.problem) for n, v in variables.items()]


def read_arrays(
    path: str | Path, names: Iterable[str] | None = None, *, limit_bytes: int | None = None
) -> dict[str, np.ndarray]:
    """Arrays of a file by name, in the machine's byte order; all of them if no names are given.

    A `.npy` file has one, called "array"; variables in groups of HDF5 are "group/variable".
    Complex arrays are read, NaNs are no error; text, structs, cells, objects and sparse matrices
    raise `ReadError`.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "my.npz"
    ...     np.savez(path, a=np.arange(3), u=np.eye(2))
    ...     {name: array.shape for name, array in read_arrays(path).items()}
    {'a': (3,), 'u': (2, 2)}
    """
    limit = memory() if limit_bytes is None else limit_bytes
    with _opened(path) as variables:
        wanted = list(variables if names is None else [names] if isinstance(names, str) else names)
        for name in wanted:
            _check_readable(path, name, variables)
        _check_sizes(path, {name: variables[name] for name in wanted}, limit)
        arrays = {}
        for name in wanted:
            array = variables[name].load()
            arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
        return arrays


def read_cells(path: str | Path, name: str, *, limit_bytes: int | None = None) -> list[np.ndarray]:
    """The arrays in a cell of a MATLAB 5 or 7 file, one after the other."""
    limit = memory() if limit_bytes is None else limit_bytes
    with _opened(path) as variables:
        cells = [n for n, v in variables.items() if v.dtype == "cell"]
        if name not in cells:
            raise ReadError(
                f"{path} has no MATLAB cell {name!r}; it has {', '.join(cells) or 'none at all'}"
            )
        arrays, total = [], 0
        for array in variables[name].load():
            total += array.nbytes
            if total > limit:
                raise ReadError(
                    f"{path}: {name!r} takes more than the limit of {limit} bytes; raise "
                    "limit_bytes"
                )
            arrays.append(array.astype(array.dtype.newbyteorder("="), copy=False))
        return arrays


def _check_readable(path, name: str, variables: dict[str, Found]) -> None:
    readable = [n for n, v in variables.items() if v.problem is None]
    if name not in variables:
        raise ReadError(
            f"{path} has no variable {name!r}; it has {', '.join(readable) or 'no numbers'}"
        )
    if variables[name].problem:
        raise ReadError(
            f"{path}: {name!r} should be an array of numbers, but it {variables[name].problem}; "
            f"ask by name for what can be read: {', '.join(readable) or 'nothing in this file'}"
        )


def _check_sizes(path, wanted: dict[str, Found], limit: int) -> None:
    most = EXPANSION * Path(path).stat().st_size
    for name, variable in wanted.items():
        if min(variable.shape, default=0) < 0 or variable.nbytes > most:
            raise ReadError(
                f"{path}: {name!r} is declared as {variable.shape} {variable.dtype}, more than "
                f"a file of {Path(path).stat().st_size} bytes can hold; get an intact copy"
            )
    total = sum(variable.nbytes for variable in wanted.values())
    if total > limit:
        raise ReadError(
            f"{path}: {', '.join(map(repr, wanted))} take {total} bytes, the limit is {limit}; "
            "read fewer variables, or raise limit_bytes"
        )


@contextmanager
def _opened(path: str | Path) -> Iterator[dict[str, Found]]:
    """The variables of a file; whatever goes wrong with it is a ReadError."""
    path, kind = _existing(path), "readable"
    try:
        kind = _recognise(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # parsers warn about what then fails or is checked
            with FORMATS[kind](path) as variables:
                yield variables
    except ReadError:
        raise
    except Exception as error:  # parsers of damaged files fail in every way there is
        raise ReadError(
            f"{path} is damaged, truncated or not a {kind} file: {type(error).__name__}: {error}; "
            "get an intact copy or save it anew"
        ) from error


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if not path.exists():
        raise ReadError(f"there is no file {path}; check the path, or download the data first")
    if not path.is_file():
        raise ReadError(f"{path} is not a file but a folder or a device; name a file in it")
    if path.stat().st_size == 0:
        raise ReadError(f"{path} is empty; the download or the program that wrote it was cut off")
    return path


def _recognise(path: Path) -> str:
    """The format, by the first bytes and by the places where HDF5 may begin."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(128)
        starts, place = [head[:8]], 512
        while place < size:  # HDF5 may begin behind a block of 512, 1024, 2048, … bytes
            file.seek(place)
            starts.append(file.read(8))
            place *= 2
    if b"\x89HDF\r\n\x1a\n" in starts:
        return "MATLAB 7.3" if head.startswith(b"MATLAB 7.3") else "HDF5"
    if head[124:128] in (b"\x00\x01IM", b"\x01\x00MI"):
        return "MATLAB 5"
    if head.startswith((b"CDF\x01", b"CDF\x02")):
        return "netCDF 3"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(path) as archive:
            pickled = any(name.endswith("/data.pkl") for name in archive.namelist())
        return "torch" if pickled else "npz"
    if head.startswith(b"\x80"):
        raise ReadError(
            f"{path} is a Python pickle, which may run any code when it is read; in the program "
            "that wrote it save the arrays with numpy.savez, or torch.save of torch 1.6 or later"
        )
    raise ReadError(
        f"{path} begins with {head[:8]!r}, which is none of {', '.join(FORMATS)}; MATLAB 4 files "
        "and text are not read: save them as MATLAB 7, HDF5 or npz"
    )
