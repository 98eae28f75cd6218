"""A folder holds one piece of work, told by a JSON file in it, and one process works there.

The same work is taken up again, other work is refused with what differs, and so is a second process
at the same time.  The lock ends with its process, however that ends.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .atomic import clear_stages, locked, read_bytes, write_text, writing


class Kind(NamedTuple):
    """What a folder may be claimed for, in words.

    file: that tells which one it is; what: is in the folder; does: a process there
    """

    file: str
    what: str
    does: str


def claim(folder: Path, kind: Kind, config: Mapping[str, Any]) -> Path:
    """The file that tells what is in a folder, which is this or nothing yet."""
    file, asked = folder / kind.file, json.loads(json.dumps(config))
    if not folder.exists() or _is_empty(folder):
        with writing(folder):
            clear_stages(folder)
            if not file.exists():  # another process may have been faster
                write_text(file, json.dumps(asked, indent=1))
    elif not file.exists():
        raise ValueError(
            f"{folder} exists and is not a {kind.what}; choose another folder with out=…"
        )
    _expect_same(file, kind, asked)
    return file


def _is_empty(folder: Path) -> bool:
    """Whether a folder has nothing but what processes that were killed left of drafts."""
    return folder.is_dir() and all(p.match(".*.partial") for p in folder.iterdir())


@contextlib.contextmanager
def only_process(folder: Path, kind: Kind) -> Iterator[None]:
    """Be the only process in a folder that was claimed."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(folder / kind.file, wait=0))
        except TimeoutError:
            raise ValueError(
                f"{folder}: another process {kind.does} in this folder; wait until it has ended, "
                "or choose another folder with out=…"
            ) from None
        clear_stages(folder)
        yield


def _expect_same(file: Path, kind: Kind, asked: dict[str, Any]) -> None:
    try:
        found = json.loads(read_bytes(file) or b"")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{file} is damaged; remove {file.parent} or choose another folder")
    if found != asked:
        there, here = _flat(found), _flat(asked)
        pairs = {k: (there.get(k, "nothing"), here.get(k, "nothing")) for k in here | there}
        differences = [f"{k}: {a} there, {b} asked for" for k, (a, b) in pairs.items() if a != b]
        raise ValueError(
            f"{file.parent} holds another {kind.what} ({'; '.join(differences)}); choose another "
            "folder with out=…, or remove it"
        )


def _flat(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """
    >>> _flat({"op": "xd", "training": {"epochs": 20}})
    {'op': 'xd', 'training.epochs': 20}
    """
    flat = {}
    for key, value in config.items():
        inner = isinstance(value, Mapping)
        flat |= _flat(value, f"{before}{key}.") if inner else {before + key: value}
    return flat
