"""The data of a music run: synthetic or given, with train, val and test."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.catalogue import load
from sciops.data.ragged_store import open_ragged
from sciops.music.collection import read_tree
from sciops.music.rolls import as_roll, pieces_of

from .protein_data import SPLITS, fingerprint

if TYPE_CHECKING:
    import xarray as xr


def synthetic(
    counts: Mapping[str, int], length: tuple[int, int], *, progress: bool, seed: int = 0
) -> tuple["xr.DataTree", dict[str, Any]]:
    """Synthetic pieces and their description."""
    numbers = {f"n_{split}": n for split, n in counts.items()}
    how = dict(seed=seed, length=list(length))
    tree = load("music", **numbers, **how, progress=progress)
    return tree, {**numbers, **how, "synthetic": True}


def given(data) -> tuple["xr.DataTree", dict[str, Any]]:
    """Someone's music and its description; data: a file, a store, arrays or a tree."""
    tree = _as_tree(data)
    missing = [split for split in SPLITS if split not in tree.children]
    if missing:
        raise ValueError(
            f"the data have no split {' and no '.join(missing)}, only "
            f"{', '.join(tree.children) or 'none'}; give train, val and test"
        )
    numbers = {f"n_{s}": tree[s].sizes["piece"] for s in SPLITS}
    origin = str(Path(data).resolve()) if isinstance(data, str | Path) else None
    return tree, numbers | {"given": origin, "fingerprint": fingerprint(tree)}


def _as_tree(data) -> "xr.DataTree":
    import xarray as xr

    if isinstance(data, xr.DataTree):
        return data
    if isinstance(data, Mapping) or (isinstance(data, str | Path) and Path(data).is_file()):
        return read_tree(data)
    if isinstance(data, str | Path):
        return open_ragged(data)
    raise ValueError(
        f"data={type(data).__name__} must be a .mat file of piano rolls, a store, a tree of "
        "sciops.read('music', …), or arrays {'train': […], 'val': […], 'test': […]}"
    )


def again(description: Mapping[str, Any]) -> "xr.DataTree":
    """The data of a run that was opened, by their description."""
    if "fingerprint" not in description:
        counts = {split: description[f"n_{split}"] for split in SPLITS}
        length, seed = tuple(description["length"]), description["seed"]
        return synthetic(counts, length, seed=seed, progress=True)[0]
    if description["given"] is None:
        raise ValueError(
            "this run was trained on music that was given to it and is not kept with it; give it "
            "again: run.data = tree; to judge it on other music: run.evaluate(data)"
        )
    tree, found = given(description["given"])
    if found["fingerprint"] != description["fingerprint"]:
        raise ValueError(
            f"{description['given']} has changed since this run was trained on it; give the data "
            "you mean: run.evaluate(data)"
        )
    return tree


def pieces_in(data, split: str) -> list[np.ndarray]:
    """A list of rolls as it is, or those of a split of a tree, file or store."""
    if isinstance(data, list | tuple):
        return [as_roll(piece, f"piece {k}") for k, piece in enumerate(data)]
    tree = _as_tree(data)
    if split not in tree.children:
        raise ValueError(f"the data have no split {split!r}; they have {', '.join(tree.children)}")
    return pieces_of(tree[split].to_dataset())
