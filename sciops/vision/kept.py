"""Images as the verbs of data give them: they are in a package already, nothing is made or kept."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .collection import digits_tree
from .variants import VARIANTS, varied

if TYPE_CHECKING:
    import xarray as xr

TABLE = {  # a row of sciops.datasets()
    "title": "The class of an image",
    "equation": "none: scikit-learn's digits, or MNIST, CIFAR-10 and others from files",
    "inputs": "image",
    "targets": "label",
    "axes": "y, x",
    "parameters": f"variant={next(iter(VARIANTS))}",
}


def generated(counts: Mapping[str, int], **how) -> "xr.Dataset":
    raise ValueError(
        "images are not generated: sciops.load('vision') has scikit-learn's digits, and "
        "sciops.read('vision', …) reads files"
    )


def kept(
    folder: Path,
    counts: Mapping[str, int | None],
    *,
    seed: int,
    progress: bool,
    variant: str = "plain",
) -> "xr.DataTree":
    """The digits, or so many of each split; the seed is the variant's, the splits are fixed."""
    tree = digits_tree()
    for split, count in counts.items():
        if count is None:
            continue
        there = tree[split].sizes["sample"]
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= there:
            raise ValueError(f"n_{split}={count!r} must be a whole number, 0 to {there}")
        if count == 0:
            del tree[split]
        else:
            tree[split] = tree[split].isel(sample=slice(count))
    return varied(tree, variant, seed=seed)
