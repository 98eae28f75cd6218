"""Which samples are for training, validation and testing.

Where there is no original split, or none is wanted (`split=None`), all samples are in `train`.
Fractions and counts are contiguous blocks in the order given, without shuffling: samples of one
file are independent draws, and the same samples are found again.  A validation set is made only if
asked for by `val=`, from the end of the training samples.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .layouts import Layout

SPLITS = ("train", "val", "test")
Part = slice | int | float  # of the samples


def parts_of_files(layout: "Layout", files, split) -> list[Mapping[str, Part]]:
    """For each file, the parts of it that become splits."""
    if isinstance(split, str) and split != "original":
        names = ", ".join(map(repr, ("original", *layout.searches)))
        raise ValueError(f"split={split!r} must be one of {names}, None or {{split: part}}")
    if not isinstance(split, str | Mapping | None):
        raise ValueError(f"split={split!r} must be {{split: fraction, count or slice}}")
    if isinstance(split, Mapping):
        if len(files) > 1:
            raise ValueError("several files are splits already; give one file to split it anew")
        return [split]
    roles = [role or _role_in_name(layout, path, len(files)) for role, path in files]
    if roles == [None]:
        return [{"train": slice(None)} if split is None else layout.splits]
    if len(set(roles)) < len(roles) or None in roles:
        raise ValueError(
            f"{len(roles)} files are for the splits {roles}; say which is which by "
            "{'train': file, 'test': file}"
        )
    limits = {} if split is None or not layout.files else layout.splits
    return [{role: limits.get(role, slice(None))} for role in roles]


def _role_in_name(layout: "Layout", path: Path | None, count: int) -> str | None:
    for mark, role in layout.files.items():
        if path is not None and mark in path.name.lower():
            return role
    return "train" if layout.files and count == 1 else None


def shares_of(n: int, parts: Mapping[str, Part]) -> dict[str, range]:
    """The samples, of n, in each split; none is in two."""
    if not parts or set(parts) - set(SPLITS):
        raise ValueError(f"splits are {', '.join(SPLITS)}; got {list(parts)}")
    taken, shares, place = np.zeros(n, bool), {}, 0.0
    for name, part in parts.items():
        share = part
        if not isinstance(part, slice):
            length = _length(name, part, n)
            share = slice(round(place), round(place + length))
            place += length
        ends = [end for end in (share.start, share.stop) if end is not None]
        shares[name] = range(n)[share]
        if any(abs(end) > n for end in ends) or not shares[name] or shares[name].step < 0:
            raise ValueError(f"{name} should be the samples {share}, but there are {n}")
        if taken[share].any():
            raise ValueError(
                f"{name}, the samples {share}, overlaps another split; there are {n} samples"
            )
        taken[share] = True
    return shares


def _length(name: str, part, n: int) -> float:
    """Samples in a fraction (a float, at most 1) or a count (an int)."""
    is_fraction = isinstance(part, float | np.floating)
    is_number = is_fraction or (isinstance(part, int | np.integer) and not isinstance(part, bool))
    if not is_number or not part > 0 or (is_fraction and part > 1):
        raise ValueError(f"{name}={part!r} should be a fraction ≤ 1, a count or a slice")
    return float(part) * n if is_fraction else int(part)


def with_validation(shares: dict[str, range], val: int | float | None) -> dict[str, range]:
    if val is None or "train" not in shares:
        return shares
    if "val" in shares:
        raise ValueError(f"val={val!r} is asked for, and the split has a 'val' already")
    train = shares["train"]
    count = round(_length("val", val, len(train)))
    if not 0 < count < len(train):
        raise ValueError(f"val={val!r} should leave some of the {len(train)} training samples")
    return {**shares, "train": train[:-count], "val": train[-count:]}
