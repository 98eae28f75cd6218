"""Variables of NumPy, torch and netCDF 3 files.

torch files are mapped into memory and unpickled with `weights_only`, so a view of a large storage
costs only its own size.  Packed variables (scale_factor, add_offset) of netCDF are refused.
"""

import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .found import NUMBERS, Found, ReadError, fill, memory, unreadable

# -- NumPy ------------------------------------------------------------------------------------


class _Version(Exception):
    """What no array of numbers needs."""


def _npy_header(stream: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(stream)
    raise _Version(f"is npy of version {version}, which only structured arrays have")


def _npy_found(open_stream: Callable[[], BinaryIO], size: int) -> Found:
    """One npy array of `size` bytes with its header."""
    with open_stream() as stream:
        try:
            shape, fortran, dtype = _npy_header(stream)
        except _Version as version:
            return unreadable("records", str(version))
        header = stream.tell()
    if dtype.hasobject:
        return unreadable("object", "holds pickled Python objects, which may run code", shape)
    if dtype.kind not in NUMBERS:
        return unreadable(str(dtype), f"holds {dtype}", shape)

    def load() -> np.ndarray:
        with open_stream() as stream:
            stream.read(header)
            array = fill(np.empty(shape[::-1] if fortran else shape, dtype), stream)
        return array.T if fortran else array

    needed = header + math.prod(shape) * dtype.itemsize
    if needed > size:
        problem = f"is declared as {shape} {dtype}, {needed} bytes, and there are {size} bytes"
        return Found(shape, dtype, load, problem)
    return Found(shape, dtype, load)


@contextmanager
def open_npy(path: Path) -> Iterator[dict[str, Found]]:
    yield {"array": _npy_found(lambda: path.open("rb"), path.stat().st_size)}


@contextmanager
def open_npz(path: Path) -> Iterator[dict[str, Found]]:
    with zipfile.ZipFile(path) as archive:
        yield {i.filename.removesuffix(".npy"): _member(archive, i) for i in archive.infolist()}


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Found:
    if not info.filename.endswith(".npy"):
        return unreadable("file", "is a file in a zip archive and not .npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return unreadable("file", "is packed in a way that NumPy does not use")
    return _npy_found(lambda: archive.open(info), info.file_size)


# -- torch ------------------------------------------------------------------------------------


@contextmanager
def open_torch(path: Path) -> Iterator[dict[str, Found]]:
    import torch

    with zipfile.ZipFile(path) as archive:
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise ReadError(f"{path} is a compressed torch file, which torch.save never writes")
    try:
        content = torch.load(path, weights_only=True, map_location="cpu", mmap=True)
    except Exception as error:
        raise ReadError(
            f"{path} does not hold plain tensors, or is damaged: {str(error).splitlines()[0]}; "
            "save a dict of tensors with torch.save"
        ) from error
    if not isinstance(content, dict):
        raise ReadError(f"{path} holds a {type(content).__name__}, expected a dict of tensors")
    yield {str(name): _tensor_found(value) for name, value in content.items()}


def _tensor_found(value) -> Found:
    import torch

    if not isinstance(value, torch.Tensor):
        word = type(value).__name__
        return unreadable(word, f"is a {word} and not a tensor")
    shape = tuple(value.shape)
    if value.layout != torch.strided or value.is_quantized or value.device.type != "cpu":
        return unreadable(str(value.layout), "is sparse, quantised or without data", shape)
    if value.dtype == torch.bfloat16:  # NumPy has none
        return Found(shape, np.dtype(np.float32), lambda: value.detach().float().numpy())
    try:
        dtype = torch.empty(0, dtype=value.dtype).numpy().dtype
    except TypeError:
        return unreadable(str(value.dtype), f"holds {value.dtype}", shape)
    return Found(shape, dtype, lambda: _copied(value))


def _copied(tensor) -> np.ndarray:
    """Only what the tensor shows, not the storage it may be a view of."""
    import torch

    tensor = tensor.detach().resolve_conj().resolve_neg()
    return tensor.clone(memory_format=torch.contiguous_format).numpy()


# -- netCDF 3 ---------------------------------------------------------------------------------


@contextmanager
def open_netcdf3(path: Path) -> Iterator[dict[str, Found]]:
    """From memory: a stream of bytes never gives more than there are, whatever the header says."""
    from scipy.io import netcdf_file

    if path.stat().st_size > memory():
        raise ReadError(f"{path} is larger than the memory; save it as netCDF 4 or HDF5")
    with netcdf_file(BytesIO(path.read_bytes()), mmap=False) as file:
        yield {name: _netcdf_found(variable) for name, variable in file.variables.items()}


def _netcdf_found(variable) -> Found:
    data = variable.data
    if data.dtype.kind not in NUMBERS:
        return unreadable("text", "holds text", data.shape)
    if hasattr(variable, "scale_factor") or hasattr(variable, "add_offset"):
        return unreadable(str(data.dtype), "is packed; unpack it with xarray.open_dataset")
    return Found(data.shape, data.dtype, data.copy)
