"""The verbs of data: `datasets`, `generate`, `load`, `read`.  Nothing is ever downloaded."""

import os
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from .domains import DOMAINS, ONLY_READ, domain_named
from .domains.domain import Domain
from .suggestions import did_you_mean, expect_options

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# of data that are no fields
PACKAGES = {"protein": "proteins", "music": "music", "cosmic": "cosmic", "vision": "vision"}
NOT_GENERATED = ("vision",)  # of which there are so many as there are
COUNTS = {"train": 1000, "val": 100, "test": 100}  # samples of the others
HASHED_BYTES = 2**30  # a kept store up to this size is hashed before it is used again


def datasets() -> "pd.DataFrame":
    """What `generate`, `load` and `read` know, as a table.

    >>> list(datasets().index)
    ['burgers', 'darcy', 'navier_stokes', 'protein', 'music', 'cosmic', 'vision']
    """
    import pandas as pd

    rows = {name: _row(domain_named(name)) for name in DOMAINS}
    rows |= {name: _made(name).TABLE for name in PACKAGES}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("name")


def _row(known: Domain) -> dict[str, str]:
    return {
        "title": known.title,
        "equation": known.equation,
        "inputs": ", ".join(f.variable for f in known.inputs),
        "targets": ", ".join(f.variable for f in known.targets),
        "axes": ", ".join(known.boundary_conditions),
        "parameters": _signature(known),
    }


def _signature(known: Domain) -> str:
    return ", ".join(f"{k}={v}" for k, v in known.parameters.items() if v is not None)


def data_dir() -> Path:
    """Where generated data are kept: $SCIOPS_DATA_DIR, or the user's cache directory."""
    from platformdirs import user_cache_path

    return Path(os.environ.get("SCIOPS_DATA_DIR") or user_cache_path("sciops")).expanduser()


def generate(
    name: str,
    n: int = 64,
    *,
    resolution: int | None = None,
    seed: int = 0,
    n_val: int = 0,
    n_test: int = 0,
    out: str | Path | None = None,
    workers: int | None = None,
    scheduler=None,
    progress: bool = True,
    overwrite: bool = False,
    **parameters,
) -> "xr.Dataset | xr.DataTree":
    """Solve the equation of `name` for n random samples.

    Sample k is the same function whatever n, the resolution or the number of workers.

    out:        a zarr store to write, with the splits train (n samples), val and test; what is
                returned is then the opened store.  An interrupted call goes on where it stopped.
    workers:    threads; None is one for each core
    scheduler:  address of a Dask scheduler (or a Client) that shares the file system of `out`
    parameters: of the equation, see `sciops.datasets()`

    >>> generate("darcy", n=2, resolution=17, progress=False)["u"].sizes
    Frozen({'sample': 2, 'x': 17, 'y': 17})
    """
    if name in PACKAGES:
        _expect_no_resolution(name, resolution, scheduler, workers)
        counts = {"train": n, "val": n_val, "test": n_test}
        if out is None and (n_val or n_test):
            raise ValueError("n_val and n_test need a store to write: give out='….zarr'")
        how = dict(out=out, overwrite=overwrite, seed=seed, progress=progress)
        return _made(name).generated(counts, **how, **parameters)
    from .domains.recipe import Recipe

    _expect_known(name)
    recipe = Recipe(name, resolution, seed, parameters)
    counts = {"train": n, "val": n_val, "test": n_test}
    if out is not None:
        from .data.generation import build
        from .data.store import open_store

        running = dict(workers=workers, scheduler=scheduler, progress=progress, overwrite=overwrite)
        build(
            Path(out), recipe.spec(counts), recipe.make_block, block=recipe.domain.block, **running
        )
        return open_store(out)
    if scheduler is not None or n_val or n_test:
        raise ValueError("n_val, n_test and scheduler need a store to write: give out='….zarr'")
    return recipe.in_memory(n, workers=workers, progress=progress)


def load(
    name: str,
    *,
    resolution: int | Sequence[int] | None = None,
    n_train: int | None = None,
    n_val: int | None = None,
    n_test: int | None = None,
    seed: int = 0,
    progress: bool = True,
    **parameters,
) -> "xr.DataTree":
    """A data set with the splits train, val and test; generated on first use, then kept.

    resolution: one, or several of the *same* samples; the tree then has a branch for each,
                `tree["64/train"]`
    n_train, n_val, n_test: None are 1000, 100 and 100; of "vision", whose images are not generated,
                all that there are
    parameters: see `sciops.datasets()`
    """
    if isinstance(resolution, Iterable) and not isinstance(resolution, str):
        import xarray as xr

        one = partial(load, name, n_train=n_train, n_val=n_val, n_test=n_test, seed=seed)
        trees = {str(r): one(resolution=r, progress=progress, **parameters) for r in resolution}
        if not trees:
            raise ValueError("resolution=[] is empty; give at least one, or None for the default")
        return xr.DataTree(children=trees)
    counts = {"train": n_train, "val": n_val, "test": n_test}
    if name not in NOT_GENERATED:
        counts = {split: COUNTS[split] if n is None else n for split, n in counts.items()}
    if name in PACKAGES:
        _expect_no_resolution(name, resolution)
        folder = data_dir() / name
        return _made(name).kept(folder, counts, seed=seed, progress=progress, **parameters)
    from .domains.recipe import Recipe

    _expect_known(name)
    recipe = Recipe(name, resolution, seed, parameters)
    spec = recipe.spec(counts)
    path = data_dir() / name / f"{recipe.resolution}-{spec.fingerprint()[:16]}.zarr"
    return _kept(path, recipe, spec, progress)


