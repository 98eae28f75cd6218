"""Samples that are made or read one by one, as a tree with train, val and test."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .domain import SPLIT_STARTS

if TYPE_CHECKING:
    import xarray as xr

AsDataset = Callable[[Iterable[Any], Mapping[str, Any]], "xr.Dataset"]


def tree_of(
    as_dataset: AsDataset, splits: Mapping[str, Iterable[Any]], attrs: Mapping[str, Any]
) -> "xr.DataTree":
    """The samples of each split, with the same attributes."""
    import xarray as xr

    made = {split: as_dataset(samples, attrs) for split, samples in splits.items()}
    return xr.DataTree.from_dict(made)


def numbered_tree(
    as_dataset: AsDataset,
    make: Callable[..., Iterable[Any]],
    counts: Mapping[str, int],
    attrs: Mapping[str, Any],
    *,
    progress: bool,
    **how,
) -> "xr.DataTree":
    """Synthetic samples; number k of a split is the same however many there are.

    make: make(numbers, progress=…, **how) -> samples
    how:  seed and whatever else they are made with; becomes attributes
    """
    splits = {
        split: make(range(SPLIT_STARTS[split], SPLIT_STARTS[split] + n), progress=progress, **how)
        for split, n in counts.items()
        if n
    }
    plain = {name: list(v) if isinstance(v, tuple) else v for name, v in how.items()}
    return tree_of(as_dataset, splits, {**attrs, **plain})
