"""What a store holds, and how it lies on disk.

A store is a zarr v3 group with the groups `train`, `val` and `test` (any of them).  A group has
variables (sample, *dims), a coordinate for each dimension and `sample`, the samples' numbers.

Chunks cut `sample` only and are not compressed: a chunk file is the numbers in C order, little
endian, and their CRC-32C, so its size is known beforehand and a reader may map it.  (Smooth float32
fields: zstd saves 8 % of the space and takes 2.4 times as long to read.)

Work is cut into parts of whole blocks and whole chunks, so that parts never share a file.  A part
is one block, or in a large store as many as fill a chunk of about 2 MB.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SCHEMA = 1
CHUNK_BYTES = 2**21
PARTS = 64  # a split of more blocks than this joins them to parts, at least so many
NEEDED = ("name", "boundary_conditions", "inputs", "targets")  # a Task cannot be read without them
DTYPES = ("float16", "float32", "float64", "uint8", "int16", "int32", "int64")


class StoreError(ValueError):
    """A store that cannot be read or written; says which file, and what to do."""


class VariableSpec(NamedTuple):
    """A variable; `dims` are those behind `sample`, `attrs` its units and long_name."""

    dims: tuple[str, ...]
    dtype: str = "float32"
    attrs: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class SplitSpec:
    """The numbers of a split's samples, and its grid."""

    samples: Sequence[int]
    coordinates: Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class StoreSpec:
    """All of a store but the numbers in it, which the attributes must determine.

    attrs: JSON; at least `NEEDED`.  Should also have title, equation, parameters, generator (with
    its version), seed, source, license and resolution.
    """

    attrs: Mapping[str, Any]
    splits: Mapping[str, SplitSpec]
    variables: Mapping[str, VariableSpec | tuple]
    coordinate_attrs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self):
        variables = {name: VariableSpec(*v) for name, v in sorted(self.variables.items())}
        splits = {name: _clean_split(name, split) for name, split in sorted(self.splits.items())}
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "splits", splits)
        object.__setattr__(self, "attrs", plain({**self.attrs, "sciops_schema": SCHEMA}))
        _check_spec(self)

    def fingerprint(self) -> str:
        """A hash of everything asked for."""
        contents = {
            "attrs": self.attrs,
            "variables": {
                name: [v.dims, v.dtype, plain(v.attrs)] for name, v in self.variables.items()
            },
            "coordinate_attrs": self.coordinate_attrs,
            "splits": {
                name: [digest(split.samples.tobytes()), _hashes(split.coordinates)]
                for name, split in self.splits.items()
            },
        }
        return digest(canonical(contents))

    def shape(self, split: str, variable: str) -> tuple[int, ...]:
        """The shape of a variable, samples first."""
        grid = self.splits[split].coordinates
        dims = self.variables[variable].dims
        return (len(self.splits[split].samples), *(len(grid[dim]) for dim in dims))

    def sample_bytes(self, split: str, variable: str) -> int:
        """The size of one sample of a variable."""
        itemsize = np.dtype(self.variables[variable].dtype).itemsize
        return itemsize * math.prod(self.shape(split, variable)[1:])

    def split_bytes(self, split: str) -> int:
        """The size of one sample of all variables."""
        return sum(self.sample_bytes(split, variable) for variable in self.variables)

    def part_samples(self, split: str, block: int) -> int:
        """How many samples a part of the work has: whole blocks."""
        largest = max(self.sample_bytes(split, variable) for variable in self.variables)
        samples = len(self.splits[split].samples)
        blocks = max(1, min(CHUNK_BYTES // (block * largest), samples // (block * PARTS)))
        return min(block * blocks, samples)

    def chunk_samples(self, split: str, variable: str, block: int) -> int:
        """How many samples a chunk of a variable has: a divisor of a part's."""
        size, part = self.sample_bytes(split, variable), self.part_samples(split, block)
        fitting = (n for n in range(part, 1, -1) if part % n == 0 and n * size <= CHUNK_BYTES)
        return next(fitting, 1)


def plain(value):
    """As JSON holds it, keys sorted; ValueError for what JSON cannot hold."""
    try:
        return json.loads(canonical(value))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"attributes of a store must be JSON (text, finite numbers, lists, dicts): {error}"
        ) from None


def canonical(value) -> bytes:
    """The one JSON text of a value."""
    options = dict(sort_keys=True, allow_nan=False, separators=(",", ":"))
    return json.dumps(value, default=_from_numpy, **options).encode()


def _from_numpy(value):
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"not {value!r}")