def _expect_known(name: str) -> None:
    """ValueError for a name that no data have, whatever they are."""
    known = [*DOMAINS, *PACKAGES]
    if name not in (*known, *ONLY_READ):
        raise ValueError(
            f"there is no data set {name!r}; there are {', '.join(known)}, and to be read from "
            f"files only {', '.join(ONLY_READ)}{did_you_mean(name, [*known, *ONLY_READ])}"
        )


def _made(name: str):
    """The module with `TABLE`, `generated` and `kept` of data that are no fields."""
    return import_module(f".{PACKAGES[name]}.kept", __package__)


def _expect_no_resolution(name: str, *of_fields) -> None:
    if any(value is not None for value in of_fields):
        raise ValueError(
            f"{name} has no resolution, workers or scheduler to choose; what may be given is "
            f"{_made(name).TABLE['parameters']}"
        )


def _kept(path: Path, recipe, spec, progress: bool) -> "xr.DataTree":
    """The store at `path`; one that is missing or damaged is generated (again)."""
    from .data.generation import build, tidy
    from .data.store import StoreError, open_store

    damaged = False
    if path.exists():
        try:
            size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            tree = open_store(path, full=size <= HASHED_BYTES)
            tidy(path)
            return tree
        except StoreError as error:
            warnings.warn(f"{error}; it is generated again", stacklevel=3)
            damaged = True
    how = dict(block=recipe.domain.block, progress=progress, overwrite=damaged)
    build(path, spec, recipe.make_block, check=partial(_expect_good, recipe.domain.name), **how)
    return open_store(path)


def _expect_good(name: str, store: Path) -> None:
    from .data.store import open_store
    from .domains.checking import check

    tree = open_store(store)
    report = check(tree)
    tree.close()
    if not report:
        raise RuntimeError(
            f"the generated {name} data fail their own check: {report.failures}; the "
            "resolution or the parameters are probably beyond what solver and check were made for, "
            "and nothing was kept; sciops.generate(…, out=…) writes them all the same"
        )


def read(
    name: str, paths, *, out: str | Path | None = None, overwrite: bool = False, **options
) -> "xr.DataTree":
    """Read the field's own files: FNO's .mat, neuraloperator's .pt, PDEBench's HDF5, or your own.

    paths:   a file, a list of files, or {variable: file}; of "protein" PDNET's folder, one with
             alignments/ and structures/, or {name: (alignment, structure)}, and the options are
             those of `sciops.proteins.collection.read_tree`; of "music" a .mat file of piano rolls,
             or arrays {"train": […], "val": […], "test": […]}; of "cosmic" deepCR's folder, FITS
             files of one field, or {field: files}, and the options are those of
             `sciops.cosmic.collection.read_tree`; of "vision" files and options of
             `sciops.vision.collection.read_tree`
    out:     a zarr store to write; what is returned is then the opened store
    options: of `sciops.domains.reading.read_layout`, above all
             fields={"a": "coeff", "u": "sol"} (our variable: the file's), coords=, resolution=,
             split=, parameters=

    The data are checked; what looks wrong is a warning, because they are yours to judge.
    """
    if name in PACKAGES:
        collection = import_module(f".{PACKAGES[name]}.collection", __package__)
        expect_options(f"reading {name}", options, collection.read_tree)
        return _arrived(collection.read_tree(paths, **options), out, overwrite)
    from .domains.reading import read_layout

    _expect_known(name)
    expect_options(f"reading {name}", options, read_layout)
    return _arrived(read_layout(name, paths, **options), out, overwrite)


def from_arrays(
    name: str, arrays, *, out: str | Path | None = None, overwrite: bool = False, **options
) -> "xr.DataTree":
    """Your own arrays as labelled data: `from_arrays("darcy", {"a": a, "u": u})`.

    options: of `sciops.domains.labelling.from_arrays`: coords=, parameters=, split=
    """
    from .domains import labelling

    expect_options("from_arrays", options, labelling.from_arrays)
    return _arrived(labelling.from_arrays(name, arrays, **options), out, overwrite)


def _arrived(tree: "xr.DataTree", out: str | Path | None, overwrite: bool) -> "xr.DataTree":
    from .domains.checking import check

    for failure in check(tree).failures:
        warnings.warn(failure, stacklevel=3)
    if out is None:
        return tree
    dims = {dim for split in tree.children.values() for dim in split.dims}
    if "stamp" in dims:
        from .cosmic.stamps import open_stamps, write_stamps

        return open_stamps(write_stamps(out, tree, overwrite=overwrite))
    if {"protein", "piece"} & dims:
        from .data.ragged_store import open_ragged, write_ragged

        return open_ragged(write_ragged(out, tree, overwrite=overwrite))
    from .data.store import open_store, write

    write(out, tree, overwrite=overwrite)
    return open_store(out)
