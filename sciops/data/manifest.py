"""The manifest: size and hash of every file of a store, written last, and what is checked with it.

zarr reads a missing chunk as fill values and believes any shape that its metadata declare.  So a
store is read only after this: its files are those of the manifest, with their sizes; its metadata
have their hashes, use the known codecs and declare just the chunks that there are.

`manifest.json` lies beside the sample numbers of the first split, because zarr warns of any file in
a group that is not its own, and reads the folder of an array without listing it.
"""

import contextlib
import hashlib
import json
import math
import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from .schema import DTYPES, SCHEMA, StoreError, canonical, chunk_name, digest

MANIFEST = "sample/manifest.json"  # in the folder of the first split
METADATA = "zarr.json"
CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
BYTE_CODECS = [{"name": "bytes"}, {"name": "crc32c"}]  # of a dtype of one byte
REMEDY = "delete the folder and generate or copy the store again"

Files = dict[str, tuple[int, str]]  # name in the store → size, hash


def verify(path: str | Path, *, full: bool = False) -> dict:
    """Raise StoreError unless the store is whole; its manifest.

    full: also hash every file, and refuse files that do not belong to the store.
    """
    path = Path(path)
    manifest = read_manifest(path)
    files = manifest["files"]
    for name, (size, _) in files.items():
        _expect(path, name, _size(path / name), size, "bytes")
    for name in files if full else (name for name in files if name.endswith(METADATA)):
        _expect(path, name, hash_file(path / name), files[name][1], "as BLAKE2b hash")
    for folder, sizes in _folders(files).items():
        if METADATA not in sizes:
            raise StoreError(f"{path / folder} has no {METADATA}; {REMEDY}")
        _check_metadata(path / folder / METADATA, sizes)
    if full:
        own = find_manifest(path).relative_to(path).as_posix()
        strays = sorted(set(list_files(path)) - {*files, own})
        if strays:
            raise StoreError(f"{path / strays[0]} does not belong to the store; remove it")
    return manifest


