"""Stores: open, verify and write them.  `generation.build` makes large ones.

>>> import tempfile, xarray as xr
>>> u = xr.DataArray([[1.0, 2.0]], dims=("sample", "x"), coords={"sample": [0], "x": [0.0, 0.5]})
>>> attrs = dict(name="toy", boundary_conditions={"x": "periodic"}, inputs=[], targets=[])
>>> with tempfile.TemporaryDirectory() as folder:
...     path = write(f"{folder}/toy.zarr", {"test": xr.Dataset({"u": u})}, attrs)
...     open_store(path)["test/u"].values
array([[1., 2.]])
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .generation import make_store
from .manifest import METADATA, REMEDY
from .manifest import verify as verify
from .parts import Part
from .running import on_threads
from .schema import CHUNK_BYTES, SplitSpec, StoreSpec, VariableSpec, canonical, chunk_name, digest
from .schema import StoreError as StoreError

if TYPE_CHECKING:
    import xarray as xr

SPLITS = ("train", "val", "test")


def open_store(path: str | Path, *, full: bool = False) -> "xr.DataTree":
    """The store as a tree with `train`, `val` and `test`, read when its values are asked for.

    full: hash every file first, not only the metadata
    """
    import xarray as xr

    verify(path, full=full)
    options = dict(consolidated=False, chunks=None, decode_times=False)
    try:
        tree = xr.open_datatree(path, engine="zarr", **options)
    except Exception as error:  # metadata with right hashes and wrong content
        raise StoreError(f"{path} is damaged: {type(error).__name__}: {error}; {REMEDY}") from error
    tree.children = dict(sorted(tree.children.items(), key=lambda item: _place(item[0])))
    return tree


def _place(split: str) -> tuple:
    """Where a split stands among the others."""
    return SPLITS.index(split) if split in SPLITS else len(SPLITS), split


def write(
    path: str | Path,
    data: "Mapping[str, xr.Dataset] | xr.DataTree",
    attrs: Mapping[str, Any] | None = None,
    *,
    chunk_samples: int | None = None,
    overwrite: bool = False,
) -> Path:
    """Write data sets {split: Dataset} or a tree of them as a store.

    attrs: of the store; None takes the tree's, or the first data set's
    chunk_samples: how many samples a file holds; None is about 2 MB

    Every variable has the dimension `sample`, every other dimension has coordinates.  Samples
    without numbers are counted through the splits.
    """
    splits = _splits(data)
    own = getattr(data, "attrs", {}) or next((ds.attrs for ds in splits.values()), {})
    spec = _spec_of(splits, dict(own if attrs is None else attrs))
    arrays = {
        split: {name: np.ascontiguousarray(ds[name].values) for name in spec.variables}
        for split, ds in splits.items()
    }
    block = _block_of(spec) if chunk_samples is None else chunk_samples
    if block < 1:
        raise ValueError(f"chunk_samples={chunk_samples!r} must be at least 1")
    hashes = [digest(array.data) for group in arrays.values() for array in group.values()]
    fingerprint = digest(canonical([spec.fingerprint(), block, *hashes]))

    def source(part: Part) -> dict[str, np.ndarray]:
        return {name: a[part.start : part.stop] for name, a in arrays[part.split].items()}

    run = partial(on_threads, None)
    return make_store(path, spec, block, source, fingerprint, run, overwrite, progress=False)


def _splits(data: "Mapping[str, xr.Dataset] | xr.DataTree") -> "dict[str, xr.Dataset]":
    """Data sets whose samples are numbered and come first."""
    splits = {
        name: getattr(ds, "dataset", ds) for name, ds in getattr(data, "children", data).items()
    }
    numbered, count = {}, 0
    for name, ds in splits.items():
        for variable, array in ds.variables.items():
            if variable not in ds.dims and (variable in ds.coords or "sample" not in array.dims):
                raise ValueError(
                    f"{variable!r} of {name!r} is no variable of a store, which has the dimension "
                    "'sample', nor the coordinate of a dimension; drop_vars or reset_coords it"
                )
        if "sample" not in ds.coords:
            ds = ds.assign_coords(sample=np.arange(count, count + ds.sizes.get("sample", 0)))
        numbered[name] = ds.transpose("sample", ...)
        count += ds.sizes["sample"]
    return numbered


def _spec_of(splits: "dict[str, xr.Dataset]", attrs: dict) -> StoreSpec:
    described = {}
    for name, ds in splits.items():
        described[name] = {
            str(key): VariableSpec(array.dims[1:], array.dtype.name, array.attrs)
            for key, array in ds.data_vars.items()
        }
    first = next(iter(described), None)
    for name, variables in described.items():
        if variables.keys() != described[first].keys() or any(
            spec[:2] != described[first][key][:2] for key, spec in variables.items()
        ):
            raise ValueError(
                f"splits {first!r} and {name!r} differ in variables, dimensions or dtypes"
            )
    coordinates = {
        name: SplitSpec(ds["sample"].values, {d: ds[d].values for d in ds.coords if d != "sample"})
        for name, ds in splits.items()
    }
    labels = {d: array.attrs for ds in splits.values() for d, array in ds.coords.items()}
    return StoreSpec(attrs, coordinates, described.get(first, {}), labels)


def _block_of(spec: StoreSpec) -> int:
    """Samples that fill a chunk."""
    largest = max(spec.sample_bytes(s, v) for s in spec.splits for v in spec.variables)
    return max(1, CHUNK_BYTES // largest)


class ChunkFiles(NamedTuple):
    """The files of a variable, for readers to whom zarr's 1 ms a chunk matters."""

    files: tuple[Path, ...]
    shape: tuple[int, ...]  # of the variable, samples first
    length: int  # samples of a chunk; the last may have fewer
    dtype: np.dtype

    def read_into(self, index: int, out: np.ndarray) -> int:
        """Put the samples from index · length on into the beginning of `out`, and count them.

        `out` has room for a whole chunk.  StoreError if the file is damaged.
        """
        import google_crc32c

        numbers = out[: self.length].reshape(-1).view(np.uint8)
        with self.files[index].open("rb", buffering=0) as file:
            complete = file.readinto(numbers) == numbers.size
            checksum = file.read()
        if not complete or google_crc32c.value(numbers) != int.from_bytes(checksum, "little"):
            raise StoreError(f"{self.files[index]} is damaged: its checksum does not fit; {REMEDY}")
        return min(self.length, self.shape[0] - index * self.length)


def chunk_files(path: str | Path, split: str, variable: str) -> ChunkFiles:
    """Where the samples of a variable lie; verify the store first."""
    folder = Path(path) / split / variable
    if not (folder / METADATA).is_file():
        raise StoreError(f"{path} has no variable {variable!r} in a split {split!r}")
    array = json.loads((folder / METADATA).read_bytes())
    shape, length = array["shape"], array["chunk_grid"]["configuration"]["chunk_shape"][0]
    names = (chunk_name(i, len(shape)) for i in range(-(-shape[0] // length)))
    files = tuple(folder / name for name in names)
    return ChunkFiles(files, tuple(shape), length, np.dtype(array["data_type"]).newbyteorder("<"))
