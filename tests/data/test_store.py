"""Stores read back what was written, and every kind of damage is an error that names the file."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from sciops.data.generation import build
from sciops.data.manifest import find_manifest
from sciops.data.schema import canonical, digest
from sciops.data.store import ChunkFiles, StoreError, chunk_files, open_store, verify, write
from tests.data.store_toy import ATTRS, BLOCK, contents, solve, toy_spec


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("made") / "toy.zarr", toy_spec(), solve, block=BLOCK)


@pytest.fixture
def store(made, tmp_path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "toy.zarr"))


def chunk_values(chunks: ChunkFiles, index: int) -> np.ndarray:
    out = np.empty((chunks.length, *chunks.shape[1:]), chunks.dtype)
    return out[: chunks.read_into(index, out)]


def expected(numbers: range) -> dict[str, np.ndarray]:
    """Every sample from a block of its own."""
    blocks = [solve(range(s // BLOCK * BLOCK, s // BLOCK * BLOCK + BLOCK)) for s in numbers]
    pairs = list(zip(blocks, numbers, strict=True))
    return {k: np.stack([b[k][s % BLOCK] for b, s in pairs]).astype("f4") for k in ("a", "u")}


@pytest.mark.parametrize(("split", "first", "n"), [("train", 0, 22), ("test", 2 * 10**9, 5)])
def test_values_labels_and_units(made, split, first, n):
    tree = open_store(made, full=True)
    ds = tree[split].dataset
    truth = expected(range(first, first + n))
    for name, dims in {"a": ("sample", "x"), "u": ("sample", "t", "x")}.items():
        assert ds[name].dims == dims and ds[name].dtype == np.float32
        np.testing.assert_array_equal(ds[name].values, truth[name])
    np.testing.assert_array_equal(ds["sample"], np.arange(first, first + n))
    np.testing.assert_array_equal(ds["x"], np.arange(8) / 8)
    assert ds["sample"].dtype == np.int64 and ds["t"].dtype == np.float64
    assert ds["u"].attrs == {"units": "m/s", "long_name": "velocity"}
    assert ds["x"].attrs == {"units": "m"}
    assert tree.attrs == ds.attrs == {**ATTRS, "sciops_schema": 1}


def test_plain_xarray_and_zarr_read_it_without_warnings(made):
    tree = xr.open_datatree(made, engine="zarr", consolidated=False)
    assert set(tree.children) == {"train", "test"}
    alone = xr.open_zarr(made, group="train", consolidated=False, chunks=None)
    np.testing.assert_array_equal(alone["u"].values, expected(range(22))["u"])
    group = zarr.open_group(made, mode="r")
    assert sorted(name for name, _ in group["train"].members()) == ["a", "sample", "t", "u", "x"]


def test_written_data_come_back(tmp_path):
    with open_store(build(tmp_path / "a", toy_spec(), solve, block=BLOCK)) as tree:
        path = write(tmp_path / "b", tree.load())
        xr.testing.assert_identical(open_store(path, full=True), tree)
        by_dict = {name: child.to_dataset() for name, child in tree.children.items()}
        again = write(tmp_path / "c", by_dict, tree.attrs)
    assert contents(path) == contents(again)
    assert write(path, by_dict) == path  # the same data: nothing to do
    with pytest.raises(StoreError, match=r"another specification.*overwrite=True"):
        write(path, {name: ds + ds.a.mean() for name, ds in by_dict.items()}, tree.attrs)


@settings(max_examples=12, deadline=None, database=None)
@given(
    n=st.integers(1, 9),
    shape=st.lists(st.integers(1, 4), max_size=3),
    dtype=st.sampled_from(["float16", "float32", "float64", "uint8", "int16", "int32", "int64"]),
    chunk=st.integers(1, 12),
    zero=st.booleans(),
)
def test_any_shape_and_dtype(tmp_path_factory, n, shape, dtype, chunk, zero):
    rng = np.random.default_rng([n, chunk, *shape])
    values = (rng.integers(0, 100, (n, *shape)) * (not zero)).astype(dtype)
    dims = [f"d{i}" for i in range(len(shape))]
    grid = {dim: np.linspace(0, 1, size) for dim, size in zip(dims, shape, strict=True)}
    ds = xr.Dataset({"v": (("sample", *dims), values)}, {**grid, "sample": rng.permutation(n)})
    attrs = dict(name="any", boundary_conditions={}, inputs=[], targets=[{"variable": "v"}])
    path = tmp_path_factory.mktemp("any") / "s"
    back = open_store(write(path, {"val": ds}, attrs, chunk_samples=chunk), full=True)["val"]
    np.testing.assert_array_equal(back["v"].values, values)
    assert back["v"].dtype == dtype
    np.testing.assert_array_equal(back["sample"], ds["sample"])
    chunks = chunk_files(path, "val", "v")
    read = np.concatenate([chunk_values(chunks, i) for i in range(len(chunks.files))])
    np.testing.assert_array_equal(read, values)
    assert chunks.length == min(chunk, n)


def test_written_data_need_labels(tmp_path):
    ds = xr.Dataset({"u": (("sample", "x"), np.zeros((2, 3)))}, {"x": [0.0, 1.0, 2.0]})
    attrs = dict(name="u", boundary_conditions={}, inputs=[], targets=[])
    wrong = {
        "coordinates are given for none": ds.drop_vars("x"),
        "'v' of 'train' is no variable": ds.assign(v=("x", np.zeros(3))),
        "'time' of 'train' is no variable": ds.assign_coords(time=1.0),
        "dtype 'bool'; use one of float16": ds.astype(bool),
        "list of numbers": ds.assign_coords(x=["a", "b", "c"]),
        "sample number twice": ds.assign_coords(sample=[4, 4]),
        "at least one; leave it out": ds.drop_vars("u"),
    }
    for message, data in wrong.items():
        with pytest.raises(ValueError, match=message):
            write(tmp_path / "s", {"train": data}, attrs)
    for message, change in {"need name": {"name": 0}, "must be JSON": {"title": {1j}}}.items():
        with pytest.raises(ValueError, match=message):
            kept = {k: v for k, v in attrs.items() if k not in change}
            write(tmp_path / "s", {"train": ds}, {**kept, **{k: v for k, v in change.items() if v}})
    with pytest.raises(ValueError, match="inputs and targets name 'w'; there are u"):
        write(tmp_path / "s", {"train": ds}, {**attrs, "inputs": [{"variable": "w"}]})
    assert not list(tmp_path.iterdir())


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def edit(file: Path, change) -> None:
    node = json.loads(file.read_bytes())
    change(node)
    file.write_text(json.dumps(node, indent=2))


def sign(store: Path) -> None:
    """What a forger would do: hashes that fit the damaged metadata."""
    manifest = json.loads(find_manifest(store).read_bytes())
    for name in manifest.pop("hash") and manifest["files"]:
        data = (store / name).read_bytes()
        manifest["files"][name] = [len(data), digest(data)]
    find_manifest(store).write_bytes(canonical({**manifest, "hash": digest(canonical(manifest))}))


CHUNK, ARRAY = "train/u/c.2.0.0", "train/u/zarr.json"
QUICK = {
    "truncated": (
        lambda s: (s / CHUNK).write_bytes(b"12"),
        "is damaged: 2 bytes, not 388",
    ),
    "missing": (lambda s: (s / CHUNK).unlink(), r"c\.2\.0\.0 is missing"),
    "folder": (lambda s: [(s / CHUNK).unlink(), (s / CHUNK).mkdir()], r"c\.2\.0\.0 is missing"),
    "shape": (
        lambda s: edit(s / ARRAY, lambda n: n.update(shape=[23, 3, 8])),
        "zarr.json is damaged",
    ),
    "attrs": (lambda s: flip(s / "zarr.json", -30), "zarr.json is damaged"),
    "no manifest": (lambda s: find_manifest(s).unlink(), "no manifest"),
    "no JSON": (lambda s: find_manifest(s).write_text("{"), "no manifest of a store"),
    "a list": (lambda s: find_manifest(s).write_text("[]"), "no manifest of a store"),
    "future": (
        lambda s: edit(find_manifest(s), lambda m: m.update(sciops_schema=2)),
        "upgrade sciops",
    ),
    "fingerprint": (
        lambda s: edit(find_manifest(s), lambda m: m.update(fingerprint="0")),
        "hash does",
    ),
}


@pytest.mark.parametrize("name", QUICK)
def test_damage_is_found_before_reading(store, name):
    damage, message = QUICK[name]
    open_store(store)
    damage(store)
    for check in (open_store, verify):
        with pytest.raises(StoreError, match=message):
            check(store)


FORGED = {
    "larger": (lambda n: n.update(shape=[10**15, 3, 8]), "declares shape"),
    "one larger": (lambda n: n.update(shape=[25, 3, 8]), "declares shape"),
    "wider": (lambda n: n.update(shape=[22, 3, 16]), "declares shape"),
    "one chunk": (
        lambda n: [
            n.update(shape=[10**15, 3, 8]),
            n["chunk_grid"]["configuration"].update(chunk_shape=[10**15 // 6 + 1, 3, 8]),
        ],
        "declares shape",
    ),
    "zero chunk": (
        lambda n: n["chunk_grid"]["configuration"].update(chunk_shape=[0, 3, 8]),
        "no metadata of an array",
    ),
    "dtype": (lambda n: n.update(data_type="float64"), "declares shape"),
    "unknown dtype": (lambda n: n.update(data_type="complex128"), "complex128.*not known"),
    "codec": (lambda n: n["codecs"].append({"name": "evil"}), "evil.*not known to schema 1"),
    "no checksum": (lambda n: n["codecs"].pop(), "not known"),
    "no shape": (lambda n: n.pop("shape"), "no metadata of an array"),
    "no number": (lambda n: n.update(shape=["a", 3, 8]), "no metadata of an array"),
}


@pytest.mark.parametrize("name", FORGED)
def test_metadata_must_fit_the_files_even_if_the_hashes_do(store, name):
    change, message = FORGED[name]
    edit(store / ARRAY, change)
    sign(store)
    with pytest.raises(StoreError, match=message):
        open_store(store)


def test_forged_names_cannot_leave_the_store(store, tmp_path):
    (tmp_path / "secret").write_text("secret")
    for name in ("../secret", str(tmp_path / "secret"), "train/../../secret", "a//b"):
        edit(find_manifest(store), lambda m, name=name: m["files"].update({name: [6, ""]}))
        manifest = json.loads(find_manifest(store).read_bytes())
        del manifest["hash"]
        manifest["hash"] = digest(canonical(manifest))
        find_manifest(store).write_bytes(canonical(manifest))
        with pytest.raises(StoreError, match="is damaged"):
            verify(store)


@settings(max_examples=15, deadline=None, database=None)
@given(data=st.data())
def test_any_flipped_byte_is_found(made, tmp_path_factory, data):
    store = Path(shutil.copytree(made, tmp_path_factory.mktemp("flip") / "s"))
    file = store / data.draw(st.sampled_from(sorted(contents(made))))
    flip(file, data.draw(st.integers(0, file.stat().st_size - 1)))
    with pytest.raises(StoreError):
        verify(store, full=True)


def test_flipped_numbers_are_found_while_reading(store):
    flip(store / CHUNK, 100)
    ds = open_store(store)["train"]  # sizes are right: only the checksum can tell
    with pytest.raises(ValueError, match="checksum"):
        ds["u"].values  # noqa: B018
    with pytest.raises(StoreError, match=r"c\.2\.0\.0 is damaged: its checksum"):
        chunk_values(chunk_files(store, "train", "u"), 2)
    with pytest.raises(StoreError, match=r"c\.2\.0\.0 is damaged: .* BLAKE2b"):
        open_store(store, full=True)
    np.testing.assert_array_equal(
        chunk_values(chunk_files(store, "train", "u"), 1), ds["u"][4:8].values
    )


def test_strange_files_are_found(store):
    (store / "train" / "u" / "c.9.0.0").write_text("?")
    verify(store)
    with pytest.raises(StoreError, match=r"c\.9\.0\.0 does not belong to the store; remove it"):
        verify(store, full=True)


def test_what_is_no_store(tmp_path, store):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    store.rename(tmp_path / "x.zarr.partial")
    cases = {"nowhere": "no such folder", "file": "no such folder", "folder": "name another folder"}
    for name, message in {
        **cases,
        "x.zarr.partial": "is an unfinished store; run the same",
    }.items():
        with pytest.raises(StoreError, match=message):
            open_store(tmp_path / name)
    with pytest.raises(StoreError, match="no variable 'u' in a split 'val'"):
        chunk_files(tmp_path / "x.zarr.partial", "val", "u")


def test_opening_reads_nothing_yet(made):
    tree = open_store(made)
    assert not isinstance(tree["train/u"].variable._data, np.ndarray)
    assert tree["train/u"][3].values.shape == (3, 8)
