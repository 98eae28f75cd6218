"""Files as others lay them out, and what every data set that is read must be."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from sciops.data.samples import task_of

h5py = pytest.importorskip("h5py")

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
ATTRS = {"name", "title", "equation", "boundary_conditions", "parameters", "inputs", "targets"}


def shared(name):
    if not (SHARED / name).exists():
        pytest.skip(f"{name} is not on this machine")
    return SHARED / name


def save_matlab(path, arrays, version):
    """In MATLAB 5, or in 7.3 with its axes reversed and its header."""
    if version == "5":
        scipy.io.savemat(path, arrays)
        return path
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = array.T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    return path


def save_pdebench(path, arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array.astype("f4")
    return path


def counted(*shape):
    """Every entry differs, so that a swapped axis shows."""
    return np.arange(np.prod(shape), dtype=float).reshape(shape)


def sizes(tree):
    return {name: child.sizes["sample"] for name, child in tree.children.items()}


def assert_labelled(tree):
    """What the schema wants, whatever was read."""
    for child in tree.children.values():
        ds = child.to_dataset()
        assert {*ATTRS, "source", "license"} <= set(ds.attrs)
        assert ds["sample"].dtype == np.int64
        for name, variable in ds.data_vars.items():
            assert variable.dims[0] == "sample", name
            assert variable.attrs["units"] == "1"
            assert variable.attrs["long_name"]
            assert variable.dtype.kind == "f"
            assert variable.values.flags.c_contiguous
            assert set(variable.dims) <= set(ds.coords)
        task_of(ds)
