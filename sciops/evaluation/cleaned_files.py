"""FITS files in and out: a mask, probabilities and a cleaned image beside what was given.

    image_mask.fits          uint8, 1 where a cosmic ray was found
    image_probability.fits   float32
    image_clean.fits         the file as it was, with the pixels of cosmic rays filled

Every extension SCI is cleaned, or the one image of a file that has none.  Headers, units and all
other extensions stay; a HISTORY card says what was done.  The files are there whole or not at all.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sciops.atomic import flush, publish
from sciops.backbones.image_masks import ImageMask
from sciops.version import __version__

from .image_cleaning import Cleaned, clean

if TYPE_CHECKING:
    from astropy.io import fits

ENDINGS = (".fits.gz", ".fits.fz", ".fits", ".fit", ".fts")
OF_COUNTS = ("BUNIT", "BLANK", "BSCALE", "BZERO", "CHECKSUM", "DATASUM")  # not of masks
KINDS = {"mask": np.uint8, "probability": np.float32}


class CleanedFiles(NamedTuple):
    """What `clean_file` wrote, and how many pixels it looked at and flagged."""

    mask: Path
    probability: Path
    clean: Path
    images: int
    pixels: int
    flagged: int


def clean_file(
    model: ImageMask,
    path: str | Path,
    out: str | Path | None = None,
    *,
    threshold: float = 0.5,
    tile: int | None = None,
    overlap: int | None = None,
    saturation: float | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> CleanedFiles:
    """Clean the images of a FITS file, and write a mask, probabilities and the cleaned file.

    out:        folder of the new files; None is that of the image
    saturation: None is the keyword SATURATE of an image or of the whole file, if there is one
    overwrite:  replace files of these names

    threshold, tile and overlap are those of `clean`.
    """
    fits = _fits()
    path = Path(path)
    targets = _targets(path, path.parent if out is None else Path(out), overwrite=overwrite)
    with _opened(fits, path) as hdus, _opened(fits, path, as_stored=True) as stored:
        chosen = _images(hdus, path)
        options = dict(threshold=threshold, tile=tile, overlap=overlap, progress=progress)
        levels = {i: _saturation(hdus, i) if saturation is None else saturation for i in chosen}
        done = {i: _cleaned(model, hdus[i], path, levels[i], options) for i in chosen}
        words = {i: _history(cleaned, threshold) for i, cleaned in done.items()}
        made = {kind: _answers(fits, hdus, done, words, kind) for kind in KINDS}
        made["clean"] = _with_images(stored, done, words)
        _write({targets[kind]: file for kind, file in made.items()})
    flagged = sum(int(cleaned.mask.sum()) for cleaned in done.values())
    pixels = sum(cleaned.mask.size for cleaned in done.values())
    return CleanedFiles(**targets, images=len(done), pixels=pixels, flagged=flagged)


def _fits() -> Any:
    try:
        from astropy.io import fits
    except ImportError:
        raise ImportError(
            'FITS files need astropy, which is not installed: pip install "sciops[fits]"'
        ) from None
    return fits


# --- what there is --------------------------------------------------------------------------------


def _opened(fits, path: Path, *, as_stored: bool = False) -> "fits.HDUList":
    """as_stored: without BSCALE, BZERO and BLANK being applied."""
    if not path.is_file():
        raise ValueError(f"{path} is no file; give the path of a FITS image")
    try:
        return fits.open(path, do_not_scale_image_data=as_stored)
    except OSError as error:
        raise ValueError(f"{path} cannot be read as FITS: {error}") from error


def _images(hdus: "fits.HDUList", path: Path) -> list[int]:
    """Numbers of the extensions SCI, or of the only image there is."""
    images = [i for i, hdu in enumerate(hdus) if hdu.is_image and hdu.shape]
    named = [i for i in images if hdus[i].name == "SCI"]
    chosen = named or (images if len(images) == 1 else [i for i in images if i == 0])
    if not chosen or any(len(hdus[i].shape) != 2 for i in chosen):
        found = ", ".join(f"{i} {hdu.name} {hdu.shape}" for i, hdu in enumerate(hdus))
        raise ValueError(
            f"{path} has no extension SCI with an image of two axes, nor is one its first or only "
            f"image; it has {found}: name the extension SCI"
        )
    return chosen


def _targets(path: Path, folder: Path, *, overwrite: bool) -> dict[str, Path]:
    ending = next((e for e in ENDINGS if path.name.lower().endswith(e)), "")
    stem = path.name[: len(path.name) - len(ending)]
    targets = {k: folder / f"{stem}_{k}.fits" for k in ("mask", "probability", "clean")}
    there = [target.name for target in targets.values() if target.exists()]
    if there and not overwrite:
        raise ValueError(
            f"{folder} already has {', '.join(there)}; use overwrite=True (--overwrite), or "
            "another folder out="
        )
    return targets


def _saturation(hdus: "fits.HDUList", i: int) -> float | None:
    level = hdus[i].header.get("SATURATE", hdus[0].header.get("SATURATE"))
    return level if isinstance(level, int | float) else None


# --- what comes out -------------------------------------------------------------------------------


def _cleaned(model: ImageMask, hdu, path: Path, saturation: float | None, options: dict) -> Cleaned:
    try:
        image = hdu.data
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(f"{path}, extension {hdu.name}, cannot be read: {error}") from error
    return clean(model, image, saturation=saturation, **options)


def _history(cleaned: Cleaned, threshold: float) -> str:
    count, size = int(cleaned.mask.sum()), cleaned.mask.size
    return (
        f"sciops {__version__}: cosmic rays, probability > {threshold:g}, {count} of {size} pixels"
    )


def _answers(
    fits, hdus, done: dict[int, Cleaned], words: dict[int, str], kind: str
) -> "fits.HDUList":
    """A file of masks or probabilities, with the headers of the images they are of."""
    made = fits.HDUList([] if 0 in done else [fits.PrimaryHDU(header=hdus[0].header.copy())])
    for i, cleaned in done.items():
        array = getattr(cleaned, kind).astype(KINDS[kind], copy=False)
        header = hdus[i].header.copy()
        for name in OF_COUNTS:
            header.remove(name, ignore_missing=True, remove_all=True)
        header.add_history(words[i])
        if i == 0:
            made.append(fits.PrimaryHDU(array, header=header))
        else:
            made.append(fits.ImageHDU(array, header=header, name=kind.upper(), ver=hdus[i].ver))
    return made


def _with_images(
    stored: "fits.HDUList", done: dict[int, Cleaned], words: dict[int, str]
) -> "fits.HDUList":
    """The file as it was, but for the pixels that were filled: in memory, not on the disk."""
    for i, (image, mask, _) in done.items():
        hdu = stored[i]
        zero, unit = hdu.header.get("BZERO", 0), hdu.header.get("BSCALE", 1)
        values = (image[mask].astype(np.float64) - zero) / unit
        if hdu.data.dtype.kind in "iu":
            limits = np.iinfo(hdu.data.dtype)
            values = np.clip(np.rint(values), limits.min, limits.max)
        hdu.data[mask] = values
        hdu.header.add_history(f"{words[i]}, filled from those around them")
    return stored


def _write(files: "dict[Path, fits.HDUList]") -> None:
    """All of them, or as they were if one cannot be written."""
    stages = {target.with_name(f".{target.name}.{os.getpid()}.partial"): target for target in files}
    next(iter(stages)).parent.mkdir(parents=True, exist_ok=True)
    try:
        for stage, target in stages.items():
            files[target].writeto(stage, checksum=True, output_verify="silentfix", overwrite=True)
            flush(stage)
        for stage, target in stages.items():
            publish(stage, target)
    finally:
        for stage in stages:
            stage.unlink(missing_ok=True)
