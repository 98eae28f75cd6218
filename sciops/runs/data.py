"""The data of a run: generated or given, with the splits train, val and test, checked at the door.

What was used is described in the run's configuration, so that a run opened later finds the same
data again, or can say that they have changed.
"""

import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.catalogue import load
from sciops.data.rows import check_fields
from sciops.data.samples import task_of, variables_of
from sciops.data.schema import canonical, digest, digest_of
from sciops.data.store import SPLITS, open_store
from sciops.domains.checking import parts_of, shared_samples
from sciops.domains.recipe import Recipe
from sciops.evaluation.grids import same_points, trained_grid, unit_grid
from sciops.task import Field, Task, task_as_dict

if TYPE_CHECKING:
    import xarray as xr

VAL_SHARE = 10  # of the training samples, one in so many validates where no split does
ROUNDING = 1e-5  # that machines may differ by, relatively, in what the same solver makes


def whole(value, name: str, *, least: int = 1) -> int | None:
    """A whole number of Python or numpy as one of Python; None as it is.

    >>> whole(np.int64(3), "epochs"), whole(None, "epochs")
    (3, None)
    """
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least or isinstance(value, bool):
        raise ValueError(f"{name}={value!r} must be a whole number ≥ {least}")
    return number


def task_to_be(name: str, resolution: int, parameters: Mapping[str, Any]) -> Task:
    """The task of data that are still to be generated."""
    import xarray as xr

    recipe = Recipe(name, resolution, 0, parameters)
    points = {"sample": np.empty(0), **recipe.coordinates}
    fields = {
        name: (("sample", *v.dims), np.empty([len(points[d]) for d in ("sample", *v.dims)]))
        for name, v in recipe.variables.items()
    }
    return task_of(xr.Dataset(fields, points, recipe.attrs))


def generated(
    name: str,
    resolution: int,
    counts: Mapping[str, int],
    parameters: Mapping[str, Any],
    *,
    seed: int = 0,
    progress: bool = True,
) -> tuple["xr.DataTree", dict[str, Any]]:
    """Data of our own solvers and their description."""
    numbers = {f"n_{split}": n for split, n in counts.items()}
    tree = load(name, resolution=resolution, seed=seed, progress=progress, **numbers, **parameters)
    return tree, {**numbers, "seed": seed, "parameters": dict(parameters)}


def given(
    data: "xr.DataTree | Mapping[str, xr.Dataset] | str | Path", counts: Mapping[str, int | None]
) -> tuple["xr.DataTree", dict[str, Any]]:
    """Someone's data, at most `counts` samples of each split, and their description.

    data: a store, a tree with train and test, or {"train": Dataset, "test": Dataset}; where there
          is no val, the last tenth of train becomes it
    """
    splits = {name: child.to_dataset() for name, child in as_tree(data).children.items()}
    missing = [split for split in ("train", "test") if split not in splits]
    if missing:
        raise ValueError(
            f"the data have no split {' and no '.join(missing)}, only {', '.join(splits) or 'none'}"
            "; sciops.from_arrays(…, split=…) and sciops.read(…, split=…) make them"
        )
    task = task_of(splits["train"].transpose("sample", "time", ..., missing_dims="ignore"))
    splits = {name: _checked(splits[name], task, name) for name in SPLITS if name in splits}
    if "val" not in splits:
        splits["train"], splits["val"] = _divided(splits["train"])
    splits = {name: _first(splits[name], counts.get(name), name) for name in SPLITS}
    for name, ds in splits.items():
        _expect_numbers(ds, task, name)
    _warn_of_shared(splits)
    numbers = {f"n_{name}": ds.sizes["sample"] for name, ds in splits.items()}
    origin = str(Path(data).resolve()) if isinstance(data, str | Path) else None
    found = {"given": origin, "fingerprint": fingerprint(splits, task)}
    return _labelled(splits, {}), numbers | found


