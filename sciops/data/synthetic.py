"""Synthetic data that are no fields, as the verbs of data give them."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciops.suggestions import did_you_mean

from .generation import tidy
from .ragged_store import open_ragged, write_ragged
from .schema import StoreError, canonical, digest

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Synthetic:
    """Made at once, or made once and kept.

    tree:    makes the splits: tree(counts, seed=…, progress=…, and the parameters)
    version: of the generator; another one makes other data
    usual:   its parameters, such as lengths from and to, and their usual values
    write, open: a store
    """

    tree: Callable[..., "xr.DataTree"]
    version: int
    usual: Mapping[str, Any]
    write: Callable[..., Path] = write_ragged
    open: Callable[..., "xr.DataTree"] = open_ragged

    def generated(
        self,
        counts: Mapping[str, int],
        *,
        seed: int,
        out: str | Path | None,
        overwrite: bool,
        progress: bool,
        **parameters,
    ) -> "xr.Dataset | xr.DataTree":
        """The training split, or all of them in a store."""
        tree = self.tree(counts, seed=seed, progress=progress, **self._complete(parameters))
        if out is None:
            return tree["train"].to_dataset()
        return self.open(self.write(out, tree, overwrite=overwrite))

    def kept(
        self,
        folder: Path,
        counts: Mapping[str, int],
        *,
        seed: int,
        progress: bool,
        **parameters,
    ) -> "xr.DataTree":
        """Those of the store in `folder`; one that is missing or damaged is made (again)."""
        parameters = self._complete(parameters)
        asked = canonical([self.version, dict(counts), seed, *parameters.values()])
        path = folder / f"{digest(asked)[:16]}.zarr"
        damaged = False
        if path.exists():
            try:
                tree = self.open(path, full=True)
                tidy(path)
                return tree
            except StoreError as error:
                warnings.warn(f"{error}; it is generated again", stacklevel=3)
                damaged = True
        tree = self.tree(counts, seed=seed, progress=progress, **parameters)
        return self.open(self.write(path, tree, overwrite=damaged))

    def _complete(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """With the usual values of those that are not given, in the usual order."""
        unknown = [name for name in parameters if name not in self.usual]
        if unknown:
            raise ValueError(
                f"there is no parameter {unknown[0]!r}; these data have {', '.join(self.usual)}"
                f"{did_you_mean(unknown[0], self.usual)}"
            )
        given = {name: value for name, value in parameters.items() if value is not None}
        return {**self.usual, **given}
