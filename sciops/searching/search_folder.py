"""The folder of a search: one search, and one process at a time."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sciops.claims import Kind, claim, only_process

FILE = "search.json"
SEARCH = Kind(FILE, "search", "searches")


@contextlib.contextmanager
def claimed(folder: Path | None, config: dict[str, Any]) -> Iterator[None]:
    """Be the only process in a folder that holds this search, or nothing yet."""
    if folder is None:
        yield
        return
    claim(folder, SEARCH, config)
    with only_process(folder, SEARCH):
        yield
