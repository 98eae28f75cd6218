"""NumPy and torch files: what was written, at its own size, and no lies."""

import struct
import zipfile

import numpy as np
import pytest
import torch

from sciops.data.files import ReadError, read_arrays
from tests.data.file_writers import A, shared, write_npz


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [">f8", "<f4", ">i2", "?", "<c16"])
def test_npy_comes_out_native(order, dtype, tmp_path):
    path = tmp_path / "a.npy"
    array = np.asarray(A, dtype=dtype, order=order)
    np.save(path, array)
    got = read_arrays(path)["array"]
    np.testing.assert_array_equal(got, array)
    assert got.dtype.isnative


def npy_bytes(shape, data=b"", descr="<f8"):
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    header = header.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize("shape", [(10**9, 10**9), (4,), (2**63, 2**63), (-5, 3), (-1, -1)])
def test_npy_with_a_lying_header(shape, tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(npy_bytes(shape, bytes(8)))
    with pytest.raises(ReadError):
        read_arrays(path)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", npy_bytes(shape, bytes(8)))
    with pytest.raises(ReadError):
        read_arrays(tmp_path / "a.npz")


def test_zip_bomb_is_measured_before_it_is_unpacked(tmp_path):
    path, size = tmp_path / "bomb.npz", 2**26
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy_bytes((size // 8,), bytes(size)))
    assert path.stat().st_size < 10**5
    with pytest.raises(ReadError, match=f"take {size} bytes, the limit is 1000000;.*limit_bytes"):
        read_arrays(path, limit_bytes=10**6)
    assert read_arrays(path, limit_bytes=size)["a"].nbytes == size


def test_what_is_not_pickled_beside_it_is_read(tmp_path):
    write_npz(tmp_path / "a.npz", {"a": A, "b": np.array([{}], object), "c": np.array(["text"])})
    with pytest.raises(ReadError, match=r"'b'.*pickled Python objects.*can be read: a"):
        read_arrays(tmp_path / "a.npz", ["b"])
    with pytest.raises(ReadError, match=r"'c'.*<U4"):
        read_arrays(tmp_path / "a.npz", ["c"])
    np.testing.assert_array_equal(read_arrays(tmp_path / "a.npz", ["a"])["a"], A)


def test_real_npz_as_numpy_reads_it():
    ours = read_arrays(shared("darcy/torchphysics_diffusion_64_first500.npz"), ["kappa"])
    with np.load(shared("darcy/torchphysics_diffusion_64_first500.npz")) as theirs:
        np.testing.assert_array_equal(ours["kappa"], theirs["kappa"])


# -- torch ------------------------------------------------------------------------------------


def test_a_view_costs_only_what_it_shows(tmp_path):
    large = torch.arange(10_000.0)
    views = {"part": large[50:56].view(2, 3).mT, "one": large[7], "low": torch.ones(2).bfloat16()}
    torch.save({**views, "conj": torch.tensor([1 + 2j]).conj()}, tmp_path / "a.pt")
    got = read_arrays(tmp_path / "a.pt")
    np.testing.assert_array_equal(got["part"], views["part"].numpy())
    assert got["part"].base is None or got["part"].base.nbytes == 24
    assert got["part"].flags.c_contiguous
    assert got["conj"] == 1 - 2j
    assert got["low"].dtype == np.float32


@pytest.mark.parametrize(
    "value, word",
    [(3, "int"), ("text", "str"), ([torch.ones(2)], "list"), (torch.eye(2).to_sparse(), "sparse")],
)
def test_a_torch_file_must_hold_tensors(value, word, tmp_path):
    torch.save({"good": torch.ones(2), "bad": value}, tmp_path / "a.pt")
    with pytest.raises(ReadError, match=f"'bad'.*{word}"):
        read_arrays(tmp_path / "a.pt", ["bad"])
    assert read_arrays(tmp_path / "a.pt", ["good"])["good"].tolist() == [1, 1]


def test_a_lone_tensor_has_no_name(tmp_path):
    torch.save(torch.ones(2), tmp_path / "a.pt")
    with pytest.raises(ReadError, match="holds a Tensor, expected a dict of tensors"):
        read_arrays(tmp_path / "a.pt")


def test_a_tensor_that_repeats_one_number_endlessly_is_refused(tmp_path):
    torch.save({"a": torch.ones(1).expand(2**30, 2**10)}, tmp_path / "a.pt")
    with pytest.raises(ReadError, match="more than a file of"):
        read_arrays(tmp_path / "a.pt")


def test_a_storage_that_lies_about_its_length_cannot_reach_outside_the_file(tmp_path):
    """The pickle says 2¹⁵ numbers where there are 4: it must not read the memory behind them."""
    path, bad = tmp_path / "a.pt", tmp_path / "b.pt"
    torch.save({"a": torch.zeros(4)}, path)
    honest, lie = b"K\x04tq", b"M\x00\x80tq"  # BININT1 4, BININT2 32768, end of the storage's tuple
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bad, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename.endswith("data.pkl"):
                assert data.count(honest) == 1
                data = data.replace(honest, lie).replace(b"K\x04\x85", b"M\x00\x80\x85")
            new.writestr(info.filename, data)
    with pytest.raises(ReadError):
        read_arrays(bad)


@pytest.mark.parametrize("name", ["darcy/darcy_test_32.pt", "burgers/burgers_test_16.pt"])
def test_real_torch_files_as_torch_reads_them(name):
    theirs = torch.load(shared(name), weights_only=True)
    ours = read_arrays(shared(name))
    assert set(ours) == set(theirs)
    for key, array in ours.items():
        np.testing.assert_array_equal(array, theirs[key].numpy())
        assert array.flags.writeable
        assert array.flags.c_contiguous
