"""Synthetic music as the verbs of data give them: made at once, or made once and kept."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sciops.data.ragged_store import open_ragged, write_ragged
from sciops.data.schema import StoreError, canonical, digest

from .collection import synthetic_tree
from .tonal import LENGTH

if TYPE_CHECKING:
    import xarray as xr

VERSION = 1  # of the generator; another one makes other pieces
TABLE = {  # a row of sciops.datasets()
    "title": "The next frame of polyphonic music",
    "equation": "none: synthetic tonal sequences, or piano rolls such as JSB Chorales",
    "inputs": "notes",
    "targets": "notes, a frame later",
    "axes": "time",
    "parameters": f"length={LENGTH}",
}


def generated(
    counts: Mapping[str, int],
    *,
    seed: int,
    out: str | Path | None,
    overwrite: bool,
    progress: bool,
    length: tuple[int, int] = LENGTH,
) -> "xr.Dataset | xr.DataTree":
    """Synthetic pieces: the training split, or all of them in a store."""
    tree = synthetic_tree(counts, seed=seed, length=length, progress=progress)
    if out is None:
        return tree["train"].to_dataset()
    return open_ragged(write_ragged(out, tree, overwrite=overwrite))


def kept(
    folder: Path,
    counts: Mapping[str, int],
    *,
    seed: int,
    progress: bool,
    length: tuple[int, int] = LENGTH,
) -> "xr.DataTree":
    """Synthetic pieces of the store in `folder`; one that is missing or damaged is made (again)."""
    asked = canonical([VERSION, dict(counts), seed, list(length)])
    path = folder / f"{digest(asked)[:16]}.zarr"
    damaged = False
    if path.exists():
        try:
            return open_ragged(path, full=True)
        except StoreError as error:
            warnings.warn(f"{error}; it is generated again", stacklevel=3)
            damaged = True
    tree = synthetic_tree(counts, seed=seed, length=length, progress=progress)
    return open_ragged(write_ragged(path, tree, overwrite=damaged))