def as_tree(data) -> "xr.DataTree":
    """A store, a tree or a dict of data sets as a tree."""
    import xarray as xr

    if isinstance(data, str | Path):
        data = open_store(data)
    if isinstance(data, xr.DataTree):
        return _labelled({name: c.to_dataset() for name, c in data.children.items()}, data.attrs)
    if isinstance(data, Mapping) and data:
        first, *others = data.values()
        if all(isinstance(ds, xr.Dataset) for ds in (first, *others)):
            return _labelled(data, first.attrs)
    raise ValueError(
        f"data={type(data).__name__} must be a zarr store, an xarray.DataTree with the splits "
        "train and test, or a dict of them; sciops.from_arrays makes one of arrays"
    )


def _labelled(splits: Mapping[str, "xr.Dataset"], attrs: Mapping[str, Any]) -> "xr.DataTree":
    import xarray as xr

    labelled = {name: ds.assign_attrs({**attrs, **ds.attrs}) for name, ds in splits.items()}
    return xr.DataTree.from_dict(labelled)


def _checked(ds: "xr.Dataset", task: Task, split: str) -> "xr.Dataset":
    """A split with all that the task needs, on its grid, samples first and then time."""
    try:
        check_fields(ds, task)
        same = same_points(unit_grid(task, ds), trained_grid(task))
    except ValueError as error:
        raise ValueError(f"the split {split!r}: {error}") from None
    if not same:
        raise ValueError(
            f"the split {split!r} lies on another grid than 'train'; train on one grid, and give "
            "the other to run.evaluate(data) or run.transfer(data={64: dataset})"
        )
    return ds.transpose("sample", "time", *(a.name for a in task.axes), ..., missing_dims="ignore")


