"""CIFAR-10 and CIFAR-100 as their authors publish them: pickled dictionaries, read without pickle.

    data           (n, 3072) uint8: 1024 red, then green, then blue values, rows of 32 from the top
    labels         n numbers of classes; of CIFAR-100 `fine_labels`

`sciops.data.plain_pickle` gives arrays, text, numbers and lists, and refuses everything else.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from sciops.data.found import ReadError
from sciops.data.plain_pickle import load_plain

from .images import Labelled, as_images

SHAPE = (3, 32, 32)


class Layout(NamedTuple):
    """Files of a collection, and the names in them."""

    title: str
    files: dict[str, tuple[str, ...]]
    meta: str
    labels: str
    names: str


LAYOUTS = (
    Layout(
        "CIFAR-10",
        {"train": tuple(f"data_batch_{k}" for k in range(1, 6)), "test": ("test_batch",)},
        "batches.meta",
        "labels",
        "label_names",
    ),
    Layout(
        "CIFAR-100",
        {"train": ("train",), "test": ("test",)},
        "meta",
        "fine_labels",
        "fine_label_names",
    ),
)


def find_cifar(folder: Path) -> Layout | None:
    """Which of the collections a folder holds, by its file of names."""
    return next((layout for layout in LAYOUTS if (folder / layout.meta).is_file()), None)


def read_cifar(folder: Path, layout: Layout) -> tuple[dict[str, Labelled], list[str]]:
    """Train and test, and the names of the classes."""
    classes = _member(folder / layout.meta, layout.names, list)
    if not all(isinstance(name, str) for name in classes):
        raise ReadError(f"{folder / layout.meta}: {layout.names} must be text")
    splits = {}
    for split, files in layout.files.items():
        parts = [_read_batch(folder / name, layout.labels) for name in files]
        images, labels = (np.concatenate(side) for side in zip(*parts, strict=True))
        splits[split] = Labelled(images, labels)
    return splits, classes


def _read_batch(path: Path, key: str) -> Labelled:
    pixels, labels = _member(path, "data", np.ndarray), _member(path, key, list)
    if pixels.dtype != np.uint8 or pixels.shape != (len(labels), np.prod(SHAPE)):
        raise ReadError(
            f"{path}: data are {pixels.dtype} {pixels.shape}, expected uint8 "
            f"({len(labels)}, {np.prod(SHAPE)}), a row for each of the labels"
        )
    if not labels or not all(type(label) is int for label in labels):
        raise ReadError(f"{path}: {key} must be whole numbers, at least one")
    return as_images(pixels.reshape(-1, *SHAPE), np.array(labels, np.int64), str(path))


def _member(path: Path, key: str, kind: type) -> object:
    """A member of the dictionary in a file; Python 2 wrote its keys as text, 3 reads them so."""
    if not path.is_file():
        raise ReadError(f"there is no {path}; unpack the whole archive, cifar-…-python.tar.gz")
    value = load_plain(path, "a batch")
    members = {} if not isinstance(value, dict) else value
    found = members.get(key, members.get(key.encode()))
    if not isinstance(found, kind):
        raise ReadError(
            f"{path} should hold a dictionary with {key!r}, a {kind.__name__}; it has "
            f"{', '.join(map(repr, members)) or type(value).__name__}"
        )
    return found
