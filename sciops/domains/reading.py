"""Files of a known layout, or of your own, as labelled data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.data.files import list_arrays, read_arrays
from sciops.suggestions import did_you_mean

from . import domain_named
from .labelling import labelled_tree, own_layout
from .layouts import Layout, find_layout, layouts_of
from .splits import SPLITS, Part
from .thinning import Thinning

if TYPE_CHECKING:
    import xarray as xr


def read_layout(
    domain_name: str,
    paths: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
    layout: str | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    coords: Mapping[str, str | np.ndarray] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    subsample: int | None = None,
    resolution: int | None = None,
    split: str | Mapping[str, Part] | None = "original",
    val: int | float | None = None,
    parameters: Mapping[str, Any] | None = None,
    limit_bytes: int | None = None,
) -> "xr.DataTree":
    """Read files of a known layout, or any arrays that `fields` or `paths` give names to.

    Args:
        paths: a file; files of one layout, of which the name tells the split; {split: file}; or
            {variable: file}, of which each (`.npy`, say) has one array.
        layout: a name of the table in `layouts`; found out from the file if not given.
        fields: {variable of the domain: name in the file}, for a file of no known layout.
        coords: {dimension: points, or their name in the file}; the domain's own grid if not given.
        dims: {variable: its dimensions in the file}, where they are in another order.
        subsample: 2 keeps every second point of x and y.
        resolution: the same by the number of points that are left, as in 85 of Darcy's 421.
        split: "original", or another that the layout knows by name; None; or {split: fraction,
            count or slice}.
        val: this many (or this fraction) of the training samples, from their end, as `val`.
        parameters: of the equation; they replace what the layout and the file's name say.
    """
    if not paths:
        raise ValueError("no files are given; name at least one")
    if layout is not None and (fields or coords or dims):
        raise ValueError(f"layout {layout!r} knows its fields, coords and dims; leave them out")
    if isinstance(paths, Mapping) and not set(paths) <= set(SPLITS):
        known = own_layout(domain_name, {name: name for name in paths}, coords or {}, dims or {})
        known = replace(known, source=", ".join(Path(path).name for path in paths.values()))
        pieces = [(None, None, partial(_one_each, paths, limit_bytes))]
    else:
        files = _files(paths)
        known = _layout_of(domain_name, files[0][1], layout, fields, coords or {}, dims or {})
        pieces = [
            (role, path, partial(read_arrays, path, known.keys, limit_bytes=limit_bytes))
            for role, path in files
        ]
    thinning = Thinning(subsample, resolution)
    return labelled_tree(known, pieces, thinning, split, val, parameters or {})


def _files(paths) -> list[tuple[str | None, Path]]:
    """Files with their splits, where these are said."""
    if not isinstance(paths, Mapping):
        several = [paths] if isinstance(paths, str | Path) else list(paths)
        return [(None, Path(path)) for path in several]
    return [(split, Path(path)) for split, path in paths.items()]


def _one_each(paths: Mapping[str, str | Path], limit_bytes: int | None) -> dict[str, np.ndarray]:
    """The only array of every file."""
    arrays = {}
    for variable, path in paths.items():
        names = [entry.name for entry in list_arrays(path)]
        if len(names) != 1:
            raise ValueError(
                f"{path} should have one array, it has {len(names)}: {', '.join(names)}; "
                "give its path alone, and the names by fields="
            )
        arrays[variable] = read_arrays(path, names, limit_bytes=limit_bytes)[names[0]]
    return arrays


def _layout_of(domain_name: str, path: Path, layout, fields, coords, dims) -> Layout:
    """The layout that is asked for, that is described, or that the file seems to have."""
    names = [entry.name for entry in list_arrays(path)]
    if layout is None and not (fields or coords or dims):
        layout = find_layout(domain_name, path, names)
    if layout is not None:
        known = layouts_of(domain_name)
        if layout not in known:
            raise ValueError(
                f"{domain_name} has no layout {layout!r}; it has {', '.join(known)}"
                f"{did_you_mean(layout, known)}"
            )
        return known[layout]
    variables = domain_named(domain_name).variables
    fields = fields or {name: name for name in variables if name in names}
    if not fields:
        raise ValueError(
            f"{path} has {', '.join(names) or 'no variables'}, which is no layout of {domain_name} "
            f"that is known; say which of them is which: fields={{{next(iter(variables))!r}: …}}"
        )
    return replace(own_layout(domain_name, fields, coords, dims), source=path.name)
