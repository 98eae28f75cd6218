"""The parser of MATLAB 5 and 7 files agrees with scipy's, and is not taken in."""

import struct

import numpy as np
import pytest
import scipy.io

from sciops.data.files import ReadError, list_arrays, read_arrays, read_cells
from tests.data.file_writers import A, B, shared


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i1", "u2", "i8", "?"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (2, 3, 5), (0, 4)])
def test_matlab_parser_agrees_with_scipy(shape, dtype, packed, tmp_path):
    array = (np.arange(np.prod(shape)).reshape(shape) * 1.25).astype(dtype)
    array = array + np.array(2j, dtype) * array if dtype == "c16" else array
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"before": A, "array": array, "after": B}, do_compression=packed)
    ours, theirs = read_arrays(path), scipy.io.loadmat(path)
    for name in ("before", "array", "after"):
        expected = theirs[name].astype(bool) if ours[name].dtype == bool else theirs[name]
        np.testing.assert_array_equal(ours[name], expected)
        assert ours[name].shape == theirs[name].shape
    assert ours["array"].dtype == np.dtype(dtype)


def big_endian_matlab():
    """A double array written by hand, stored as bytes as MATLAB does with small integers."""
    name, numbers = b"a".ljust(8, b"\0"), bytes(range(6)).ljust(8, b"\0")
    body = struct.pack(">IIII", 6, 8, 6, 0) + struct.pack(">IIii", 5, 8, 2, 3)
    body += struct.pack(">II", 1, 1) + name + struct.pack(">II", 2, 6) + numbers
    return b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + struct.pack(">II", 14, len(body)) + body


def test_matlab_of_the_other_byte_order_with_doubles_kept_as_bytes(tmp_path):
    path = tmp_path / "a.mat"
    path.write_bytes(big_endian_matlab())
    got = read_arrays(path)["a"]
    np.testing.assert_array_equal(got, [[0, 2, 4], [1, 3, 5]])
    np.testing.assert_array_equal(got, scipy.io.loadmat(path)["a"])
    assert got.dtype == np.float64


def test_matlab_things_that_are_no_arrays_are_named(tmp_path):
    path = tmp_path / "a.mat"
    cell = np.empty((1, 2), object)
    cell[:] = [[A, "text"]]
    things = {"cell": cell, "struct": {"x": 1.0}, "char": "hello", "good": A}
    scipy.io.savemat(path, {**things, "sparse": scipy.sparse.eye_array(3).tocsc()})
    entries = {entry.name: entry for entry in list_arrays(path)}
    for name in ("cell", "struct", "char", "sparse"):
        assert entries[name].dtype == name
        with pytest.raises(ReadError, match=f"'{name}'.*MATLAB {name}.*can be read: good"):
            read_arrays(path, [name])
    with pytest.raises(ReadError, match="ask by name"):
        read_arrays(path)
    np.testing.assert_array_equal(read_arrays(path, "good")["good"], A)


def test_matlab_that_declares_what_it_cannot_hold(tmp_path):
    raw = big_endian_matlab().replace(struct.pack(">ii", 2, 3), struct.pack(">ii", 2**30, 2**30))
    (tmp_path / "a.mat").write_bytes(raw)
    with pytest.raises(ReadError, match="'a' is declared as"):
        read_arrays(tmp_path / "a.mat")


@pytest.mark.parametrize(
    "name", ["burgers/burgers_shock.mat", "navier_stokes/cylinder_nektar_wake.mat"]
)
def test_real_matlab_files_as_scipy_reads_them(name):
    theirs = scipy.io.loadmat(shared(name))
    ours = read_arrays(shared(name))
    assert set(ours) == {key for key in theirs if not key.startswith("__")}
    for key, array in ours.items():
        np.testing.assert_array_equal(array, theirs[key])
        assert array.dtype == theirs[key].dtype


def test_real_matlab_cells_are_refused_as_arrays():
    with pytest.raises(ReadError, match=r"'testdata'.*MATLAB cell"):
        read_arrays(shared("music/JSB_Chorales.mat"), ["testdata"])


def cell_of(*arrays):
    made = np.empty((1, len(arrays)), object)
    made[0] = arrays
    return made


@pytest.mark.parametrize("packed", [False, True])
def test_cells_of_arrays_are_read_one_after_the_other(packed, tmp_path):
    arrays = [np.arange(6, dtype="u1").reshape(3, 2), A[0], np.array([[1 + 2j]]), np.ones((2, 1))]
    path, things = tmp_path / "a.mat", {"before": A, "cell": cell_of(*arrays), "after": B}
    scipy.io.savemat(path, things, do_compression=packed)
    for ours, expected in zip(read_cells(path, "cell"), arrays, strict=True):
        np.testing.assert_array_equal(ours, expected)
        assert ours.dtype == expected.dtype
    np.testing.assert_array_equal(read_arrays(path, ["after"])["after"].ravel(), B)
    with pytest.raises(ReadError, match="no MATLAB cell 'after'; it has cell"):
        read_cells(path, "after")
    with pytest.raises(ReadError, match="takes more than the limit of 20 bytes"):
        read_cells(path, "cell", limit_bytes=20)


def test_cells_of_other_things_and_damaged_ones_are_refused(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"cell": cell_of(A[0], "text")})
    with pytest.raises(ReadError, match="a cell holds a MATLAB char, not numbers"):
        read_cells(path, "cell")
    scipy.io.savemat(path, {"cell": cell_of(A[0], A[1])}, do_compression=True)
    raw = bytearray(path.read_bytes())
    raw[-20] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(ReadError, match="damaged, truncated"):
        read_cells(path, "cell")
