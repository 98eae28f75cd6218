"""The verbs of data: the same samples at any number and resolution; kept, verified, mended."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import sciops
from sciops.catalogue import data_dir

SMALL = dict(n_train=10, n_val=3, n_test=4, progress=False)


@pytest.fixture(autouse=True)
def own_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))


def test_table_of_what_there_is():
    table = sciops.datasets()
    others = ["protein", "music", "cosmic", "vision"]
    assert list(table.index) == ["burgers", "darcy", "navier_stokes", *others]
    assert "viscosity=0.1" in table.loc["burgers", "parameters"]
    assert table.loc["protein", "targets"] == "distance"


def test_proteins_are_made_and_kept(tmp_path):
    asked = dict(n_train=2, n_val=1, n_test=1, length=(30, 32), progress=False)
    tree = sciops.load("protein", **asked)
    assert tree["train"].attrs["synthetic"] and sciops.check(tree).ok
    alone = sciops.generate("protein", n=2, length=(30, 32), progress=False)
    assert alone["distance"].equals(tree["train"]["distance"])
    (store,) = (tmp_path / "kept" / "protein").glob("*.zarr")
    file = next(store.glob("train/distance/c*"))
    file.write_bytes(file.read_bytes()[:-4] + b"1234")
    with pytest.warns(UserWarning, match="it is generated again"):
        again = sciops.load("protein", **asked)
    assert again["train"].to_dataset().equals(tree["train"].to_dataset().load())
    with pytest.raises(ValueError, match="protein has no resolution"):
        sciops.load("protein", resolution=64)
    with pytest.raises(ValueError, match="need a store to write"):
        sciops.generate("protein", n=1, n_test=1)


def test_generated_data_are_labelled():
    ds = sciops.generate("darcy", n=3, resolution=17, seed=5, low=4.0, progress=False)
    assert ds["u"].dims == ("sample", "x", "y")
    assert ds["u"].attrs["units"] == "1"
    np.testing.assert_allclose(ds["x"], np.linspace(0, 1, 17))
    assert ds.attrs["parameters"]["low"] == 4.0
    assert ds.attrs["seed"] == 5
    assert set(np.unique(ds["a"])) == {4.0, 12.0}


@pytest.mark.parametrize("name", ["burgers", "darcy"])
def test_a_sample_does_not_depend_on_the_others(name):
    few = sciops.generate(name, n=3, resolution=32, progress=False, workers=1)
    many = sciops.generate(name, n=19, resolution=32, progress=False, workers=2)
    xr.testing.assert_identical(few, many.isel(sample=slice(0, 3)))
    other = sciops.generate(name, n=3, resolution=32, seed=1, progress=False)
    assert not np.allclose(few["u"], other["u"])


def test_store_holds_what_memory_held(tmp_path):
    tree = sciops.generate(
        "burgers", n=9, n_test=2, resolution=32, out=tmp_path / "b.zarr", progress=False
    )
    ds = sciops.generate("burgers", n=9, resolution=32, progress=False)
    xr.testing.assert_identical(tree["train"].to_dataset().load(), ds)
    assert tree["test"]["sample"].values[0] == 2 * 10**9
    assert sciops.check(tmp_path / "b.zarr").ok


def test_load_generates_once_and_keeps(monkeypatch):
    first = sciops.load("darcy", resolution=17, **SMALL)
    assert {name: child.sizes["sample"] for name, child in first.children.items()} == {
        "train": 10,
        "val": 3,
        "test": 4,
    }
    monkeypatch.setattr("sciops.data.generation.build", None)  # would fail if it were called
    second = sciops.load("darcy", resolution=17, **SMALL)
    xr.testing.assert_identical(first.load(), second.load())


def test_load_keeps_different_requests_apart():
    sciops.load("darcy", resolution=17, **SMALL)
    sciops.load("darcy", resolution=17, low=4.0, **SMALL)
    sciops.load("darcy", resolution=17, **{**SMALL, "n_train": 11})
    assert len(list((data_dir() / "darcy").glob("*.zarr"))) == 3


def test_a_damaged_store_is_noticed_and_made_again():
    good = sciops.load("darcy", resolution=17, **SMALL).load()
    (store,) = (data_dir() / "darcy").glob("*.zarr")
    chunk = max(
        (f for f in store.rglob("*") if f.is_file() and "/u/c." in f.as_posix()),
        key=lambda f: f.stat().st_size,
    )
    spoiled = bytearray(chunk.read_bytes())
    spoiled[100] ^= 1
    chunk.write_bytes(spoiled)
    with pytest.warns(UserWarning, match="generated again"):
        mended = sciops.load("darcy", resolution=17, **SMALL)
    xr.testing.assert_identical(good, mended.load())


def test_several_resolutions_are_the_same_samples():
    tree = sciops.load("darcy", resolution=[17, 33], **SMALL)
    coarse, fine = tree["17/train"].to_dataset(), tree["33/train"].to_dataset()
    np.testing.assert_array_equal(coarse["sample"], fine["sample"])
    np.testing.assert_array_equal(coarse["a"], fine["a"][:, ::2, ::2])
    difference = np.linalg.norm(coarse["u"] - fine["u"][:, ::2, ::2].values)
    assert difference < 0.02 * np.linalg.norm(coarse["u"])
    assert sciops.check(tree).ok


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sciops.generate("heat"), "no data set 'heat'; there are burgers, darcy"),
        (lambda: sciops.generate("darcy", viscosity=1), "no parameter 'viscosity'; it has"),
        (lambda: sciops.generate("darcy", n=0), "n=0 must be a whole number ≥ 1"),
        (lambda: sciops.generate("darcy", resolution=1.5), "resolution=1.5 must be a whole"),
        (lambda: sciops.generate("darcy", seed=-1), "seed=-1 must be a whole number ≥ 0"),
        (lambda: sciops.generate("darcy", n_val=3), "need a store to write"),
        (lambda: sciops.generate("burgers", viscosity=-1.0), "viscosity=-1.0 must be"),
        (lambda: sciops.generate("darcy", seed=2**32), "seed=4294967296 must be a whole number ≤"),
        (lambda: sciops.generate("darcy", n=1, workers=0), "workers=0 must be at least 1"),
        (lambda: sciops.generate("darcy", n=1, workers="two"), "workers='two' must be"),
        (lambda: sciops.generate("navier_stokes", frames=1), "a forecast needs at least two"),
        (lambda: sciops.load("darcy", resolution=[]), "is empty"),
        (lambda: sciops.load("darcy", resolution="64"), "resolution='64' must be a whole number"),
        (lambda: sciops.load("darcy", resolution=64.0), "resolution=64.0 must be a whole number"),
        (lambda: sciops.load("darcy", n_train=0, n_val=0, n_test=0), "no samples are asked for"),
    ],
)
def test_bad_requests_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    assert not data_dir().exists() or not any(data_dir().rglob("*"))


def test_a_folder_for_data_that_cannot_be_one_is_a_clear_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "file"))
    with pytest.raises(ValueError, match=r"cannot write .*file.*choose a path"):
        sciops.load("darcy", resolution=17, **SMALL)


def test_the_folder_for_data_may_be_in_the_home_directory(monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", "~/kept")
    assert data_dir() == Path.home() / "kept"


@pytest.mark.parametrize("name", ["darcy", "music"])
def test_what_a_killed_process_left_beside_kept_data_is_removed(name):
    counts = dict(n_train=2, n_val=1, n_test=1, progress=False)
    how = {"darcy": dict(resolution=17), "music": dict(length=(20, 21))}[name]
    sciops.load(name, **counts, **how)
    (store,) = (data_dir() / name).iterdir()
    Path(f"{store}.lock").touch()
    Path(f"{store}.partial").mkdir()
    sciops.load(name, **counts, **how)
    assert list(store.parent.iterdir()) == [store]


def test_data_that_fail_their_check_are_not_kept():
    for _ in range(2):  # the second call must not trust what the first left
        with pytest.raises(RuntimeError, match=r"fail their own check.*nothing was kept"):
            sciops.load("burgers", resolution=32, steps=1, **SMALL)
    assert not any((data_dir() / "burgers").iterdir())


@pytest.mark.parametrize(
    ("frames", "history"), [(2, 1), (5, 2), (10, 5), (11, 10), (20, 10), (24, 10)]
)
def test_every_frame_is_given_or_to_be_predicted(frames, history):
    flow = dict(resolution=16, duration=2.0, frames=frames, progress=False)
    ds = sciops.generate("navier_stokes", n=1, **flow)
    assert ds.attrs["inputs"] == [{"variable": "vorticity", "frames": [0, history]}]
    assert ds.attrs["targets"] == [{"variable": "vorticity", "frames": [history, frames]}]
    assert sciops.check(ds).ok


def test_a_store_of_ones_own_is_replaced_only_on_request(tmp_path):
    made = sciops.generate("darcy", n=4, resolution=17, progress=False)
    arrays = {"a": made["a"].values, "u": made["u"].values}
    path = tmp_path / "mine.zarr"
    sciops.from_arrays("darcy", arrays, out=path)
    half = {"train": 2, "test": 2}
    with pytest.raises(ValueError, match="overwrite=True"):
        sciops.from_arrays("darcy", arrays, split=half, out=path)
    tree = sciops.from_arrays("darcy", arrays, split=half, out=path, overwrite=True)
    assert tree["test"].sizes["sample"] == 2
    np.savez(tmp_path / "mine.npz", **arrays)
    tree = sciops.read("darcy", tmp_path / "mine.npz", out=path, overwrite=True)
    assert list(tree.children) == ["train"]


def test_own_arrays_in_one_line(tmp_path):
    made = sciops.generate("darcy", n=10, resolution=17, progress=False)
    tree = sciops.from_arrays(
        "darcy",
        {"a": made["a"].values, "u": made["u"].values},
        split={"train": 8, "test": 2},
        out=tmp_path / "mine.zarr",
    )
    assert tree["train"].sizes["sample"] == 8
    assert sciops.check(tmp_path / "mine.zarr").ok


def test_misspelt_parameters_are_refused():
    with pytest.raises(ValueError, match="darcy has no parameter 'forcng'; it has alpha"):
        sciops.from_arrays("darcy", {"a": np.ones((2, 9, 9))}, parameters={"forcng": 1.0})


def test_own_arrays_that_solve_nothing_are_a_warning():
    noise = np.random.default_rng(0).random((4, 17, 17))
    with pytest.warns(UserWarning, match="equation"):
        sciops.from_arrays(
            "darcy",
            {"a": 1 + noise, "u": noise},
            parameters={"forcing": 1.0},
            split={"train": 3, "test": 1},
        )
