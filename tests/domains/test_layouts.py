"""Published layouts: right values, axes, grids and splits, on real files and on imitations."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import torch

from sciops.data.samples import task_of
from sciops.domains import domain_named
from sciops.domains.layouts import layouts, number_in_name
from sciops.domains.reading import read_layout
from tests.domains.layout_files import (
    assert_labelled,
    counted,
    save_matlab,
    save_pdebench,
    shared,
    sizes,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_fno_burgers(version, tmp_path):
    a, u = counted(1200, 16), -counted(1200, 16)
    path = save_matlab(tmp_path / "burgers_data_R10.mat", {"a": a, "u": u, "a_x": a}, version)
    tree = read_layout("burgers", path)
    assert_labelled(tree)
    assert sizes(tree) == {"train": 1000, "test": 100}
    np.testing.assert_array_equal(tree["train/a"], a[:1000])
    np.testing.assert_array_equal(tree["test/u"], u[-100:])
    np.testing.assert_array_equal(tree["test/sample"], np.arange(1100, 1200))
    np.testing.assert_array_equal(tree["train/x"], np.arange(16) / 16)
    assert tree.attrs["parameters"] == {"viscosity": 0.1, "time": 1.0}
    coarse = read_layout("burgers", path, subsample=4)
    np.testing.assert_array_equal(coarse["train/u"], u[:1000, ::4])
    np.testing.assert_array_equal(coarse["train/x"], np.arange(4) / 4)
    with pytest.raises(ValueError, match=r"subsample=3 should divide the 16 steps.*1, 2, 4, 8"):
        read_layout("burgers", path, subsample=3)


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_fno_darcy_and_the_search_split(version, tmp_path):
    one = {"coeff": counted(1024, 5, 9), "sol": -counted(1024, 5, 9)}
    two = {"coeff": counted(200, 5, 9) + 0.5, "sol": -counted(200, 5, 9) - 0.5}
    files = [
        save_matlab(tmp_path / f"piececonst_r421_N1024_smooth{i}.mat", arrays, version)
        for i, arrays in ((1, one), (2, two))
    ]
    tree = read_layout("darcy", files[::-1])  # the names say which is which
    assert_labelled(tree)
    assert list(sizes(tree).items()) == [("train", 1000), ("test", 100)]
    np.testing.assert_array_equal(tree["train/a"], one["coeff"][:1000])
    np.testing.assert_array_equal(tree["test/u"], two["sol"][:100])
    np.testing.assert_array_equal(tree["test/x"], np.linspace(0, 1, 5))
    np.testing.assert_array_equal(tree["test/sample"], np.arange(1024, 1124))
    np.testing.assert_array_equal(tree["test/y"], np.linspace(0, 1, 9))
    assert tree.attrs["parameters"]["forcing"] == 1
    search = read_layout("darcy", files, val=100, subsample=2)
    assert sizes(search) == {"train": 900, "val": 100, "test": 100}
    np.testing.assert_array_equal(search["val/a"], one["coeff"][900:1000, ::2, ::2])
    assert search["val/y"].values[-1] == 1
    numbers = np.concatenate([child["sample"] for child in search.children.values()])
    assert len(np.unique(numbers)) == 1100
    named = read_layout("darcy", {"train": files[0], "test": files[1]}, val=0.1)
    assert sizes(named) == {"train": 900, "val": 100, "test": 100}
    assert sizes(read_layout("darcy", files[1])) == {"test": 100}
    assert sizes(read_layout("darcy", files[1], split=None)) == {"test": 200}
    with pytest.raises(ValueError, match="2 files are for the splits"):
        read_layout("darcy", [files[0], files[0]])
    with pytest.raises(ValueError, match="val=3 is taken from 'train'"):
        read_layout("darcy", files[1], val=3)


@pytest.mark.parametrize("version", ["5", "7.3"])
@pytest.mark.parametrize("name, nu", [("ns_V1e-3_N5000_T50.mat", 1e-3), ("mine.mat", None)])
def test_fno_navier_stokes(version, name, nu, tmp_path):
    u = counted(1210, 4, 2, 13)  # (sample, x, y, time)
    path = save_matlab(tmp_path / name, {"u": u, "a": u[..., 0], "t": counted(1, 13)}, version)
    tree = read_layout("navier_stokes", path)
    assert_labelled(tree)
    assert sizes(tree) == {"train": 1000, "test": 200}
    w = tree["test/vorticity"]
    assert w.dims == ("sample", "time", "x", "y")
    assert w.values[3, 5, 2, 1] == u[1010 + 3, 2, 1, 5]
    np.testing.assert_array_equal(tree["train/time"], np.arange(1, 14))
    np.testing.assert_array_equal(tree["train/x"], [0, 0.25, 0.5, 0.75])
    assert tree.attrs["parameters"].get("viscosity") == nu
    assert tree.attrs["inputs"] == [{"variable": "vorticity", "frames": [0, 10]}]
    assert tree.attrs["targets"] == [{"variable": "vorticity", "frames": [10, 13]}]
    changed = read_layout("navier_stokes", path, parameters={"viscosity": 0.5})
    assert changed.attrs["parameters"]["viscosity"] == 0.5


def test_real_neuralop_darcy():
    files = [shared(f"darcy/darcy_{split}_16.pt") for split in ("train", "test")]
    tree = read_layout("darcy", files)
    assert_labelled(tree)
    assert sizes(tree) == {"train": 1000, "test": 50}
    raw = torch.load(files[1], weights_only=True)
    np.testing.assert_array_equal(tree["test/a"], raw["x"].numpy())
    np.testing.assert_array_equal(tree["test/u"], raw["y"].numpy())
    np.testing.assert_array_equal(tree["test/x"], np.arange(16) / 16)  # not up to 1
    fine = read_layout("darcy", shared("darcy/darcy_test_32.pt"), subsample=2)
    np.testing.assert_array_equal(fine["test/u"], tree["test/u"])
    np.testing.assert_array_equal(fine["test/x"], tree["test/x"])
    assert "two values that are not given" in tree.attrs["equation"]
    assert tree.attrs["license"] == "MIT"


def test_real_neuralop_burgers_solves_its_equation_at_the_times_given():
    tree = read_layout(
        "burgers",
        {split: shared(f"burgers/burgers_{split}_16.pt") for split in ("train", "test")},
    )
    assert_labelled(tree)
    assert sizes(tree) == {"train": 800, "test": 400}
    raw = torch.load(shared("burgers/burgers_test_16.pt"), weights_only=True)
    np.testing.assert_array_equal(tree["test/a"], raw["x"].numpy())
    np.testing.assert_array_equal(tree["test/trajectory"], raw["y"].numpy()[:, 1:])
    np.testing.assert_array_equal(tree["test/u"], raw["y"].numpy()[:, -1])
    assert tree.attrs["parameters"] == dict(viscosity=0.01, time=0.96, snapshots=16)
    some = tree["test"].to_dataset().isel(sample=slice(0, 8)).drop_vars(["trajectory", "time"])
    defects = {}
    for time in (0.93, 0.96, 1.0):
        some.attrs["parameters"] = {**some.attrs["parameters"], "time": time}
        defects[time] = np.median(domain_named("burgers").defects(some))
    assert defects[0.96] < 0.05 * min(defects[0.93], defects[1.0])


def test_real_pinns_burgers():
    path = shared("burgers/burgers_shock.mat")
    tree, raw = read_layout("burgers", path), scipy.io.loadmat(path)
    assert_labelled(tree)
    assert sizes(tree) == {"train": 1}
    ds = tree["train"].to_dataset()
    assert ds["trajectory"].shape == (1, 99, 255)
    np.testing.assert_array_equal(ds["a"][0], raw["usol"][:-1, 0])
    np.testing.assert_array_equal(ds["trajectory"][0, 7], raw["usol"][:-1, 8])
    np.testing.assert_allclose(ds["x"], raw["x"][:-1, 0], atol=1e-15)
    np.testing.assert_allclose(ds["time"], raw["t"][1:, 0], atol=1e-15)
    np.testing.assert_allclose(ds["a"][0], -np.sin(np.pi * ds["x"]), atol=1e-12)
    assert task_of(ds).axes[0].length == pytest.approx(2)


def test_real_pinns_cylinder():
    path = shared("navier_stokes/cylinder_nektar_wake.mat")
    tree, raw = read_layout("navier_stokes", path), scipy.io.loadmat(path)
    assert_labelled(tree)
    ds = tree["train"].to_dataset()
    assert dict(ds.sizes) == {"sample": 1, "time": 200, "x": 100, "y": 50}
    for point in (0, 1, 99, 100, 3456, 4999):  # each by its coordinates, not by its place
        x, y = raw["X_star"][point]
        here = ds.sel(x=x, y=y, method="nearest").isel(sample=0)
        assert abs(here["x"] - x) < 1e-12
        assert abs(here["y"] - y) < 1e-12
        np.testing.assert_array_equal(here["u"], raw["U_star"][point, 0])
        np.testing.assert_array_equal(here["v"], raw["U_star"][point, 1])
        np.testing.assert_array_equal(here["p"], raw["p_star"][point])
    np.testing.assert_allclose(ds["time"], raw["t"][:, 0], atol=1e-13)
    inner = ds.isel(sample=0, time=50)  # ∇·u = 0 tells whether x and y are the right way round
    divergence = inner["u"].differentiate("x") + inner["v"].differentiate("y")
    swapped = inner["u"].differentiate("y") + inner["v"].differentiate("x")
    assert float((divergence**2).mean()) < 0.01 * float((swapped**2).mean())


def test_pdebench_burgers(tmp_path):
    frames, x = RNG.normal(size=(20, 6, 100)), (np.arange(100) + 0.5) / 100
    path = save_pdebench(
        tmp_path / "1D_Burgers_Sols_Nu0.01.hdf5",
        {"tensor": frames, "x-coordinate": x, "t-coordinate": np.arange(7) / 10},
    )
    tree = read_layout("burgers", path)
    assert_labelled(tree)
    assert sizes(tree) == {"train": 18, "test": 2}
    np.testing.assert_array_equal(tree["test/a"], frames[:2, 0].astype("f4"))
    np.testing.assert_array_equal(tree["train/u"], frames[2:, -1].astype("f4"))
    np.testing.assert_array_equal(tree["train/trajectory"], frames[2:, 1:].astype("f4"))
    np.testing.assert_allclose(tree["train/x"], x, atol=1e-7)
    assert np.ptp(np.diff(tree["train/x"])) < 1e-12  # evenly spaced, though in single precision
    np.testing.assert_allclose(tree["train/time"], [0.1, 0.2, 0.3, 0.4, 0.5], rtol=1e-6)
    assert tree.attrs["parameters"]["viscosity"] == pytest.approx(0.01 / np.pi)
    assert tree.attrs["parameters"]["time"] == pytest.approx(0.5)
    assert np.ptp(np.diff(read_layout("burgers", path, subsample=2)["test/x"])) < 1e-12


def test_pdebench_darcy(tmp_path):
    a, u = counted(10, 8, 6), -counted(10, 1, 8, 6)
    arrays = {"nu": a, "tensor": u}
    for dim, n in (("x", 8), ("y", 6)):
        arrays[f"{dim}-coordinate"] = (np.arange(n) + 0.5) / n
    path = save_pdebench(tmp_path / "2D_DarcyFlow_beta0.1_Train.hdf5", arrays)
    tree = read_layout("darcy", path, val=2)
    assert_labelled(tree)
    assert sizes(tree) == {"train": 7, "val": 2, "test": 1}
    np.testing.assert_array_equal(tree["train/u"], u[1:8, 0])
    np.testing.assert_array_equal(tree["val/a"], a[8:10])
    np.testing.assert_allclose(tree["train/y"], (np.arange(6) + 0.5) / 6, atol=1e-7)
    assert tree.attrs["parameters"] == {"forcing": 0.1}


def test_numbers_in_names():
    names = ["NavierStokes_V1e-5_N1200_T20.mat", "1D_Burgers_Sols_Nu0.001.hdf5", "Nu.hdf5"]
    assert number_in_name(Path(names[0]), "V") == 1e-5
    assert number_in_name(Path(names[1]), "Nu") == 1e-3
    assert number_in_name(Path(names[2]), "Nu") is None
    assert number_in_name(Path("2D_DarcyFlow_beta100.0_Train.hdf5"), "beta") == 100


def test_every_layout_has_a_source():
    for name, layout in layouts().items():
        assert layout.source != "unknown", name
        assert layout.keys, name
