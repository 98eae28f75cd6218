"""Anybody's files: named fields, one file for each variable, and errors that say what to do."""

import numpy as np
import pytest

from sciops.data.files import ReadError
from sciops.domains import domain_named
from sciops.domains.reading import read_layout
from tests.domains.layout_files import (
    assert_labelled,
    counted,
    h5py,
    save_matlab,
    save_pdebench,
    shared,
    sizes,
)


def test_real_torchphysics_by_mapping():
    path = shared("darcy/torchphysics_diffusion_64_first500.npz")
    tree = read_layout(
        "darcy",
        path,
        fields={"a": "kappa", "u": "u"},
        split={"train": 400, "val": 50, "test": 50},
        parameters={"forcing": 10.0},
    )
    assert_labelled(tree)
    with np.load(path) as raw:
        np.testing.assert_array_equal(tree["train/a"], raw["kappa"][:400])
        np.testing.assert_array_equal(tree["test/u"], raw["u"][450:])
    np.testing.assert_array_equal(tree["val/x"], np.linspace(0, 1, 64))
    assert float(abs(tree["test/u"].isel(x=-1)).max()) < 1e-6  # the last row is on the edge
    ds = tree["test"].to_dataset().isel(sample=slice(0, 4))
    assert domain_named("darcy").defects(ds).max() <= domain_named("darcy").tolerance(ds)


def test_mapping_with_named_coordinates_and_other_axes(tmp_path):
    a = counted(5, 3, 7)
    with h5py.File(tmp_path / "my.h5", "w") as file:
        file["data/coeff"] = a.transpose(1, 2, 0)  # (x, y, sample)
        file["data/sol"] = -a
        file["grid_x"] = np.array([[0.0], [0.4], [1.0]])
    tree = read_layout(
        "darcy",
        tmp_path / "my.h5",
        fields={"a": "data/coeff", "u": "data/sol"},
        coords={"x": "grid_x", "y": np.arange(7.0)},
        dims={"a": ("x", "y", "sample")},
    )
    assert_labelled(tree)
    np.testing.assert_array_equal(tree["train/a"], a)
    np.testing.assert_array_equal(tree["train/u"], -a)
    np.testing.assert_array_equal(tree["train/x"], [0, 0.4, 1])
    assert tree.attrs["source"] == "my.h5"


def test_one_npy_file_for_each_variable(tmp_path):
    a = counted(6, 5, 5)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "u.npy", -a)
    paths = {"a": tmp_path / "a.npy", "u": tmp_path / "u.npy"}
    tree = read_layout("darcy", paths, split={"train": 0.5, "test": 0.5})
    assert_labelled(tree)
    np.testing.assert_array_equal(tree["test/u"], -a[3:])
    np.save(tmp_path / "u.npy", -a[:4])
    with pytest.raises(ValueError, match=r"'u' of shape \(4, 5, 5\) has 4 along 'sample'.*has 6"):
        read_layout("darcy", paths)
    np.savez(tmp_path / "both.npz", a=a, b=a)
    with pytest.raises(ValueError, match="should have one array, it has 2: a, b"):
        read_layout("darcy", {"a": tmp_path / "both.npz", "u": tmp_path / "u.npy"})


def test_files_of_no_known_layout_list_what_they_have(tmp_path):
    np.savez(tmp_path / "my.npz", k=counted(2, 3, 3), p=counted(2, 3, 3))
    with pytest.raises(ValueError, match=r"has k, p, which is no layout of darcy.*fields="):
        read_layout("darcy", tmp_path / "my.npz")
    with pytest.raises(ReadError, match="no variable 'kappa'; it has k, p"):
        read_layout("darcy", tmp_path / "my.npz", fields={"a": "kappa", "u": "p"})
    with pytest.raises(ReadError, match="no variable 'coeff'; it has k, p"):
        read_layout("darcy", tmp_path / "my.npz", layout="fno_darcy")
    with pytest.raises(ValueError, match="darcy has no layout 'fno_burgers'; it has fno_darcy"):
        read_layout("darcy", tmp_path / "my.npz", layout="fno_burgers")
    with pytest.raises(ValueError, match="knows its fields"):
        read_layout("darcy", tmp_path / "my.npz", layout="fno_darcy", fields={"a": "k"})
    for nothing in ([], {}):
        with pytest.raises(ValueError, match="no files are given"):
            read_layout("darcy", nothing)
    with pytest.raises(ReadError, match="there is no file"):
        read_layout("darcy", tmp_path / "gone.mat")
    with pytest.raises(ValueError, match="no data set 'heat'"):
        read_layout("heat", tmp_path / "my.npz")


def test_a_known_layout_with_wrong_shapes(tmp_path):
    path = save_matlab(tmp_path / "bad.mat", {"u": counted(3, 4)}, "5")
    with pytest.raises(ValueError, match=r"bad\.mat: 'vorticity' should have .*shape is \(3, 4\)"):
        read_layout("navier_stokes", path)
    path = save_pdebench(
        tmp_path / "bad.hdf5",
        {"tensor": counted(6), "x-coordinate": counted(6), "t-coordinate": counted(2)},
    )
    with pytest.raises(ValueError, match=r"bad\.hdf5"):
        read_layout("burgers", path)


def test_a_file_with_too_few_samples_says_so(tmp_path):
    path = save_matlab(tmp_path / "few.mat", {"a": counted(1050, 4), "u": counted(1050, 4)}, "5")
    with pytest.raises(ValueError, match=r"few\.mat: test.*overlaps.*there are 1050 samples"):
        read_layout("burgers", path)
    path = save_matlab(tmp_path / "few.mat", {"a": counted(50, 4), "u": counted(50, 4)}, "5")
    with pytest.raises(ValueError, match=r"train should be the samples.*1000.*but there are 50"):
        read_layout("burgers", path)
    assert sizes(read_layout("burgers", path, split={"train": 40, "test": 10}, val=4)) == {
        "train": 36,
        "val": 4,
        "test": 10,
    }
