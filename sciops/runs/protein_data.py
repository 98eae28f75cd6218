"""The data of a protein run: synthetic or given, with train, val and test."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.catalogue import load
from sciops.data.ragged_store import open_ragged
from sciops.data.schema import digest
from sciops.proteins.protein import Protein
from sciops.proteins.ragged import proteins_of

if TYPE_CHECKING:
    import xarray as xr

SPLITS = ("train", "val", "test")


def synthetic(
    counts: Mapping[str, int], length: tuple[int, int], *, progress: bool, seed: int = 0
) -> tuple["xr.DataTree", dict[str, Any]]:
    """Synthetic chains and their description."""
    numbers = {f"n_{split}": n for split, n in counts.items()}
    how = dict(seed=seed, length=list(length))
    tree = load("protein", **numbers, **how, progress=progress)
    return tree, {**numbers, **how, "synthetic": True}


def given(data) -> tuple["xr.DataTree", dict[str, Any]]:
    """Someone's proteins and their description; data: a store, or a tree with the three splits."""
    tree = _as_tree(data)
    missing = [split for split in SPLITS if split not in tree.children]
    if missing:
        raise ValueError(
            f"the data have no split {' and no '.join(missing)}, only "
            f"{', '.join(tree.children) or 'none'}; sciops.read('protein', …, split=…) makes them"
        )
    numbers = {f"n_{s}": tree[s].sizes["protein"] for s in SPLITS}
    origin = str(Path(data).resolve()) if isinstance(data, str | Path) else None
    return tree, numbers | {"given": origin, "fingerprint": fingerprint(tree)}


def _as_tree(data) -> "xr.DataTree":
    import xarray as xr

    if isinstance(data, str | Path):
        return open_ragged(data)
    if isinstance(data, xr.DataTree):
        return data
    raise ValueError(
        f"data={type(data).__name__} must be a store or a tree with train, val and test: "
        "sciops.read('protein', …) makes one of PDNET's folder, or of alignments and structures"
    )


def fingerprint(tree: "xr.DataTree") -> str:
    """Of all numbers, whatever they are stored in."""
    parts = []
    for split in SPLITS:
        ds = tree[split].to_dataset()
        for name in sorted(map(str, ds.data_vars)):
            values = np.ascontiguousarray(ds[name].values)
            parts += [split, name, str(values.dtype), digest(values.tobytes())]
    return digest("\n".join(parts).encode())


def again(description: Mapping[str, Any]) -> "xr.DataTree":
    """The data of a run that was opened, by their description."""
    if "fingerprint" not in description:
        counts = {split: description[f"n_{split}"] for split in SPLITS}
        length, seed = tuple(description["length"]), description["seed"]
        return synthetic(counts, length, seed=seed, progress=True)[0]
    if description["given"] is None:
        raise ValueError(
            "this run was trained on proteins that were given to it and are not kept with it; give "
            "them again: run.data = tree; to judge it on others: run.evaluate(data)"
        )
    tree, found = given(description["given"])
    if found["fingerprint"] != description["fingerprint"]:
        raise ValueError(
            f"{description['given']} has changed since this run was trained on it; give the data "
            "you mean: run.evaluate(data)"
        )
    return tree


def proteins_in(data, split: str) -> list[Protein]:
    """A list of proteins as it is, or those of a split of a tree or store."""
    if isinstance(data, list | tuple) and all(isinstance(p, Protein) for p in data):
        return list(data)
    tree = _as_tree(data)
    if split not in tree.children:
        raise ValueError(f"the data have no split {split!r}; they have {', '.join(tree.children)}")
    return proteins_of(tree[split].to_dataset())
