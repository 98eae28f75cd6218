"""Collections of images as trees with train, val and test: scikit-learn's digits, or your files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.data.found import ReadError
from sciops.suggestions import meant_option

from .cifar import find_cifar, read_cifar
from .folders import read_folder
from .idx import find_idx, read_pair
from .images import Labelled, as_dataset, as_images, as_tree
from .splits import SHARES, divided
from .tables import read_table
from .variants import varied

if TYPE_CHECKING:
    import xarray as xr

DIGITS = {
    "title": "Handwritten digits, 8 × 8",
    "source": "scikit-learn's load_digits: the test part of UCI's optical recognition of digits",
}
OWN = {"title": "Images of the user", "source": "arrays of the user"}
VALIDATION = 0.1  # of training images
UNDIVIDED = "all"  # images of which nobody says what they are for


def digits_tree() -> "xr.DataTree":
    """scikit-learn's 1797 digits, divided by `sciops.vision.splits`."""
    try:
        from sklearn import datasets
    except ImportError:
        raise ImportError(
            "the digits come with scikit-learn, which is not installed: pip install sciops[digits]"
        ) from None
    bunch = datasets.load_digits()
    data = as_images(bunch.images, bunch.target, "digits", brightest=16)
    return tree_of({UNDIVIDED: data}, {**DIGITS, "classes": [str(k) for k in range(10)]})


def read_tree(
    paths: str | Path | Mapping[str, tuple[Any, Any]],
    *,
    split: Mapping[str, float | int] | None = None,
    val: float | int | None = VALIDATION,
    variant: str = "plain",
    seed: int = 0,
    classes: Sequence[str] | None = None,
    **options,
) -> "xr.DataTree":
    """Images and classes of others.

    paths:   a folder with MNIST's IDX files, with CIFAR's batches, or with a folder of images for
             each class; a table of pixels, .csv or .csv.gz; or arrays of your own,
             {"train": (images, labels), "test": …}, or {"all": (images, labels)} to be divided
    split:   {"train": 0.7, "val": 0.1, "test": 0.2}, fractions or counts, where files have no own
    val:     fraction or count of the training images that validate, where files say only what
             trains and tests; None: none
    variant: see `sciops.vision.variants`; seed: of its permutations or rotations
    classes: their names; None are those of the files, or numbers
    options: of `read_table` (label, shape, brightest), `read_folder` (size) or, for arrays,
             `as_images` (brightest)
    """
    try:
        data, names, attrs = _read(paths, options)
    except TypeError as error:
        hint = meant_option(error, read_tree, read_table, read_folder, as_images)
        raise ValueError(f"{paths} does not take these options: {error}{hint}") from None
    if classes is not None:
        names = [str(name) for name in classes]
    if names is None:
        names = [str(k) for k in range(max(int(part.labels.max()) for part in data.values()) + 1)]
    tree = tree_of(data, {**attrs, "classes": list(names)}, split=split, val=val)
    return varied(tree, variant, seed=seed)


def _read(paths, options: dict) -> tuple[dict[str, Labelled], list[str] | None, dict[str, str]]:
    """Images by what they are for, names of classes if the files have them, title and source."""
    if isinstance(paths, Mapping):
        data = {name: as_images(*pair, name, **options) for name, pair in paths.items()}
        return data, None, OWN
    if not isinstance(paths, str | Path):
        raise ValueError(f"images are in one file, one folder or arrays; got {paths!r}")
    path = Path(paths)
    attrs = {"title": path.name.removesuffix(".gz").removesuffix(".csv"), "source": path.name}
    if path.is_file():
        return {UNDIVIDED: read_table(path, **options)}, None, attrs
    if not path.is_dir():
        raise ReadError(f"there is no file or folder {path}; check the path")
    pairs, cifar = find_idx(path), find_cifar(path)
    if (pairs or cifar) and options:
        raise ValueError(f"{path} does not take {', '.join(options)}")
    if pairs:
        return {split: read_pair(*pair) for split, pair in pairs.items()}, None, attrs
    if cifar:
        return *read_cifar(path, cifar), {**attrs, "title": cifar.title}
    return *read_folder(path, **options), attrs


def tree_of(
    data: Mapping[str, Labelled],
    attrs: Mapping[str, Any],
    *,
    split: Mapping[str, float | int] | None = None,
    val: float | int | None = VALIDATION,
) -> "xr.DataTree":
    """Train, val and test; samples are numbered through the data in the order given."""
    unknown = set(data) - {*SHARES, UNDIVIDED}
    if not data or unknown or (UNDIVIDED in data and len(data) > 1):
        raise ValueError(
            f"images are for {', '.join(SHARES)}, or {UNDIVIDED!r} alone; got {', '.join(data)}"
        )
    shapes = {name: part.images.shape[1:] for name, part in data.items()}
    if len(set(shapes.values())) > 1:
        raise ValueError(f"images must have one shape (channel, y, x), got {shapes}")
    made, start = {}, 0
    for name, part in data.items():
        for which, places in _places(name, part, split, val, "val" not in data).items():
            chosen = Labelled(part.images[places], part.labels[places])
            made[which] = as_dataset(chosen, start + places, attrs)
        start += len(part.labels)
    return as_tree({name: made[name] for name in SHARES if name in made})


def _places(name: str, part: Labelled, split, val, no_val: bool) -> dict[str, np.ndarray]:
    """Which images of a part are for what."""
    n = len(part.labels)
    if name == UNDIVIDED:
        return divided(part, SHARES if split is None else split)
    if split is not None:
        raise ValueError("the files say what trains and tests; leave split out, or choose val")
    if name == "train" and no_val and val is not None:
        count = round(val * n) if isinstance(val, float) else val
        if not isinstance(count, int) or isinstance(count, bool) or not 0 < count < n:
            raise ValueError(f"val={val!r} must leave some of the {n} training images")
        return divided(part, {"val": count, "train": n - count})
    return {name: np.arange(n)}
