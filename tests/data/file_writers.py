"""Small files of every format that is read, and the real ones where they are on this machine."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import torch

h5py = pytest.importorskip("h5py")

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
A = np.arange(24.0).reshape(2, 3, 4) + 0.5  # no two axes alike
B = np.array([1.5, np.nan, -2], "f4")


def shared(name):
    if not (SHARED / name).exists():
        pytest.skip(f"{name} is not on this machine")
    return SHARED / name


def write_matlab73(path, arrays):
    """As MATLAB does: a block of 512 bytes, then HDF5 with the axes reversed."""
    classes = {"f8": b"double", "f4": b"single", "b1": b"logical", "i4": b"int32"}
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            stored = array.T.astype("u1") if array.dtype == bool else array.T
            file[name] = stored
            file[name].attrs["MATLAB_class"] = np.bytes_(classes[array.dtype.str[1:]])
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    with path.open("r+b") as file:
        file.write(head)


def write_npz(path, arrays):
    with path.open("wb") as file:
        np.savez(file, **arrays)


def write_npz_packed(path, arrays):
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def write_torch(path, arrays):
    torch.save({name: torch.tensor(array) for name, array in arrays.items()}, path)


def write_hdf5(path, arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, chunks=True, compression="gzip")


def write_netcdf3(path, arrays):
    with scipy.io.netcdf_file(path, "w") as file:
        for name, array in arrays.items():
            dims = [f"{name}_{axis}" for axis in range(array.ndim)]
            for dim, n in zip(dims, array.shape, strict=True):
                file.createDimension(dim, n)
            file.createVariable(name, array.dtype.str[1:], dims)[:] = array


WRITERS = {
    "matlab5": scipy.io.savemat,
    "matlab7": lambda path, arrays: scipy.io.savemat(path, arrays, do_compression=True),
    "matlab73": write_matlab73,
    "npz": write_npz,
    "npz packed": write_npz_packed,
    "torch": write_torch,
    "hdf5": write_hdf5,
    "netcdf3": write_netcdf3,
}
