"""What may be killed: a piece of work in a folder, and what must be true of the folder after it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Result = dict[str, Any]  # by name; values that == compares


@dataclass(frozen=True)
class Victim:
    """Work that can be killed at any moment and is then simply done again.

    work:     does it in a folder, or goes on with it
    prepare:  puts into a new folder what the work needs to be there
    readable: all that can be read in the folder now, by name; {} where nothing can.  What it gives
              after a kill must be what it gives of the undisturbed folder, for as many names as
              there are.  It raises where a file opens and is broken
    stays:    names of files that may be there when the work is done, though they look like drafts
    allowed:  names of `readable` and their values that are right, too, because they are those of a
              moment on the way
    """

    name: str
    work: Callable[[Path], None]
    readable: Callable[[Path], Result]
    allowed: Callable[[str, Any], bool] = lambda name, value: False
    prepare: Callable[[Path], None] = lambda folder: None
    stays: tuple[str, ...] = ()

    def wrong(self, folder: Path, whole: Result) -> list[str]:
        """Names of what can be read and is not what it should be."""
        try:
            found = self.readable(folder)
        except Exception as error:  # whatever it is, somebody would meet it
            return [f"{type(error).__name__}: {error}"]
        return [
            name
            for name, value in found.items()
            if (name not in whole or value != whole[name]) and not self.allowed(name, value)
        ]


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def left_behind(folder: Path, stays: tuple[str, ...] = ()) -> list[str]:
    """Drafts, locks and what else should be gone when the work is done, but names that may stay."""
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    endings = (".partial", ".lock", ".tmp", ".ready")
    drafts = [p for p in found if p.endswith(endings) or p.split("/")[-1].startswith(".")]
    return [p for p in drafts if p.split("/")[-1] not in stays]
