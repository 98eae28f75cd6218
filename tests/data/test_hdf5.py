"""HDF5 and MATLAB 7.3: native numbers, and no way out of the file."""

import numpy as np
import pytest

from sciops.data.files import ReadError, list_arrays, read_arrays
from tests.data.file_writers import A, h5py, write_matlab73


def test_big_endian_hdf5_comes_out_native(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["group/inner/a"] = A.astype(">f4")
    got = read_arrays(tmp_path / "a.h5")["group/inner/a"]
    assert got.dtype.isnative
    np.testing.assert_array_equal(got, A.astype("f4"))


def test_matlab73_logicals_cells_structs_and_text(tmp_path):
    path = tmp_path / "a.mat"
    write_matlab73(path, {"flags": A > 9, "good": A})
    with h5py.File(path, "r+") as file:
        for word in ("cell", "char"):
            file[word] = np.zeros((2, 1), "u2")
            file[word].attrs["MATLAB_class"] = np.bytes_(word)
        file.create_group("struct")["x"] = 1.0
        file.create_group("#refs#")["hidden"] = 1.0
        file.create_group("sparse").attrs["MATLAB_sparse"] = 3
    assert {e.name: e.problem is None for e in list_arrays(path)} == dict(
        flags=True, good=True, cell=False, char=False, struct=False, sparse=False
    )
    np.testing.assert_array_equal(read_arrays(path, ["flags"])["flags"], A > 9)
    with pytest.raises(ReadError, match=r"'struct'.*is a struct"):
        read_arrays(path, ["struct"])


def test_hdf5_does_not_leave_its_file(tmp_path):
    secret, path = tmp_path / "secret.h5", tmp_path / "a.h5"
    with h5py.File(secret, "w") as file:
        file["s"] = A
    (tmp_path / "raw").write_bytes(A.tobytes())
    layout = h5py.VirtualLayout(A.shape, "f8")
    layout[:] = h5py.VirtualSource(secret, "s", A.shape)
    with h5py.File(path, "w") as file:
        file["good/a"] = A
        file["external link"] = h5py.ExternalLink(str(secret), "s")
        file["soft link"] = h5py.SoftLink("/external link")
        file["good/loop"] = file["good"]
        file.create_virtual_dataset("virtual", layout)
        raw = str(tmp_path / "raw")
        file.create_dataset("external data", A.shape, "f8", external=[(raw, 0, A.nbytes)])
        file["compound"] = np.zeros(2, [("x", "f8"), ("y", "f8")])
        file["reference"] = file["good"].ref
        file["text"] = "hello"
        file["nothing"] = h5py.Empty("f8")
    bad = {entry.name for entry in list_arrays(path) if entry.problem}
    words = {"external link", "soft link", "virtual", "external data", "compound", "reference"}
    assert bad == words | {"text", "nothing"}
    for name in bad:
        with pytest.raises(ReadError, match=f"'{name}' should be an array of numbers"):
            read_arrays(path, [name])
    with pytest.raises(ReadError, match="no variable 'soft link/s'"):
        read_arrays(path, ["soft link/s"])
    assert list(read_arrays(path, ["good/a"])) == ["good/a"]


def test_hdf5_that_declares_what_it_cannot_hold(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", (10**9, 10**6), "f8", chunks=(64, 64))
        file["b"] = A
    with pytest.raises(ReadError, match=r"'a' is declared as \(1000000000, 1000000\) float64"):
        read_arrays(tmp_path / "a.h5")
    assert list(read_arrays(tmp_path / "a.h5", ["b"])) == ["b"]