def digest(data: bytes) -> str:
    """BLAKE2b, 32 bytes, as text."""
    return digest_of([data])


def digest_of(parts: Iterable[bytes]) -> str:
    """The same of data that come in parts.

    >>> digest_of([b"ab", b"c"]) == digest(b"abc")
    True
    """
    found = hashlib.blake2b(digest_size=32)
    for part in parts:
        found.update(part)
    return found.hexdigest()


def chunk_name(index: int, ndim: int) -> str:
    """What a chunk's file is called.

    >>> chunk_name(7, 3)
    'c.7.0.0'
    """
    return f"c.{index}" + ".0" * (ndim - 1)


def create(path: Path, spec: StoreSpec, block: int) -> None:
    """Write metadata and coordinates of a new store; its variables are still without chunks."""
    import zarr

    root = zarr.create_group(zarr.storage.LocalStore(path), attributes=dict(spec.attrs))
    for split, contents in spec.splits.items():
        group = root.create_group(split, attributes=dict(spec.attrs))  # it may be read alone
        for name, variable in spec.variables.items():
            shape = spec.shape(split, name)
            chunks = (spec.chunk_samples(split, name, block), *shape[1:])
            dims = ("sample", *variable.dims)
            create_array(group, name, shape, chunks, variable.dtype, dims, plain(variable.attrs))
        columns = {**contents.coordinates, "sample": contents.samples}
        for name, points in sorted(columns.items()):
            attrs = plain(spec.coordinate_attrs.get(name, {}))
            shape, dtype = points.shape, points.dtype.name
            create_array(group, name, shape, shape, dtype, (name,), attrs)[:] = points


def create_array(group, name, shape, chunks, dtype, dims, attrs):
    from zarr.codecs import BytesCodec, Crc32cCodec

    return group.create_array(
        name,
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        dimension_names=dims,
        attributes=attrs,
        fill_value=np.nan if np.dtype(dtype).kind == "f" else 0,
        serializer=BytesCodec(endian="little"),
        compressors=[Crc32cCodec()],
        filters=[],
        chunk_key_encoding={"name": "default", "separator": "."},  # no folder for each chunk
        config={"write_empty_chunks": True},  # a chunk that is missing is always an error
    )


def _clean_split(name: str, split: SplitSpec) -> SplitSpec:
    samples = np.asarray(split.samples)
    if samples.ndim != 1 or samples.size == 0 or samples.dtype.kind not in "iu":
        raise ValueError(
            f"split {name!r} needs a list of sample numbers, at least one; leave it out"
        )
    if len(np.unique(samples)) != len(samples):
        raise ValueError(f"split {name!r} has a sample number twice")
    grid = {dim: np.asarray(points) for dim, points in split.coordinates.items()}
    for dim, points in grid.items():
        number = points.dtype.kind in "iuf" and np.isfinite(points).all()
        if dim == "sample" or points.ndim != 1 or points.size == 0 or not number:
            raise ValueError(f"coordinate {dim!r} of split {name!r} must be a list of numbers")
    grid = {dim: points.astype(np.float64) for dim, points in grid.items()}
    return SplitSpec(samples.astype(np.int64), grid)


def _check_spec(spec: StoreSpec) -> None:
    if not spec.splits or not spec.variables:
        raise ValueError("a store needs at least one split and one variable")
    for name in [
        *spec.splits,
        *spec.variables,
        *(d for v in spec.variables.values() for d in v.dims),
    ]:
        if not name.isidentifier():
            raise ValueError(f"{name!r} is no name for a split, variable or dimension: use letters")
    missing = [key for key in NEEDED if key not in spec.attrs]
    if missing:
        raise ValueError(f"the attributes of a store need {', '.join(missing)}")
    for name in (part["variable"] for key in ("inputs", "targets") for part in spec.attrs[key]):
        if name not in spec.variables:
            raise ValueError(
                f"inputs and targets name {name!r}; there are {', '.join(spec.variables)}"
            )
    for name, (dims, dtype, _) in spec.variables.items():
        if dtype not in DTYPES:
            raise ValueError(
                f"variable {name!r} has dtype {dtype!r}; use one of {', '.join(DTYPES)}"
            )
        for split, contents in spec.splits.items():
            lost = {name, *dims} - {name, *contents.coordinates}
            if lost or name in contents.coordinates or name == "sample":
                raise ValueError(
                    f"variable {name!r} of split {split!r} has dimensions {', '.join(dims)}; "
                    f"coordinates are given for {', '.join(contents.coordinates) or 'none'}"
                )


def _hashes(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    return {name: digest(array.tobytes()) for name, array in sorted(arrays.items())}
