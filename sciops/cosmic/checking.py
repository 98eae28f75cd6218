"""Are these stamps what they say they are?  Values, masks, leaks between splits."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from sciops.domains.checking import Finding, finding

from .stamps import unpacked

if TYPE_CHECKING:
    import xarray as xr

MOST = (
    0.05  # share of the counted pixels of a split that are hit; more is no exposure but a mistake
)
READ_AT_ONCE = 256  # stamps


def check_cosmic(splits: Mapping[str, "xr.Dataset"]) -> list[Finding]:
    """A line for the images and one for the masks of each split, and one for all of them."""
    splits = {split: unpacked(ds) for split, ds in splits.items()}
    findings = []
    for split, ds in splits.items():
        wrong = list(_image_problems(ds))
        findings.append(finding("images", split, wrong, "finite, and no stamp twice"))
        wrong = list(_mask_problems(ds))
        findings.append(finding("masks", split, wrong, "0 or 1, and some pixels are hit"))
    if len(splits) > 1:
        problems = [*_places_twice(splits), *_images_twice(splits)]
        findings.append(finding("leaks", "all", problems, "no place and no image in two splits"))
    return findings


def _parts(variable: "xr.DataArray") -> Iterator[np.ndarray]:
    for start in range(0, len(variable), READ_AT_ONCE):
        yield variable[start : start + READ_AT_ONCE].values


def _image_problems(ds: "xr.Dataset") -> Iterator[str]:
    bad = sum(int((~np.isfinite(part)).any((1, 2)).sum()) for part in _parts(ds["image"]))
    if bad:
        yield f"{bad} of {ds.sizes['stamp']} images have NaN or infinite values"
    if not np.isfinite(ds["sky"].values).all():
        yield "the level of the sky is not finite everywhere"
    twice = ds.sizes["stamp"] - len(set(_digests(ds)))
    if twice:
        yield f"{twice} images repeat others"


def _mask_problems(ds: "xr.Dataset") -> Iterator[str]:
    hit = counted = 0
    for mask, ignore in zip(_parts(ds["mask"]), _parts(ds["ignore"]), strict=True):
        if mask.max() > 1 or ignore.max() > 1:
            yield f"a mask has the value {max(mask.max(), ignore.max())}, expected 0 or 1"
            return
        counted += int((ignore == 0).sum())
        hit += int(((mask != 0) & (ignore == 0)).sum())
    if not counted:
        yield "all pixels are to be ignored"
    elif not 0 < hit <= MOST * counted:
        yield (
            f"{hit / counted:.2%} of the pixels are cosmic rays, expected some and at most "
            f"{MOST:.0%}; were exposures compared that do not show the same field?"
        )


def _places_twice(splits: Mapping[str, "xr.Dataset"]) -> Iterator[str]:
    seen: dict[tuple, str] = {}
    for split, ds in splits.items():
        columns = (ds[name].values.tolist() for name in ("field", "row", "column"))
        for place in dict.fromkeys(zip(*columns, strict=True)):
            if seen.setdefault(place, split) != split:
                field, row, column = place
                yield f"{field!r} at ({row}, {column}) is in {seen[place]} and in {split}"
                return  # one is enough


def _images_twice(splits: Mapping[str, "xr.Dataset"]) -> Iterator[str]:
    seen: dict[bytes, tuple[str, int]] = {}
    for split, ds in splits.items():
        for number, digest in enumerate(_digests(ds)):
            where, other = seen.setdefault(digest, (split, number))
            if where != split:
                yield f"stamp {number} of {split} is stamp {other} of {where}"
                return


def _digests(ds: "xr.Dataset") -> list[bytes]:
    return [
        hashlib.blake2b(np.ascontiguousarray(image), digest_size=16).digest()
        for part in _parts(ds["image"])
        for image in part
    ]
