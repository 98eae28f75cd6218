"""Frames of a telescope as labelled tiles: several exposures of a field tell what is no star.

Of exposures of one field, with flags DQ and noise ERR, a pixel of one is labelled

    cosmic ray   where   DQ has one of `cosmic_bits`   and
                         SCI − SCI_other − median > 5 · √(ERR² + ERR_other²)

because most flags alone are a single noisy pixel.  With more than two exposures, SCI_other is the
median of all others and ERR_other the root mean square of theirs.  With only one, there are the
flags alone.  `ignore` is where DQ has one of `ignore_bits`, and where a value is not finite.

All exposures of a field show the same stars, so tiles are divided by where they are, never by
exposure: the left half of the frame trains, except for its last row of tiles, which validates, and
the right half tests.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .fits_files import Exposure, read_exposures
from .labels import is_hit, sky_level
from .stamps import Stamp

SIZE = 128
COSMIC_BITS = 8192  # of Hubble's DQ: rejected as a cosmic ray
IGNORE_BITS = 16 | 256 | 512  # hot, saturated, bad in the reference file
SAME = 0.01  # exposures may differ so much in time, relative
SPLITS = ("train", "val", "test")


def read_fits(
    paths: str | Path | Sequence[str | Path] | Mapping[str, Any],
    *,
    size: int = SIZE,
    split: str | Mapping[str, Sequence[str]] = "left-right",
    cosmic_bits: int = COSMIC_BITS,
    ignore_bits: int = IGNORE_BITS,
) -> tuple[dict[str, list[Stamp]], dict[str, Any]]:
    """Stamps of train, val and test, and what they are.

    paths: a file or a list of files, exposures of one field, or {field: file or list of files}
    size:  of the tiles that frames are cut into; what is left at the edges is not used
    split: "left-right", see above, or {"train": [field, …], "val": […], "test": […]}
    cosmic_bits: 0 leaves out the flags, so that exposures are only compared
    """
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ValueError(f"size={size!r} must be a whole number of pixels ≥ 1")
    fields = {name: _exposures(files) for name, files in _fields(paths).items()}
    splits: dict[str, list[Stamp]] = {name: [] for name in SPLITS}
    for field, exposures in fields.items():
        _check_size(field, exposures[0].image.shape, size, 2 if split == "left-right" else 1)
        for k in range(len(exposures)):
            mask = cosmic_rays(exposures, k, cosmic_bits)
            ignore = _ignored(exposures[k], ignore_bits)
            for stamp, half in _tiles(field, k, exposures[k].image, mask, ignore, size):
                splits[half if split == "left-right" else _part(field, split)].append(stamp)
    empty = [name for name, stamps in splits.items() if not stamps]
    if empty:
        raise ValueError(f"no tile is left for {empty[0]!r}; give it a field, or halve size={size}")
    return splits, _attrs(fields)


def cosmic_rays(exposures: Sequence[Exposure], k: int, bits: int = COSMIC_BITS) -> np.ndarray:
    """Where exposure k was hit, bool (H, W), by its flags and by comparison with all others."""
    own, others = exposures[k], [e for i, e in enumerate(exposures) if i != k]
    if bits and own.quality is None:
        raise ValueError(
            f"{own.name} has no extension DQ with flags of cosmic rays; cosmic_bits=0 compares "
            "exposures only"
        )
    flagged = np.full(own.image.shape, True) if not bits else (own.quality & bits) != 0
    if not others:
        if not bits:
            raise ValueError(f"{own.name} is the only exposure: there is nothing to compare with")
        return flagged
    lacking = [e.name for e in exposures if e.noise is None]
    if lacking:
        raise ValueError(
            f"{lacking[0]} has no extension ERR, the noise that exposures are compared by; add it: "
            "√(read noise² + signal) in electrons is usual"
        )
    other = np.median([e.image for e in others], axis=0)
    noise_other = np.sqrt(np.mean([e.noise**2 for e in others], axis=0))
    difference = own.image - other
    return flagged & is_hit(difference - np.nanmedian(difference), own.noise, noise_other)


def _ignored(exposure: Exposure, bits: int) -> np.ndarray:
    bad = ~np.isfinite(exposure.image)
    return bad if exposure.quality is None else bad | ((exposure.quality & bits) != 0)


def _fields(paths) -> dict[str, list[str | Path]]:
    """The files of each field."""
    if isinstance(paths, str | Path):
        paths = [paths]
    if not isinstance(paths, Mapping):
        files = list(paths)
        if not files:
            raise ValueError("there is no file to read")
        return {Path(files[0]).name.split(".fits")[0]: files}
    return {str(n): [f] if isinstance(f, str | Path) else list(f) for n, f in paths.items()}


def _exposures(files: Sequence[str | Path]) -> list[Exposure]:
    """Of one field: they must be alike, or the comparison would find the difference."""
    exposures = [exposure for file in files for exposure in read_exposures(file)]
    first = exposures[0]
    for one in exposures:
        if one.image.shape != first.image.shape or one.units != first.units:
            raise ValueError(
                f"{first.name} is {first.image.shape} in {first.units}, {one.name} is "
                f"{one.image.shape} in {one.units}; exposures of one field must be alike: give "
                "others as {field: files}"
            )
        times = [e.seconds for e in (first, one) if e.seconds is not None]
        if len(times) == 2 and abs(times[1] - times[0]) > SAME * times[0]:
            raise ValueError(
                f"{first.name} was exposed for {times[0]:g} s, {one.name} for {times[1]:g} s; only "
                "equal exposures are compared: give others as {field: files}"
            )
    return exposures


def _check_size(field: str, shape: tuple[int, ...], size: int, least: int) -> None:
    if min(shape) // size < least:
        raise ValueError(
            f"the frames of {field!r} are {shape}: too small for {least} × {least} tiles of "
            f"size={size}"
        )


def _tiles(
    field: str, k: int, image: np.ndarray, mask: np.ndarray, ignore: np.ndarray, size: int
) -> Iterator[tuple[Stamp, str]]:
    """Tiles of a frame from the upper left corner on, and the split of each by its place."""
    rows, columns = (n // size for n in image.shape)
    for i in range(rows):
        for j in range(columns):
            cut = slice(i * size, (i + 1) * size), slice(j * size, (j + 1) * size)
            good = image[cut][~ignore[cut]]
            sky = sky_level(good) if good.size else 0.0
            filled = np.where(np.isfinite(image[cut]), image[cut], np.float32(sky))
            place = dict(field=field, exposure=k + 1, row=i * size, column=j * size)
            half = "test" if j >= columns // 2 else "val" if i == rows - 1 else "train"
            yield Stamp(filled, mask[cut], ignore[cut], sky, **place), half


def _part(field: str, split: str | Mapping[str, Sequence[str]]) -> str:
    if not isinstance(split, Mapping):
        raise ValueError(
            f"split={split!r} must be 'left-right', or {{'train': [field, …], 'val': […], 'test': "
            "[…]}"
        )
    parts = [name for name in SPLITS if field in split.get(name, ())]
    if len(parts) != 1:
        where = " and ".join(parts) or "nowhere"
        raise ValueError(f"split has the field {field!r} {where}; each must be in one part")
    return parts[0]


def _attrs(fields: Mapping[str, list[Exposure]]) -> dict[str, Any]:
    exposures = [exposure for of_field in fields.values() for exposure in of_field]
    units = sorted({exposure.units for exposure in exposures})
    if len(units) > 1:
        raise ValueError(f"the frames have the units {' and '.join(units)}; convert them to one")
    return {
        "title": f"Exposures of {', '.join(fields)}",
        "source": ", ".join(exposure.name for exposure in exposures),
        "units": units[0],
        "gain": exposures[0].gain,
        "read_noise": exposures[0].read_noise,
    }
