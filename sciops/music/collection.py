"""Collections of music as trees with train, val and test: synthetic, published, or your own."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciops.data.files import read_cells
from sciops.domains import collection

from .rolls import as_dataset

if TYPE_CHECKING:
    import xarray as xr

SYNTHETIC = {
    "title": "Tonal sequences in four voices, synthetic",
    "source": "made by sciops: nobody composed them",
    "synthetic": True,
}
CELLS = {"train": "traindata", "val": "validdata", "test": "testdata"}  # in published files
OWN = {"title": "Music of the user", "source": "arrays of the user"}

tree_of = partial(collection.tree_of, as_dataset)


def synthetic_tree(
    counts: Mapping[str, int], *, seed: int, length: tuple[int, int], progress: bool
) -> "xr.DataTree":
    """Synthetic pieces; number k of a split is the same however many there are."""
    from .tonal import generate_pieces

    how = dict(seed=seed, length=tuple(length), progress=progress)
    return collection.numbered_tree(as_dataset, generate_pieces, counts, SYNTHETIC, **how)


def read_tree(pieces: str | Path | Mapping[str, Iterable[Any]]) -> "xr.DataTree":
    """Piano rolls from a published .mat file, or from arrays.

    pieces: a file with the cells traindata, validdata and testdata (JSB_Chorales.mat,
            Nottingham.mat and others of the kind), or {"train": [array, …], "val": …, "test": …} of
            arrays (frames, 88) or (frames, 128), see `sciops.music.rolls.as_roll`
    """
    if isinstance(pieces, Mapping):
        return tree_of(pieces, OWN)
    path = Path(pieces)
    splits = {split: read_cells(path, cell) for split, cell in CELLS.items()}
    return tree_of(splits, {"title": path.stem.replace("_", " "), "source": path.name})
