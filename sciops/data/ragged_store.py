"""Stores of data sets whose variables have different first dimensions, such as ragged arrays.

They are like those of `store`: a group for each split, chunks of about 2 MB that cut the first
dimension and are not compressed, and a manifest.  They are written to `<path>.partial` and renamed
when they are whole.  There are no coordinates, nothing is padded, and every split has attributes of
its own.

For the manifest, which lies beside them, every split has numbers `sample` of the entries along the
first dimension of the variable that is first by name.

>>> import tempfile, xarray as xr
>>> words = xr.Dataset({"length": ("word", [2, 1]), "letter": ("character", [7, 8, 9])})
>>> with tempfile.TemporaryDirectory() as folder:
...     path = write_ragged(f"{folder}/words.zarr", {"test": words})
...     open_ragged(path)["test/letter"].values
array([7, 8, 9])
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .generation import check_space, clear, is_there, only_process, publish, tidy
from .manifest import REMEDY, describe, list_files
from .parts import Site, writing
from .schema import CHUNK_BYTES, DTYPES, SCHEMA, StoreError, canonical, create_array, digest, plain
from .store import open_store

if TYPE_CHECKING:
    import xarray as xr

NUMBERS = "sample"


def open_ragged(path: str | Path, full: bool = False) -> "xr.DataTree":
    """The store as a tree with its splits, read when its values are asked for.

    full: hash every file first, not only the metadata
    """
    tree = open_store(path, full=full)
    for split in tree.children.values():
        if NUMBERS in split.dims:
            raise StoreError(f"{path} is a store of samples, not a ragged one; use open_store")
        if NUMBERS not in split.variables:
            raise StoreError(f"{path} is damaged: {split.name} has no {NUMBERS!r}; {REMEDY}")
        split.dataset = split.to_dataset().drop_vars(NUMBERS)
    return tree


def write_ragged(
    path: str | Path,
    data: "Mapping[str, xr.Dataset] | xr.DataTree",
    *,
    overwrite: bool = False,
) -> Path:
    """Write data sets {split: Dataset}, or a tree of them, as a store, unless it is there already.

    overwrite: replace a store of other data, or a damaged one
    """
    splits = {
        name: getattr(ds, "dataset", ds) for name, ds in getattr(data, "children", data).items()
    }
    _check(splits)
    attrs = _store_attrs(data, splits)
    site = Site(Path(path).absolute(), _fingerprint(attrs, splits))
    if site.path.suffix == ".partial":
        raise StoreError(f"{path}: unfinished stores are called so; choose another name")
    if is_there(site, overwrite) and not site.partial.exists():
        tidy(site.path)
        return Path(path)
    with only_process(site.path):
        if not is_there(site, overwrite):
            with writing(site.path):
                _write(site, attrs, splits)
                publish(site, [])
        clear(site.partial)
    return Path(path)


def _write(site: Site, attrs: dict, splits: "Mapping[str, xr.Dataset]") -> None:
    """All files but the manifest, and a note of their hashes."""
    import zarr

    clear(site.partial)
    site.folder.mkdir(parents=True)
    check_space(site, sum(ds.nbytes for ds in splits.values()))
    root = zarr.create_group(zarr.storage.LocalStore(site.store), attributes=attrs)
    for split, ds in splits.items():
        group = root.create_group(split, attributes=_with_schema(ds.attrs))
        for name, variable in ds.variables.items():
            _write_array(group, name, variable.dims, variable.values, variable.attrs)
        first = ds.variables[min(ds.variables)]  # by name: the order is that of a file system
        _write_array(group, NUMBERS, first.dims[:1], np.arange(len(first)), {})
    site.mark("skeleton", describe(site.store, list_files(site.store)))


def _write_array(group, name: str, dims: tuple, values: np.ndarray, attrs: dict) -> None:
    chunks = (_chunk_length(values), *values.shape[1:])
    array = create_array(group, name, values.shape, chunks, values.dtype.name, dims, plain(attrs))
    array[:] = values


def _chunk_length(values: np.ndarray) -> int:
    """Chunks of about 2 MB, as equal as can be: the last one is as long as the others on disk."""
    chunks = max(1, math.ceil(values.nbytes / CHUNK_BYTES))
    return math.ceil(len(values) / chunks)


def _store_attrs(data: Any, splits: "Mapping[str, xr.Dataset]") -> dict:
    """Those of the tree, or those that all splits share."""
    first, *others = (plain(ds.attrs) for ds in splits.values())
    shared = {k: v for k, v in first.items() if all(k in o and o[k] == v for o in others)}
    return _with_schema(getattr(data, "attrs", {}) or shared)


def _with_schema(attrs: Mapping) -> dict:
    return plain({**attrs, "sciops_schema": SCHEMA})


def _fingerprint(attrs: dict, splits: "Mapping[str, xr.Dataset]") -> str:
    """A hash of all that is written."""
    contents = {
        split: [_with_schema(ds.attrs), {name: _hash(v) for name, v in ds.variables.items()}]
        for split, ds in splits.items()
    }
    return digest(canonical(["ragged", attrs, contents]))


def _hash(variable: "xr.Variable") -> str:
    about = [variable.dims, variable.shape, variable.dtype.str, plain(variable.attrs)]
    return digest(canonical(about)) + digest(np.ascontiguousarray(variable.values).data)


def _check(splits: "Mapping[str, xr.Dataset]") -> None:
    if not splits or not all(ds.data_vars for ds in splits.values()):
        raise ValueError("a store needs at least one split, and each split at least one variable")
    for split, ds in splits.items():
        for name in [split, *ds.variables, *ds.dims]:
            if not str(name).isidentifier() or name == NUMBERS:
                raise ValueError(f"{name!r} is no name for a split, variable or dimension")
        if ds.coords:
            raise ValueError(
                f"{split!r} has the coordinates {', '.join(map(str, ds.coords))}, which are not "
                "kept; drop_vars or reset_coords them"
            )
        for name, variable in ds.variables.items():
            if variable.size == 0 or variable.ndim == 0:
                raise ValueError(
                    f"{name!r} of {split!r} has the shape {variable.shape}; leave it out"
                )
            if variable.dtype.name not in DTYPES:
                raise ValueError(
                    f"variable {name!r} has dtype {variable.dtype.name!r}; "
                    f"use one of {', '.join(DTYPES)}"
                )
