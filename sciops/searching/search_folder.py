"""The folder of a search: one search, and one process at a time."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sciops.atomic import clear_stages, locked, read_bytes, write_text, writing

FILE = "search.json"


@contextlib.contextmanager
def claimed(folder: Path | None, config: dict[str, Any]) -> Iterator[None]:
    """Be the only process in a folder that holds this search, or nothing yet."""
    if folder is None:
        yield
        return
    file = folder / FILE
    with writing(folder):
        clear_stages(folder)
        if not file.exists():
            if any(path for path in folder.iterdir() if not path.name.startswith(".")):
                raise ValueError(f"{folder} is not empty and not a search; choose another folder")
            write_text(file, json.dumps(config, indent=1))
    _expect_same(file, config)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(file, wait=0))
        except TimeoutError:
            raise ValueError(
                f"{folder}: another process searches in this folder; wait until it has ended, or "
                "choose another folder"
            ) from None
        yield


def _expect_same(file: Path, config: dict[str, Any]) -> None:
    try:
        found = json.loads(read_bytes(file) or b"")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{file} is damaged; remove {file.parent} or choose another folder")
    asked = json.loads(json.dumps(config))
    different = [name for name in asked if found.get(name) != asked[name]]
    if different:
        name = different[0]
        raise ValueError(
            f"{file.parent} holds another search, with other {', '.join(different)} "
            f"({name}: {found.get(name)} there, {asked[name]} asked for); choose another folder, "
            "or remove it"
        )
