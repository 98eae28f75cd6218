"""Collections of stamps as trees with train, val and test: simulated, deepCR's, or FITS files."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciops.domains import collection

from .stamps import as_dataset

if TYPE_CHECKING:
    import xarray as xr

SYNTHETIC = {
    "title": "Exposures with cosmic rays, simulated",
    "source": "made by sciops: no telescope took them",
    "synthetic": True,
    "units": "electron",
    "gain": 1.0,
}

tree_of = partial(collection.tree_of, as_dataset)


def synthetic_tree(
    counts: Mapping[str, int], *, seed: int, size: int, detector: str, progress: bool
) -> "xr.DataTree":
    """Simulated stamps; number k of a split is the same however many there are."""
    from .simulator import READ_NOISE, generate_stamps

    attrs = {**SYNTHETIC, "read_noise": READ_NOISE}
    how = dict(seed=seed, size=size, detector=detector, progress=progress)
    return collection.numbered_tree(as_dataset, generate_stamps, counts, attrs, **how)


def read_tree(
    paths: str | Path | Sequence[str | Path] | Mapping[str, Any],
    *,
    size: int | None = 128,
    filters: Sequence[str] | None = None,
    limit: int | None = None,
    split: str | Mapping[str, Sequence[str]] | None = None,
    cosmic_bits: int | None = None,
    ignore_bits: int | None = None,
) -> "xr.DataTree":
    """deepCR's folder, or FITS files.

    paths: a folder with npy_train, and npy_test if it is there; or a FITS file or a list of them,
           exposures of one field, or {field: file or list of files}
    size:  of the stamps, pixels along each side
    filters, limit: of a folder, see `sciops.cosmic.deepcr.read_deepcr`
    split, cosmic_bits, ignore_bits: of FITS files, see `sciops.cosmic.frames.read_fits`
    """
    of_folder = dict(filters=filters, limit=limit)
    of_fits = dict(split=split, cosmic_bits=cosmic_bits, ignore_bits=ignore_bits)
    if isinstance(paths, str | Path) and Path(paths).is_dir():
        from .deepcr import read_deepcr

        return tree_of(*read_deepcr(paths, size=size, **_given(of_folder, of_fits, "a folder")))
    from .frames import read_fits

    return tree_of(*read_fits(paths, size=size, **_given(of_fits, of_folder, "FITS files")))


def _given(own: Mapping[str, Any], foreign: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The options that are given; ValueError if one is for the other kind of files."""
    wrong = [name for name, value in foreign.items() if value is not None]
    if wrong:
        raise ValueError(f"{wrong[0]} does not go with {what}; there are {', '.join(own)}")
    return {name: value for name, value in own.items() if value is not None}
