"""Pairs of files, tensors and JSON, that are whole or absent.

    stem.safetensors    the tensors
    stem.json           a document, the size and SHA-256 of the tensors file, and its own SHA-256

A pair is written in a hidden folder, flushed to the disk, read back, compared with the memory and
only then renamed.  Others see what was there before or what is there now, whenever a process dies.
"""

import contextlib
import glob
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save_file
from torch import Tensor

from .plain_state import CheckpointError

try:
    import fcntl
except ImportError:  # Windows: one writer at a time is then up to the caller
    fcntl = None

SCHEMA = 1
MAX_JSON = 16 * 2**20  # bytes; parsing takes up to a hundred times as much memory
DISCARDED = ".discarded-"
REMEDY = "copy it again from where it came from, or save it again"


# --- writing --------------------------------------------------------------------------------------


@contextlib.contextmanager
def writing(folder: Path, wait: float = 60.0) -> Iterator[None]:
    """Be the only writer of a folder, made if need be; failures become a CheckpointError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder, wait):
            for path in folder.glob(DISCARDED + "*"):
                shutil.rmtree(path, ignore_errors=True)
            yield
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"cannot save into {folder}: {error}; what was saved there before is untouched; "
            "free disk space or choose a folder that can be written to"
        ) from error


@contextlib.contextmanager
def locked(path: Path, wait: float) -> Iterator[None]:
    """Hold a file or folder, or TimeoutError; the lock ends with the process, however it ends."""
    if fcntl is None:
        yield
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)  # NFS locks what it writes
    try:
        _wait_for_lock(handle, time.monotonic() + wait)
        yield
    finally:
        os.close(handle)


def _wait_for_lock(handle: int, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError("another process keeps writing to it") from None
            time.sleep(0.02)
        except OSError:  # a file system without locks
            return None


def write_pair(folder: Path, stem: str, tensors: dict[str, Tensor], document: dict) -> Path:
    """The hidden folder with a verified pair, ready to be published; nothing on failure."""
    stage = folder / f".{stem}.partial"
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    try:
        file, json_file = stage / f"{stem}.safetensors", stage / f"{stem}.json"
        _save(tensors, file)
        document = {**document, "tensors": {"bytes": file.stat().st_size, "sha256": _hash(file)}}
        document = {"sciops_schema": SCHEMA, "sha256": _digest(document), **document}
        json_file.write_text(_checked_text(document, folder), encoding="utf-8")
        flush(json_file)
        shutil.copymode(json_file, file)  # safetensors gives nobody else the right to read
        _verify(file, tensors)
        read_json(json_file)
        flush(stage)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    return stage


def _save(tensors: dict[str, Tensor], file: Path) -> None:
    try:
        save_file(tensors, file)
    except SafetensorError as error:  # as it says that the disk is full
        raise OSError(str(error)) from error
    flush(file)


def _checked_text(document: dict, folder: Path) -> str:
    text = json.dumps(document, indent=1, allow_nan=False)
    if len(text) > MAX_JSON:
        raise CheckpointError(
            f"cannot save into {folder}: the JSON has {len(text)} bytes, at most {MAX_JSON} are "
            "read; give long lists of numbers as tensors"
        )
    return text


def _verify(file: Path, tensors: dict[str, Tensor]) -> None:
    """Compare a file with the memory, bit for bit."""
    with safe_open(file, framework="pt") as stored:
        whole = set(stored.keys()) == set(tensors) and all(
            torch.equal(_bits(stored.get_tensor(name)), _bits(tensor))
            for name, tensor in tensors.items()
        )
    if not whole:
        raise OSError(f"{file.name} was not written as it is in memory")


def _bits(tensor: Tensor) -> Tensor:
    return tensor.reshape(-1).view(torch.uint8)


def flush(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows has no handle of a folder to flush
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(file: Path, text: str) -> None:
    """Write a small file such that it is there whole, or as it was."""
    write_bytes(file, text.encode("utf-8"))


def write_bytes(file: Path, content: bytes) -> None:
    """`write_text` of what is no text."""
    clear_stages(file.parent, f"{glob.escape(file.name)}.*")
    stage = file.with_name(f".{file.name}.{os.getpid()}.partial")  # others may write it, too
    try:
        stage.touch()
        with locked(stage, wait=60):  # so that others see that it is written
            stage.write_bytes(content)
            flush(stage)
            publish(stage, file)
    finally:
        stage.unlink(missing_ok=True)


def clear_stages(folder: Path, name: str = "*") -> None:
    """Remove what killed processes left of the files of `write_bytes`."""
    for stage in folder.glob(f".{name}.partial"):
        with contextlib.suppress(OSError), locked(stage, wait=0):
            stage.unlink()  # unless it is a folder, or its process lives


def publish(source: Path, target: Path) -> None:
    """Rename a flushed file or folder; a file of the target's name is replaced."""
    source.replace(target)
    flush(target.parent)


