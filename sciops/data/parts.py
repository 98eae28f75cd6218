"""The parts a store is made of: what is computed for one, how and where it is written."""

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .manifest import Files, describe, is_intact
from .schema import StoreError, StoreSpec, canonical, chunk_name

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOENT}


class Part(NamedTuple):
    """The samples of a split from position `start` up to, not including, `stop`."""

    split: str
    start: int
    stop: int

    @property
    def samples(self) -> int:
        return self.stop - self.start

    @property
    def name(self) -> str:
        return f"{self.split}-{self.start}"


def list_parts(spec: StoreSpec, block: int) -> list[Part]:
    """All parts of a store."""
    parts = []
    for split, contents in spec.splits.items():
        total, step = len(contents.samples), spec.part_samples(split, block)
        parts += [Part(split, i, min(i + step, total)) for i in range(0, total, step)]
    return parts


@dataclass(frozen=True)
class Blocks:
    """The arrays of a part from a function that makes whole blocks."""

    make_block: Callable[[Sequence[int]], Mapping[str, np.ndarray]]
    block: int
    firsts: Mapping[str, int]  # number of each split's first sample
    shapes: Mapping[str, Mapping[str, tuple[int, ...]]]  # split → variable → shape of a block
    dtypes: Mapping[str, str]

    @classmethod
    def of(cls, spec: StoreSpec, make_block: Callable, block: int) -> "Blocks":
        """The blocks of `spec`, whose samples must be consecutive."""
        if not isinstance(block, int) or block < 1:
            raise ValueError(f"block={block!r} must be a positive number of samples")
        for name, split in spec.splits.items():
            first, count = int(split.samples[0]), len(split.samples)
            if first % block or (split.samples != np.arange(first, first + count)).any():
                raise ValueError(
                    f"samples of split {name!r} must count up from a multiple of block={block}; "
                    f"they begin at {first}"
                )
        firsts = {name: int(split.samples[0]) for name, split in spec.splits.items()}
        shapes = {
            split: {name: (block, *spec.shape(split, name)[1:]) for name in spec.variables}
            for split in spec.splits
        }
        dtypes = {name: variable.dtype for name, variable in spec.variables.items()}
        return cls(make_block, block, firsts, shapes, dtypes)

    def __call__(self, part: Part) -> dict[str, np.ndarray]:
        blocks = [self._make(part.split, i) for i in range(part.start, part.stop, self.block)]
        return {
            name: np.concatenate([arrays[name] for arrays in blocks])[: part.samples]
            for name in self.dtypes
        }

    def _make(self, split: str, start: int) -> dict[str, np.ndarray]:
        first = self.firsts[split] + start
        samples = range(first, first + self.block)
        arrays = self.make_block(samples)
        found = {name: np.shape(array) for name, array in arrays.items()}
        if found != self.shapes[split]:
            raise ValueError(f"make_block gave {found}; the store holds {self.shapes[split]}")
        with np.errstate(over="ignore"):
            arrays = {name: np.asarray(array, self.dtypes[name]) for name, array in arrays.items()}
        for name, array in arrays.items():
            finite = np.isfinite(array).reshape(self.block, -1).all(1)
            if not finite.all():
                raise ValueError(
                    f"{name} of sample {samples[int(finite.argmin())]} is not finite in "
                    f"{array.dtype}; check the solver's parameters"
                )
        return arrays


@dataclass(frozen=True)
class Site:
    """Where a store is being made."""

    path: Path
    fingerprint: str

    @property
    def partial(self) -> Path:
        return self.path.with_name(self.path.name + ".partial")

    @property
    def folder(self) -> Path:
        """With the fingerprint: a late worker of another specification writes elsewhere."""
        return self.partial / self.fingerprint[:16]

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def mark(self, name: str, files: Mapping) -> None:
        """Note that files are written."""
        marker = self.folder / f"{name}.json"
        draft = marker.with_suffix(f".{os.getpid()}.tmp")
        draft.write_bytes(canonical(files))
        draft.replace(marker)

    def marked(self, name: str) -> dict | None:
        """The files that were noted."""
        try:
            return json.loads((self.folder / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            return None

    def is_done(self, name: str) -> bool:
        """Whether files were noted and still are what they were."""
        files = self.marked(name)
        return bool(files) and is_intact(self.store, files)


def write_part(store: Path, part: Part, arrays: Mapping[str, np.ndarray]) -> Files:
    """Write the chunks of a part; the files and their hashes."""
    import zarr

    group = zarr.open_group(store, path=part.split, mode="r+")
    names = []
    for variable, values in sorted(arrays.items()):
        array = group[variable].with_config({"write_empty_chunks": True})
        length = array.chunks[0]
        chunks = range(part.start // length, -(-part.stop // length))
        files = [f"{part.split}/{variable}/{chunk_name(i, array.ndim)}" for i in chunks]
        for file in files:  # what a killed run left must not be read
            (store / file).unlink(missing_ok=True)
        array[part.start : part.stop] = values
        names += files
    return describe(store, names)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the file system as StoreError, with what to do."""
    try:
        yield
    except OSError as error:
        remedy = "look after the disk, then run the same again"
        if error.errno in FULL:
            remedy = "free some space and run the same again: what is finished is kept"
        elif error.errno in FORBIDDEN:
            remedy = "choose a path in a folder that you, and all workers, may write to"
        reason = error.strerror or str(error)
        raise StoreError(f"cannot write {error.filename or path}: {reason}; {remedy}") from error
