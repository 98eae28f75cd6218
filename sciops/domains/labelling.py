"""Arrays as labelled data: a tree of train, val and test.

Each child is an xarray.Dataset with the dimensions (sample, [time,] x[, y]) and the metadata that
`sciops.domains.domain` describes.  `sample` is the number in the file; the second of two files goes
on counting where the first ended, so that a number never is in two splits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.suggestions import did_you_mean

from . import domain_named
from .domain import Domain
from .layouts import Content, Layout, periodic
from .splits import SPLITS, Part, parts_of_files, shares_of, with_validation
from .thinning import Thinning

if TYPE_CHECKING:
    import xarray as xr


def from_arrays(
    domain_name: str,
    arrays: Mapping[str, np.ndarray],
    *,
    coords: Mapping[str, np.ndarray] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    subsample: int | None = None,
    resolution: int | None = None,
    split: Mapping[str, Part] | None = None,
    val: int | float | None = None,
    parameters: Mapping[str, Any] | None = None,
    source: str = "unknown",
    license: str = "unknown",
) -> "xr.DataTree":
    """Label arrays (sample, …) of a domain's variables; options as of `reading.read_layout`.

    >>> a, u = np.random.default_rng(0).normal(size=(2, 10, 32))
    >>> tree = from_arrays("burgers", {"a": a, "u": u}, split={"train": 0.8, "test": 0.2})
    >>> {name: child.sizes["sample"] for name, child in tree.children.items()}
    {'train': 8, 'test': 2}
    """
    known = own_layout(domain_name, {name: name for name in arrays}, coords or {}, dims or {})
    known = replace(known, source=source, license=license)
    thinning = Thinning(subsample, resolution)
    pieces = [(None, None, lambda: arrays)]
    return labelled_tree(known, pieces, thinning, split, val, parameters or {})


def own_layout(domain_name: str, fields: Mapping[str, str], coords, dims) -> Layout:
    """The layout of a user's own file: {variable: name in it}, and coordinates by name or value."""
    known = domain_named(domain_name)
    axes = dict.fromkeys(
        dim for name in fields if name in known.variables for dim in known.variables[name].dims
    )
    for what, names, own in (
        ("fields", fields, known.variables),
        ("dims", dims, known.variables),
        ("coords", coords, axes),
    ):
        if unknown := sorted(set(names) - set(own)):
            kind = "dimensions" if what == "coords" else "variables"
            raise ValueError(
                f"{what} name {', '.join(unknown)}, but the {kind} of {domain_name} are "
                f"{', '.join(own)}"
            )

    def content(arrays, path) -> Content:
        ordered = {
            name: _ordered(name, np.asarray(arrays[key]), known.variables[name].dims, dims)
            for name, key in fields.items()
        }
        points = {d: arrays[p] if isinstance(p, str) else p for d, p in coords.items()}
        return Content(ordered, points)

    keys = (*fields.values(), *(points for points in coords.values() if isinstance(points, str)))
    return Layout(known, keys, content)


def _ordered(name: str, array: np.ndarray, own: tuple[str, ...], dims) -> np.ndarray:
    """The array with its axes in the order of the schema."""
    wanted = ("sample", *own)
    given = tuple(dims.get(name, wanted))
    if sorted(given) != sorted(wanted) or array.ndim != len(wanted):
        raise ValueError(
            f"{name!r} should have the dimensions {wanted}; it has {array.ndim} axes of sizes "
            f"{array.shape}" + (f", called {given}" if name in dims else "")
        )
    return array.transpose([given.index(dim) for dim in wanted])


def _check_parameters(known: Domain, parameters: Mapping[str, Any]) -> None:
    names = {*known.parameters, *known.declared}
    if unknown := sorted(set(parameters) - names):
        raise ValueError(
            f"{known.name} has no parameter {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(sorted(names))}{did_you_mean(unknown[0], names)}"
        )


def labelled_tree(
    layout: Layout, pieces, thinning: Thinning, split, val, parameters
) -> "xr.DataTree":
    """pieces: (split or None, path or None, what loads the arrays) of each file."""
    import xarray as xr

    _check_parameters(layout.domain, parameters)
    if isinstance(split, str) and split in layout.searches:
        split, val = "original", layout.searches[split] if val is None else val
    parts_of = parts_of_files(layout, [(role, path) for role, path, _ in pieces], split)
    files = list(zip(pieces, parts_of, strict=True))
    if len(files) > 1:  # the training samples get the first numbers
        files.sort(key=lambda file: SPLITS.index(next(iter(file[1]))))
    children, first = {}, 0
    for (_, path, load), parts in files:
        label = partial(_dataset, layout, thinning=thinning, parameters=parameters, first=first)
        some, count = _splits_of_file(load, path, layout, label, parts, val)
        children.update(some)
        first += count
    if val is not None and "val" not in children:
        raise ValueError(f"val={val!r} is taken from 'train', but there is only {list(children)}")
    ordered = {name: children[name] for name in SPLITS if name in children}
    root = xr.Dataset(attrs=next(iter(ordered.values())).attrs)
    return xr.DataTree.from_dict({"/": root, **ordered}, name=layout.domain.name)