def _divided(train: "xr.Dataset") -> tuple["xr.Dataset", "xr.Dataset"]:
    n = train.sizes["sample"]
    kept = n - max(n // VAL_SHARE, 1)
    if kept < 1:
        raise ValueError("one training sample cannot be divided into train and val; give more")
    return train.isel(sample=slice(kept)), train.isel(sample=slice(kept, None))


def _first(ds: "xr.Dataset", count: int | None, split: str) -> "xr.Dataset":
    count = whole(count, f"n_{split}")
    if count is not None and count > ds.sizes["sample"]:
        raise ValueError(
            f"n_{split}={count}, but the data have {ds.sizes['sample']} {split} samples"
        )
    return ds.isel(sample=slice(count))


def _expect_numbers(ds: "xr.Dataset", task: Task, split: str) -> None:
    for name in variables_of(task):
        wrong = ~_by_sample(ds[name], lambda part: np.isfinite(part).all(1))
        if wrong.any():
            which = ", ".join(map(str, np.flatnonzero(wrong)[:5]))
            raise ValueError(
                f"{name!r} of {split} has NaN or infinite values in {wrong.sum()} of {len(wrong)} "
                f"samples (the first are number {which}); leave them out, as with "
                "ds.isel(sample=good), or repair them"
            )
    zero = np.all([_is_zero(ds, field) for field in task.targets], axis=0)
    if zero.any():
        which = ", ".join(map(str, np.flatnonzero(zero)[:5]))
        raise ValueError(
            f"the targets of {split} are 0 everywhere in {zero.sum()} of {len(zero)} samples (the "
            f"first are number {which}), so that no error is relative to them; leave them out, as "
            "with ds.isel(sample=good)"
        )


def _is_zero(ds: "xr.Dataset", field: Field) -> np.ndarray:  # (sample,)
    values = ds[field.variable]
    if field.frames is not None:
        values = values.isel(time=slice(*field.frames))
    return ~_by_sample(values, lambda part: part.any(1))


def _by_sample(variable: "xr.DataArray", look: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """What a look at samples (n, points) says of each, some samples at a time."""
    found = [look(part.reshape(len(part), -1)) for part in parts_of(variable)]
    return np.concatenate(found) if found else np.empty(0, bool)


def _warn_of_shared(splits: Mapping[str, "xr.Dataset"]) -> None:
    for (one, other), count in shared_samples(splits).items():
        warnings.warn(
            f"{count} of the {splits[other].sizes['sample']} samples of {other} are also in {one}: "
            "errors of samples that were learned say nothing about others; divide the samples, as "
            "sciops.from_arrays(…, split=…) does",
            stacklevel=3,
        )


def fingerprint(splits: Mapping[str, "xr.Dataset"], task: Task) -> str:
    """Of the task and the numbers that it uses, whatever they are stored in."""
    parts = [digest(canonical(task_as_dict(task)))]
    for split, ds in sorted(splits.items()):
        for name in variables_of(task):
            values = ds[name]
            numbers = digest_of(np.ascontiguousarray(part).data for part in parts_of(values))
            parts += [split, name, str(values.dtype), str(values.shape), numbers]
    return digest("\n".join(parts).encode())


def marks(tree: "xr.DataTree") -> dict[str, float]:
    """The root mean square of every variable in the first sample of each split.

    Another solver or default changes them; rounding, in which machines differ, hardly.
    """
    return {
        f"{split}.{name}": math.sqrt(np.square(variable[0].values.astype(float)).mean())
        for split, child in tree.children.items()
        for name, variable in child.data_vars.items()
    }


def expect_marks(tree: "xr.DataTree", known: Mapping[str, float]) -> "xr.DataTree":
    """A tree, if it has the marks of the data that a run was trained on; {} if none were kept."""
    found = marks(tree) if known else {}
    for name in {**known, **found}:
        there, here = known.get(name, math.nan), found.get(name, math.nan)
        if not math.isclose(there, here, rel_tol=ROUNDING):
            raise ValueError(
                f"these are other data than those this run was trained on ({name} has a root mean "
                f"square of {here:g} instead of {there:g}): a default or a solver of sciops has "
                "changed since, or they are not its own; train again with another out=…, or judge "
                "it on the data you mean: run.evaluate(data)"
            )
    return tree


def same_given(data, description: Mapping[str, Any]) -> "xr.DataTree":
    """Given data, if they are those of the description."""
    tree, found = given(data, {split: description[f"n_{split}"] for split in SPLITS})
    if found["fingerprint"] != description["fingerprint"]:
        is_store = isinstance(data, str | Path)
        what = f"{data} has changed since" if is_store else "these are other data than when"
        raise ValueError(
            f"{what} this run was trained; judge it on the data you mean: run.evaluate(data)"
        )
    return tree


def again(
    name: str,
    resolution: int,
    description: Mapping[str, Any],
    known: Mapping[str, float] | None = None,
    *,
    progress: bool = True,
) -> "xr.DataTree":
    """The data of a run that was opened, by their description; known: their `marks`."""
    if "fingerprint" not in description:
        counts = {split: description[f"n_{split}"] for split in SPLITS}
        parameters, seed = description["parameters"], description["seed"]
        tree, _ = generated(name, resolution, counts, parameters, seed=seed, progress=progress)
        return expect_marks(tree, known or {})
    if description["given"] is None:
        raise ValueError(
            "this run was trained on arrays that were given to it and are not kept with it; give "
            'them again: run.data = {"train": …, "test": …}; to judge it on others: '
            "run.evaluate(data)"
        )
    return same_given(description["given"], description)


def same_samples(
    name: str,
    resolutions: Sequence[int],
    description: Mapping[str, Any],
    split: str = "test",
    *,
    progress: bool = True,
) -> dict[int, "xr.Dataset"]:
    """The samples of a split on other grids; only solvers can make them."""
    if "fingerprint" in description:
        raise ValueError(
            "this run was trained on given data, which no solver can make on other grids; give "
            "them: run.transfer(data={64: dataset, 128: dataset})"
        )
    alone = {f"n_{s}": description[f"n_{s}"] if s == split else 0 for s in SPLITS}
    alone = {**description, **alone}
    made = {r: again(name, r, alone, progress=progress) for r in resolutions}
    return {r: tree[split].to_dataset() for r, tree in made.items()}
