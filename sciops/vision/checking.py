"""Are these images and classes what they say they are?  Values, labels, leaks between splits."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from sciops.domains.checking import Finding, finding

from .images import image_task

if TYPE_CHECKING:
    import xarray as xr

SHOWN = 3  # problems of a kind


def check_vision(splits: Mapping[str, "xr.Dataset"]) -> list[Finding]:
    """Lines for each split, and one for all of them."""
    findings = []
    for split, ds in splits.items():
        try:
            image_task(ds)
        except ValueError as error:
            return [*findings, Finding("schema", split, False, str(error))]
        findings.append(finding("images", split, list(_image_problems(ds)), "in [0, 1]"))
        trains = split in ("train", "data")
        labels = list(_label_problems(ds, every=trains))
        findings.append(finding("labels", split, labels, "numbers of classes"))
    if len(splits) > 1:
        findings.append(finding("leaks", "all", _leaks(splits), "no image is in two splits"))
    return findings


def _image_problems(ds: "xr.Dataset") -> Iterator[str]:
    images = ds["image"].values
    if images.dtype != np.float32:
        yield f"images are {images.dtype}, expected float32"
    low, high = images.min(), images.max()
    if not (low >= 0 and high <= 1):
        yield f"values reach from {low:g} to {high:g}, expected 0 to 1"
    empty = int((np.ptp(images.reshape(len(images), -1), axis=1) == 0).sum())
    if empty:
        yield f"{empty} images are of one brightness everywhere"


def _label_problems(ds: "xr.Dataset", *, every: bool) -> Iterator[str]:
    labels, classes = ds["label"].values, ds.attrs["classes"]
    if labels.dtype != np.int64:
        yield f"labels are {labels.dtype}, expected int64"
    if labels.min() < 0 or labels.max() >= len(classes):
        yield (
            f"labels reach from {labels.min()} to {labels.max()}, but there are {len(classes)} "
            "classes"
        )
    missing = [name for k, name in enumerate(classes) if k not in labels]
    if every and missing:
        yield f"there is no image of {', '.join(missing)}"
    seen: dict[bytes, int] = {}
    pairs = zip(_hashes(ds), labels.tolist(), strict=True)
    contradictions = sum(seen.setdefault(image, label) != label for image, label in pairs)
    if contradictions:
        yield f"{contradictions} images have another label elsewhere"


def _leaks(splits: Mapping[str, "xr.Dataset"]) -> list[str]:
    """Equal images and equal numbers in two splits."""
    where: dict[bytes | int, str] = {}
    shared: Counter[tuple[str, str]] = Counter()
    for split, ds in splits.items():
        for key in (*_hashes(ds), *ds["sample"].values.tolist()):
            first = where.setdefault(key, split)
            if first != split:
                shared[first, split, "images" if isinstance(key, bytes) else "numbers"] += 1
    problems = [f"{a} and {b} share {n} {what}" for (a, b, what), n in shared.items()]
    return problems[:SHOWN]


def _hashes(ds: "xr.Dataset") -> list[bytes]:
    images = np.ascontiguousarray(ds["image"].values)
    return [hashlib.blake2b(image, digest_size=16).digest() for image in images]
