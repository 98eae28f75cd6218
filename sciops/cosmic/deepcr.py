"""deepCR's stamps: npy_train/ and npy_test/ with <filter>/<proposal>/<visit>/<exposure>_….npy.

A file holds (2 or 3, H, W): image in electrons, mask of cosmic rays and, if it is there, of pixels
to ignore.  sky.npy of a visit has the level of the sky of each of its exposures, which are counted
from 1 in the names of the files (Zhang & Bloom 2020, ApJ 889, 24).

A visit is one field of the sky, in whatever filter and exposure: stamps of one visit are never in
two splits.  Files are taken in the order of their names, which is the same on every machine.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sciops.data.files import read_arrays

from .stamps import Stamp

FOLDERS = {"train": "npy_train", "test": "npy_test"}
SIZE = 128
ATTRS = {
    "title": "deepCR: cosmic rays in Hubble's ACS/WFC",
    "source": "Zhang & Bloom 2020, ApJ 889, 24",
    "units": "electron",
    "gain": 1.0,
    "read_noise": None,
}


def read_deepcr(
    folder: str | Path,
    *,
    filters: Iterable[str] | None = None,
    size: int | None = SIZE,
    limit: int | None = None,
) -> tuple[dict[str, list[Stamp]], dict[str, Any]]:
    """Stamps of train, val and test, and what they are.

    filters: such as ["f435w"]; None takes all
    size:    of the middle of each stamp that is kept (128 of 256, as in NAS-Bench-360, is rows and
             columns 64 … 191); None keeps all
    limit:   of stamps of a split, the first ones

    The last tenth of the visits that train validates.  Where there is only npy_train, the last
    fifth tests, and a tenth of the rest validates.
    """
    folder = Path(folder)
    files = {split: _visits(folder / name, filters) for split, name in FOLDERS.items()}
    if not files["train"]:
        raise ValueError(
            f"{folder} has no stamps {FOLDERS['train']}/<filter>/<proposal>/<visit>/*.npy"
            + (f" of the filters {', '.join(filters)}" if filters is not None else "")
            + "; give the folder in which deepCR's archives were unpacked"
        )
    if not files["test"]:
        files["train"], files["test"] = _without_last(files["train"], 5)
    files["train"], files["val"] = _without_last(files["train"], 10)
    splits = {}
    for split in ("train", "val", "test"):
        chosen = [path for visit in files[split].values() for path in visit][:limit]
        splits[split] = [_stamp(path, size) for path in chosen]
    return splits, ATTRS


def _visits(folder: Path, filters: Iterable[str] | None) -> dict[str, list[Path]]:
    """The files of each visit, both in the order of their names."""
    found = sorted(folder.glob("*/*/*/*.npy"), key=lambda path: path.relative_to(folder).parts)
    wanted = None if filters is None else set(filters)
    visits: dict[str, list[Path]] = {}
    for path in found:
        kept = wanted is None or path.parts[-4] in wanted
        if kept and path.name != "sky.npy":
            visits.setdefault(_field(path), []).append(path)
    return dict(sorted(visits.items()))


def _field(path: Path) -> str:
    return f"{path.parts[-3]}/{path.parts[-2]}"  # proposal and visit, whatever the filter


def _without_last(visits: dict[str, list[Path]], part: int) -> tuple[dict, dict]:
    """All visits but the last 1/part of them, and these."""
    if len(visits) < 2:
        raise ValueError(
            f"there is only the visit {', '.join(visits)} to train with, and a visit must not be "
            "in two splits; add others, or take more filters"
        )
    names = list(visits)
    last = max(len(names) // part, 1)
    return {n: visits[n] for n in names[:-last]}, {n: visits[n] for n in names[-last:]}


def _stamp(path: Path, size: int | None) -> Stamp:
    values = read_arrays(path)["array"]
    if values.ndim != 3 or len(values) not in (2, 3) or values.dtype.kind not in "fiu":
        raise ValueError(
            f"{path} has the shape {values.shape}; a stamp is (2 or 3, H, W): image, mask of "
            "cosmic rays and, if known, of pixels to ignore"
        )
    rows, columns = (_middle(n, size, path) for n in values.shape[1:])
    values = values[:, rows, columns]
    ignore = values[2] if len(values) == 3 else np.zeros_like(values[1])
    if not np.isin(values[1:], (0, 1)).all():
        raise ValueError(f"{path}: a mask has values other than 0 and 1; was the order changed?")
    exposure = _exposure(path)
    place = dict(field=_field(path), exposure=exposure, row=rows.start, column=columns.start)
    return Stamp(values[0], values[1], ignore, _sky(path, exposure), **place)


def _middle(n: int, size: int | None, path: Path) -> slice:
    size = n if size is None else size
    if not 0 < size <= n:
        raise ValueError(f"{path} has {n} pixels along a side; size={size} cannot be cut from it")
    start = (n - size) // 2
    return slice(start, start + size)


def _exposure(path: Path) -> int:
    number = re.match(r"(\d+)_", path.name)
    if number is None:
        raise ValueError(
            f"{path} should be called <exposure>_….npy, with a number from 1 on, which finds its "
            "sky in sky.npy"
        )
    return int(number.group(1))


def _sky(path: Path, exposure: int) -> float:
    beside = path.with_name("sky.npy")
    if not beside.exists():
        raise ValueError(f"{beside} is missing, which has the level of the sky of {path.name}")
    levels = np.ravel(read_arrays(beside)["array"])
    if not 1 <= exposure <= len(levels):
        raise ValueError(
            f"{path} is of exposure {exposure}, but {beside} has {len(levels)} levels of the sky"
        )
    return float(levels[exposure - 1])
