"""Stamps: small images of one size, the cosmic rays in them, and where they are from.

    image  (stamp, y, x)  float32, in attrs["units"]
    mask   (stamp, y, x)  uint8, 1 where a cosmic ray hit
    ignore (stamp, y, x)  uint8, 1 where nobody can say, or should: bad, hot and saturated pixels
    sky    (stamp)        float32, the level of the sky in the units of the image

and coordinates of the stamps: the name of the `field`, the number of the `exposure` (from 1 on),
and `row` and `column` of the upper left pixel in its frame.  In a store, which has numbers only,
coordinates are variables, and `field` is text, (stamp, letter), in bytes of UTF-8 filled up with 0.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sciops.data.ragged_store import open_ragged, write_ragged

if TYPE_CHECKING:
    import xarray as xr

PLACE = ("field", "exposure", "row", "column")
LETTER = "letter"
VARIABLES = ("image", "mask", "ignore", "sky")


class Stamp(NamedTuple):
    """A small image, and what is known about it; arrays (h, w)."""

    image: np.ndarray
    mask: np.ndarray
    ignore: np.ndarray
    sky: float
    field: str
    exposure: int = 1
    row: int = 0
    column: int = 0


def as_dataset(stamps: Iterable[Stamp], attrs: Mapping[str, Any]) -> "xr.Dataset":
    """Stamps of one size as a data set; attrs: title, source, units, gain, read_noise and so on."""
    import xarray as xr

    stamps = list(stamps)
    if not stamps:
        raise ValueError("a data set needs at least one stamp")
    for one in stamps:
        shapes = {one.image.shape, one.mask.shape, one.ignore.shape}
        if shapes != {stamps[0].image.shape} or one.image.ndim != 2:
            raise ValueError(
                f"all stamps must have one shape (h, w), as {stamps[0].image.shape} of the first; "
                f"one of {one.field!r} has {', '.join(map(str, sorted(shapes)))}"
            )
    units = {"units": attrs["units"]}
    variables = {
        "image": (("stamp", "y", "x"), np.stack([s.image for s in stamps]).astype("f4"), units),
        "mask": (("stamp", "y", "x"), np.stack([s.mask != 0 for s in stamps]).astype("u1")),
        "ignore": (("stamp", "y", "x"), np.stack([s.ignore != 0 for s in stamps]).astype("u1")),
        "sky": ("stamp", np.array([s.sky for s in stamps], "f4"), units),
    }
    numbers = {name: [getattr(s, name) for s in stamps] for name in PLACE[1:]}
    places = {name: ("stamp", np.array(values, np.int64)) for name, values in numbers.items()}
    places["field"] = ("stamp", np.array([s.field for s in stamps]))
    return xr.Dataset(variables, places, {"name": "cosmic", **attrs})


def stamps_of(ds: "xr.Dataset") -> list[Stamp]:
    """The stamps of `as_dataset`."""
    ds = unpacked(ds)
    columns = [ds[name].values for name in VARIABLES[:3]]
    columns += [ds[name].values.tolist() for name in ("sky", *PLACE)]
    return [Stamp(*row) for row in zip(*columns, strict=True)]


def unpacked(ds: "xr.Dataset") -> "xr.Dataset":
    """With coordinates, whether it was read from a store or not."""
    lacking = [name for name in (*VARIABLES, *PLACE) if name not in ds.variables]
    if lacking:
        raise ValueError(
            f"no data set of stamps: it has no {', '.join(lacking)}; make one with "
            "sciops.load, read or generate('cosmic', …)"
        )
    if ds["field"].ndim == 2:
        letters = np.ascontiguousarray(ds["field"].values)
        names = [row.tobytes().rstrip(b"\0").decode() for row in letters]
        ds = ds.drop_vars("field").assign(field=("stamp", np.array(names)))
    return ds.set_coords(list(PLACE))


def packed(ds: "xr.Dataset") -> "xr.Dataset":
    """Numbers only, and no coordinates, as a store has them."""
    names = [str(name).encode() for name in unpacked(ds)["field"].values]
    text = np.array(names).astype(f"S{max(map(len, names))}")
    letters = text.view(np.uint8).reshape(len(names), -1)
    return ds.drop_vars("field").reset_coords().assign(field=(("stamp", LETTER), letters))


def write_stamps(path: str | Path, tree: "xr.DataTree", *, overwrite: bool = False) -> Path:
    """As a store."""
    splits = {name: packed(split.to_dataset()) for name, split in tree.children.items()}
    return write_ragged(path, splits, overwrite=overwrite)


def open_stamps(path: str | Path, full: bool = False) -> "xr.DataTree":
    """The store that `write_stamps` wrote; images are read when they are asked for.

    full: hash every file first, not only the metadata
    """
    tree = open_ragged(path, full=full)
    for split in tree.children.values():
        split.dataset = unpacked(split.to_dataset())
    return tree
