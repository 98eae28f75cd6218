"""Synthetic data without a common length, as the verbs of data give them."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .ragged_store import open_ragged, write_ragged
from .schema import StoreError, canonical, digest

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Synthetic:
    """Made at once, or made once and kept.

    tree:    makes the splits: tree(counts, seed=…, length=…, progress=…)
    version: of the generator; another one makes other data
    length:  the usual lengths, from and to
    """

    tree: Callable[..., "xr.DataTree"]
    version: int
    length: tuple[int, int]

    def generated(
        self,
        counts: Mapping[str, int],
        *,
        seed: int,
        out: str | Path | None,
        overwrite: bool,
        progress: bool,
        length: tuple[int, int] | None = None,
    ) -> "xr.Dataset | xr.DataTree":
        """The training split, or all of them in a store."""
        length = self.length if length is None else length
        tree = self.tree(counts, seed=seed, length=length, progress=progress)
        if out is None:
            return tree["train"].to_dataset()
        return open_ragged(write_ragged(out, tree, overwrite=overwrite))

    def kept(
        self,
        folder: Path,
        counts: Mapping[str, int],
        *,
        seed: int,
        progress: bool,
        length: tuple[int, int] | None = None,
    ) -> "xr.DataTree":
        """Those of the store in `folder`; one that is missing or damaged is made (again)."""
        length = self.length if length is None else length
        asked = canonical([self.version, dict(counts), seed, list(length)])
        path = folder / f"{digest(asked)[:16]}.zarr"
        damaged = False
        if path.exists():
            try:
                return open_ragged(path, full=True)
            except StoreError as error:
                warnings.warn(f"{error}; it is generated again", stacklevel=3)
                damaged = True
        tree = self.tree(counts, seed=seed, length=length, progress=progress)
        return open_ragged(write_ragged(path, tree, overwrite=damaged))