def discard(folder: Path) -> None:
    """Remove a folder that is whole or not there; the next `writing` removes what is left."""
    with contextlib.suppress(OSError):  # someone has it open: not worth an error
        away = folder.with_name(DISCARDED + folder.name)
        folder.replace(away)
        shutil.rmtree(away, ignore_errors=True)


# --- reading --------------------------------------------------------------------------------------


def read_pair(json_file: Path, files: Sequence[Path]) -> tuple[dict[str, Tensor], dict]:
    """The tensors of the first of `files` that belongs to a JSON file, and the document."""
    document = read_json(json_file)
    expected = document["tensors"]
    for file in files:
        data = read_bytes(file)
        if data is None:
            problem = f"{file} is missing, which belongs to {json_file.name}"
        elif len(data) != expected["bytes"]:
            problem = f"{file} has {len(data)} bytes, {json_file.name} says {expected['bytes']}"
        elif hashlib.sha256(data).hexdigest() != expected["sha256"]:
            problem = f"{file} is damaged or not that of {json_file.name}: its SHA-256 differs"
        else:
            return _parsed(data, file), document
    raise CheckpointError(f"{problem}; {REMEDY}")


def _parsed(data: bytes, file: Path) -> dict[str, Tensor]:
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, AssertionError) as e:
        raise CheckpointError(f"{file} is not a safetensors file: {e}; {REMEDY}") from e


def read_json(file: Path) -> dict:
    """The document of a pair, unchanged since it was written."""
    data = read_bytes(file, MAX_JSON)
    if data is None:
        raise CheckpointError(f"{file} is missing: no such checkpoint; check the path")
    try:
        document = json.loads(data, parse_constant=_no_number)
        schema = document["sciops_schema"]
        if type(schema) is int and schema > SCHEMA:
            raise CheckpointError(f"{file} has schema {schema}, known is {SCHEMA}; upgrade sciops")
        whole = document.pop("sha256") == _digest(document) and schema == SCHEMA
        _ = document["tensors"]["bytes"], document["tensors"]["sha256"]
    except CheckpointError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CheckpointError(f"{file} is not the JSON of a checkpoint; {REMEDY}") from None
    if not whole:
        raise CheckpointError(f"{file} was changed since it was written; {REMEDY}")
    return document


def read_bytes(file: Path, limit: int | None = None) -> bytes | None:
    """A file at once, so that what is hashed is what is used; None if there is none."""
    try:
        if not file.is_file():
            return None
        if limit is not None and file.stat().st_size > limit:
            raise CheckpointError(f"{file} has more than {limit} bytes: no JSON of a checkpoint")
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"cannot read {file}: {error}; check its permissions") from error


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest(document: dict) -> str:
    """Of what the JSON says, whatever its spaces and order; without schema, which says how."""
    document = {key: value for key, value in document.items() if key != "sciops_schema"}
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
