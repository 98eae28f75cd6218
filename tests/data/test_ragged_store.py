"""Ragged stores read back what was written; damage and kills never give wrong numbers."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

from sciops.data.manifest import find_manifest
from sciops.data.ragged_store import open_ragged, write_ragged
from sciops.data.schema import CHUNK_BYTES
from sciops.data.store import StoreError, open_store, verify, write
from tests.data.ragged_toy import toy_splits
from tests.data.store_toy import contents


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return write_ragged(tmp_path_factory.mktemp("made") / "toy.zarr", toy_splits())


@pytest.fixture
def store(made, tmp_path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "toy.zarr"))


def with_schema(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign_attrs(sciops_schema=1)


def test_round_trip(made):
    tree, splits = open_ragged(made, full=True), toy_splits()
    assert list(tree.children) == ["train", "test"]
    for split, ds in splits.items():
        xr.testing.assert_identical(tree[split].to_dataset().load(), with_schema(ds))
        assert {n: v.dtype for n, v in tree[split].data_vars.items()} == {
            n: v.dtype for n, v in ds.data_vars.items()
        }
    assert tree.attrs == {"name": "toy", "sciops_schema": 1}  # what the splits share


def test_a_tree_comes_back_and_gives_the_same_files(made, tmp_path):
    tree = open_ragged(made)
    assert contents(write_ragged(tmp_path / "again", tree)) == contents(made)
    own = xr.DataTree.from_dict(toy_splits())
    own.attrs = {"title": "of the tree"}
    again = open_ragged(write_ragged(tmp_path / "own", own))
    assert again.attrs == {"title": "of the tree", "sciops_schema": 1}


def test_the_order_of_variables_does_not_matter(made, tmp_path):
    turned = {split: ds[list(ds)[::-1]] for split, ds in toy_splits().items()}
    assert contents(write_ragged(tmp_path / "turned", turned)) == contents(made)


def test_opening_reads_nothing_yet(made):
    ds = open_ragged(made)["train"]
    assert not isinstance(ds["pair"].variable._data, np.ndarray)
    part = ds["pair"][1000:1010]
    np.testing.assert_array_equal(part, toy_splits()["train"]["pair"][1000:1010])


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "uint8", "int16", "int32", "int64"]
)
def test_dtypes_and_shapes(tmp_path, dtype):
    values = np.arange(60).reshape(5, 3, 4)
    ds = xr.Dataset(
        {
            "big": (("a", "b", "c"), values.astype(dtype)),
            "swapped": ("d", np.arange(7).astype(np.dtype(dtype).newbyteorder(">"))),
            "strided": (("b", "a"), values[:, :, 0].T.astype(dtype)),
        }
    )
    back = open_ragged(write_ragged(tmp_path / "s", {"val": ds}), full=True)["val"]
    xr.testing.assert_equal(back.to_dataset().load(), ds)
    assert {v.dtype.name for v in back.data_vars.values()} == {dtype}


def test_layout_on_disk(made):
    """Chunks of at most 2 MB cut the first dimension; nothing is compressed or padded."""
    group = zarr.open_group(made, mode="r")
    for split, ds in toy_splits().items():
        for name, variable in ds.variables.items():
            array = group[split][name]
            assert array.shape == variable.shape and array.chunks[1:] == variable.shape[1:]
            size = array.chunks[0] * variable.nbytes / len(variable)
            assert size <= CHUNK_BYTES + 4
            files = list((made / split / name).glob("c.*"))
            assert len(files) == -(-variable.nbytes // CHUNK_BYTES)
            assert sum(f.stat().st_size for f in files) <= variable.nbytes + 16 * len(files)
    assert len(list((made / "train" / "pair").glob("c.*"))) > 2
    assert group["train"]["length"].metadata.dimension_names == ("word",)


def test_nothing_to_do_and_other_data(tmp_path):
    path = write_ragged(tmp_path / "s", toy_splits())
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    assert write_ragged(path, toy_splits()) == path
    assert before == {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    for other in (
        toy_splits(1),
        {"train": toy_splits()["train"]},
        {k: ds.assign_attrs(more=1) for k, ds in toy_splits().items()},
        {k: ds.rename(pair="pairs") for k, ds in toy_splits().items()},
        {k: ds.rename(word="words") for k, ds in toy_splits().items()},
        {k: ds.assign(length=ds["length"].assign_attrs(a=1)) for k, ds in toy_splits().items()},
        {k: ds.assign(length=ds["length"].astype("i8")) for k, ds in toy_splits().items()},
    ):
        with pytest.raises(StoreError, match=r"another specification.*overwrite=True"):
            write_ragged(path, other)
    write_ragged(path, toy_splits(1), overwrite=True)
    found = open_ragged(path, full=True)["test"].to_dataset().load()
    xr.testing.assert_identical(found, with_schema(toy_splits(1)["test"]))
    assert [file.name for file in tmp_path.iterdir()] == ["s"]


def test_the_dtype_is_part_of_the_data(tmp_path):
    for dtype in ("f4", "i4"):  # the same bytes
        data = {"test": xr.Dataset({"a": ("x", np.zeros(3, dtype))})}
        found = open_ragged(write_ragged(tmp_path / "s", data, overwrite=True))["test/a"]
        assert found.dtype == dtype


def test_many_writers_of_one_store(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: write_ragged(tmp_path / "s", toy_splits()), range(4)))
    assert set(paths) == {tmp_path / "s"}
    open_ragged(tmp_path / "s", full=True)


DAMAGE = {
    "truncated": (lambda s: (s / "train/pair/c.1").write_bytes(b"12"), "is damaged: 2 bytes, not"),
    "missing": (lambda s: (s / "train/letter/c.0").unlink(), r"letter/c\.0 is missing"),
    "metadata": (lambda s: (s / "zarr.json").write_text("{}"), r"zarr\.json is damaged"),
    "no manifest": (lambda s: find_manifest(s).unlink(), "it has no manifest"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_before_reading(store, name):
    damage, message = DAMAGE[name]
    open_ragged(store)
    damage(store)
    with pytest.raises(StoreError, match=message):
        open_ragged(store)
    write_ragged(store, toy_splits(), overwrite=True)
    open_ragged(store, full=True)


def test_flipped_numbers_are_found_while_reading(store):
    chunk = store / "train" / "pair" / "c.1"
    data = bytearray(chunk.read_bytes())
    data[50] ^= 1
    chunk.write_bytes(data)
    ds = open_ragged(store)["train"]
    with pytest.raises(ValueError, match="checksum"):
        ds["pair"].values  # noqa: B018
    with pytest.raises(StoreError, match=r"c\.1 is damaged: .* BLAKE2b"):
        open_ragged(store, full=True)


def test_both_kinds_of_store(made, tmp_path):
    verify(made, full=True)
    assert set(open_store(made)["train"].data_vars) == {*toy_splits()["train"], "sample"}
    u = xr.Dataset({"u": (("sample", "x"), np.zeros((2, 3)))}, {"x": [0.0, 1.0, 2.0]})
    attrs = dict(name="u", boundary_conditions={}, inputs=[], targets=[])
    with pytest.raises(StoreError, match=r"is a store of samples.*use open_store"):
        open_ragged(write(tmp_path / "u", {"train": u}, attrs))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "at least one split"),
        ({"train": xr.Dataset()}, "each split at least one variable"),
        ({"train": xr.Dataset({"a": ("x", [1]), "b": ("y", [])})}, r"'b' of 'train' .*\(0,\)"),
        ({"train": xr.Dataset({"a": 1})}, r"'a' of 'train' has the shape \(\); leave it out"),
        ({"train": xr.Dataset({"a": ("x", ["text"])})}, "'a' has dtype '.*'; use one of float16"),
        ({"train": xr.Dataset({"a": ("x", [1])}, {"x": [0]})}, "'train' has the coordinates x"),
        ({"train": xr.Dataset({"sample": ("x", [1])})}, "'sample' is no name"),
        ({"train": xr.Dataset({"a/b": ("x", [1])})}, "'a/b' is no name"),
        ({"../x": xr.Dataset({"a": ("x", [1])})}, r"'\.\./x' is no name"),
        ({"train": xr.Dataset({"a": ("x", [1])}, attrs={"b": {1}})}, "must be JSON"),
    ],
)
def test_data_that_do_not_fit(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        write_ragged(tmp_path / "s", data)
    assert not list(tmp_path.iterdir())


def test_places_that_do_not_fit(tmp_path):
    with pytest.raises(StoreError, match="choose another name"):
        write_ragged(tmp_path / "s.partial", toy_splits())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "text").write_text("precious")
    with pytest.raises(StoreError, match="is left alone"):
        write_ragged(tmp_path / "mine", toy_splits(), overwrite=True)


def test_the_lock_of_a_killed_process_goes_when_the_store_is_written_again(store):
    lock = store.with_name("toy.zarr.lock")
    lock.touch()
    write_ragged(store, toy_splits())
    assert not lock.exists()