def _splits_of_file(load, path, layout, label, parts, val) -> tuple[dict[str, "xr.Dataset"], int]:
    """The splits in one file, and how many samples it has; the arrays as loaded end here."""
    arrays = load()
    try:
        ds = label(layout.content(arrays, path))
        shares = with_validation(shares_of(ds.sizes["sample"], parts), val)
    except (IndexError, ValueError) as error:
        raise ValueError(f"{path or 'arrays'}: {error}") from error
    chosen = {name: slice(share.start, share.stop, share.step) for name, share in shares.items()}
    return {n: _solid(ds.isel(sample=part)) for n, part in chosen.items()}, ds.sizes["sample"]


def _dataset(layout: Layout, content: Content, *, thinning: Thinning, parameters, first: int):
    """All samples of a file, checked and labelled."""
    import xarray as xr

    known = layout.domain
    sizes = _sizes(known, content.fields)
    boundaries = known.boundary_conditions
    lengths = {dim: {"length": length} for dim, length in content.lengths.items()}
    coords = {
        dim: (
            dim,
            _points(dim, content.coords.get(dim), n, boundaries.get(dim) == "periodic"),
            lengths.get(dim, {}),
        )
        for dim, n in sizes.items()
        if dim != "sample"
    }
    coords["sample"] = np.arange(first, first + sizes["sample"], dtype=np.int64)
    variables = {name: known.variables[name] for name in content.fields}
    data = {
        name: (
            ("sample", *variable.dims),
            _real(name, content.fields[name]),
            {"long_name": variable.long_name, "units": variable.units},
        )
        for name, variable in variables.items()
    }
    labels = known.labels({**content.parameters, **parameters}, sizes.get("time"))
    attrs = {**labels, "source": layout.source, "license": layout.license}
    ds = xr.Dataset(data, coords, attrs)
    return ds.isel(_strides(layout, sizes, thinning))


def _sizes(known: Domain, fields: Mapping[str, np.ndarray]) -> dict[str, int]:
    """The length of each dimension, on which all variables must agree."""
    missing = {f.variable for f in (*known.inputs, *known.targets)} - set(fields)
    if missing:
        raise ValueError(f"{known.name} needs {', '.join(sorted(missing))}; got {list(fields)}")
    sizes: dict[str, tuple[int, str]] = {}
    for name, array in fields.items():
        dims = ("sample", *known.variables[name].dims)
        if array.ndim != len(dims):
            raise ValueError(
                f"{name!r} should have the dimensions {dims}, its shape is {array.shape}"
            )
        for dim, n in zip(dims, array.shape, strict=True):
            expected, other = sizes.setdefault(dim, (n, name))
            if n != expected or n == 0:
                raise ValueError(
                    f"{name!r} of shape {array.shape} has {n} along {dim!r}, {other!r} has "
                    f"{expected}; they must be equal and not 0.  The dimensions are {dims}"
                )
    return {dim: n for dim, (n, _) in sizes.items()}


def _points(dim: str, given, n: int, is_periodic: bool) -> np.ndarray:
    """Coordinates of n points: those given if they are sound, or those of the unit interval."""
    if given is None and dim == "time":
        raise ValueError(f"the times of the {n} frames are not known; give coords={{'time': …}}")
    if given is None:
        return periodic(n) if is_periodic else np.linspace(0, 1, n)
    given = np.asarray(given)
    points = given.reshape(-1).astype(float)
    if given.size != max(given.shape, default=0) or len(points) != n:
        raise ValueError(f"coordinate {dim!r} should have {n} points, its shape is {given.shape}")
    if not np.isfinite(points).all() or np.any(np.diff(points) <= 0):
        raise ValueError(f"coordinate {dim!r} should be finite and increase; sort the axis first")
    even = np.linspace(points[0], points[-1], n)
    precision = np.finfo(given.dtype).eps if given.dtype.kind == "f" else 0
    if np.allclose(points, even, rtol=0, atol=4 * precision * abs(points).max()):
        return even  # of single precision only the rounding is lost
    if is_periodic and not np.allclose(points, even, rtol=0, atol=1e-4 * (even[1] - even[0])):
        raise ValueError(f"{dim!r} is periodic, so its points should be evenly spaced")
    return points


def _real(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "f":
        return array
    if array.dtype.kind not in "biu":
        raise ValueError(f"{name!r} should be real numbers, it is {array.dtype}; take a real part")
    return array.astype(np.float32)


def _strides(layout: Layout, sizes: Mapping[str, int], thinning: Thinning) -> dict[str, slice]:
    """Every k-th point; periodic grids stay so, closed ones keep both ends."""
    strides = {}
    for dim in [d for d in ("x", "y") if d in sizes]:
        is_periodic = layout.domain.boundary_conditions.get(dim) == "periodic"
        end = 0 if is_periodic or layout.ends_outside else 1
        strides[dim] = slice(None, None, thinning.stride(dim, sizes[dim], end, layout.ends_outside))
    return strides


def _solid(ds: "xr.Dataset") -> "xr.Dataset":
    """In contiguous memory."""
    return ds.copy(data={name: np.ascontiguousarray(v.values) for name, v in ds.data_vars.items()})