def read_manifest(path: Path) -> dict:
    """The manifest of a store that may be damaged elsewhere."""
    if path.name.endswith(".partial"):
        raise StoreError(
            f"{path} is an unfinished store; run the same generation again to finish it"
        )
    if not path.is_dir():
        raise StoreError(
            f"{path} is not a store: no such folder; a store is a folder with zarr.json"
        )
    file = find_manifest(path)
    if file is None:
        if not (path / METADATA).is_file():
            raise StoreError(f"{path} is not a store: it has no {METADATA}; name another folder")
        raise StoreError(f"{path} is no store, or not a whole one: it has no manifest; {REMEDY}")
    try:
        manifest = json.loads(file.read_bytes())
        schema, files = manifest["sciops_schema"], manifest["files"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise StoreError(f"{file} is damaged: no manifest of a store; {REMEDY}") from None
    if not isinstance(schema, int) or schema > SCHEMA:
        raise StoreError(
            f"{path} has schema {schema!r}, this version reads up to {SCHEMA}; upgrade sciops"
        )
    if not _signed(manifest) or not _plain_files(files):
        raise StoreError(f"{file} is damaged: its hash does not fit; {REMEDY}")
    return manifest


def write_manifest(path: Path, files: Files, fingerprint: str) -> None:
    """Declare a store complete; `fingerprint` tells what it was made from."""
    manifest = {
        "sciops_schema": SCHEMA,
        "fingerprint": fingerprint,
        "files": {name: list(files[name]) for name in sorted(files)},
    }
    manifest["hash"] = digest(canonical(manifest))
    split = min(name.split("/")[0] for name in files if "/" in name)
    (path / split / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")


def find_manifest(path: Path) -> Path | None:
    """Where a store's manifest lies."""
    return min(path.glob(f"*/{MANIFEST}"), default=None)


def describe(path: Path, names: Iterable[str]) -> Files:
    """Size and hash of files as they are now."""
    return {name: (_size(path / name), hash_file(path / name)) for name in names}


def is_intact(path: Path, files: Mapping[str, Iterable]) -> bool:
    """Whether the files are there with their sizes and hashes."""
    try:
        return all((_size(path / n), hash_file(path / n)) == tuple(f) for n, f in files.items())
    except OSError:
        return False


def hash_file(file: Path) -> str:
    """BLAKE2b of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=32)).hexdigest()


def list_files(path: Path) -> Iterator[str]:
    """All files below a folder, as names in the store."""
    for folder, _, names in os.walk(path):
        for name in names:
            yield (Path(folder) / name).relative_to(path).as_posix()


def flush(path: Path, workers: int) -> None:
    """Have the disk hold all files and folders below `path`."""
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(sync, (path / name for name in list_files(path))))
    for folder, _, _ in os.walk(path, topdown=False):
        sync(Path(folder))


def sync(path: Path) -> None:
    """Have the disk hold a file or a folder's entries; not every system can do the latter."""
    with contextlib.suppress(PermissionError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _signed(manifest: Mapping) -> bool:
    try:
        text = canonical({key: value for key, value in manifest.items() if key != "hash"})
    except ValueError:  # not a number, which no manifest has
        return False
    return digest(text) == manifest.get("hash")


def _plain_files(files) -> bool:
    """Sizes and hashes by name, and no name leads out of the store."""
    return (
        isinstance(files, dict)
        and not any({"", ".", ".."} & set(name.split("/")) or "\\" in name for name in files)
        and all(
            isinstance(about, list) and [type(part) for part in about] == [int, str]
            for about in files.values()
        )
    )


def _size(file: Path) -> int | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _folders(files: Mapping) -> dict[str, dict[str, int]]:
    """Sizes by folder and name."""
    folders = defaultdict(dict)
    for name, (size, _) in files.items():
        folder, _, base = name.rpartition("/")
        folders[folder][base] = size
    return folders


def _expect(path: Path, name: str, found, expected, unit: str) -> None:
    if found is None:
        raise StoreError(f"{path / name} is missing; {REMEDY}")
    if found != expected:
        raise StoreError(f"{path / name} is damaged: {found} {unit}, not {expected}; {REMEDY}")


def _check_metadata(file: Path, sizes: dict[str, int]) -> None:
    """Whether an array's metadata declare the chunks that lie beside it, of these sizes."""
    try:
        node = json.loads(file.read_bytes())
        if node["node_type"] == "group":
            return
        shape, dtype, codecs = node["shape"], node["data_type"], node["codecs"]
        chunk = node["chunk_grid"]["configuration"]["chunk_shape"]
        counts = [math.ceil(length / step) for length, step in zip(shape, chunk, strict=True)]
        along, *across = counts
        separator = node["chunk_key_encoding"]["configuration"]["separator"]
    except (ValueError, TypeError, KeyError, ZeroDivisionError, OverflowError, RecursionError):
        raise StoreError(f"{file} is damaged: no metadata of an array; {REMEDY}") from None
    known = BYTE_CODECS if dtype == "uint8" else CODECS
    if codecs != known or dtype not in DTYPES or separator != ".":
        raise StoreError(
            f"{file} declares {dtype!r}, {codecs} and names with {separator!r}, "
            f"not known to schema {SCHEMA}; {REMEDY}"
        )
    found = {name: size for name, size in sizes.items() if name != METADATA}
    size = math.prod(chunk) * np.dtype(dtype).itemsize + 4
    number = along if set(across) <= {1} else math.prod(counts)
    if number != len(found) or found != _chunk_sizes(number, len(counts), size):
        raise StoreError(
            f"{file} declares shape {shape} in {number} chunks of {size} bytes; "
            f"there are {len(found)} files of {sum(found.values())} bytes together; {REMEDY}"
        )


def _chunk_sizes(number: int, ndim: int, size: int) -> dict[str, int]:
    return {chunk_name(i, ndim): size for i in range(number)}
