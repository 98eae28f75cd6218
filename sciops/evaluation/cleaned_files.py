"""FITS files in and out: a mask, probabilities and a cleaned image beside what was given.

    image_mask.fits          uint8, 1 where a cosmic ray was found
    image_probability.fits   float32
    image_clean.fits         the file as it was, with the pixels of cosmic rays filled

Every extension SCI is cleaned, or the one image of a file that has none.  Headers, units and all
other extensions stay; a HISTORY card says what was done.  Files are there whole or not at all, and
where there is a cleaned image, the other two are those that belong to it.
"""

import contextlib
import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sciops.atomic import flush, publish
from sciops.backbones.image_masks import ImageMask
from sciops.cosmic.fits_files import check_sizes, understood
from sciops.data.found import ReadError
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
        with understood(path):
            images = {i: hdus[i].data for i in _images(hdus, path)}
            levels = {i: _saturation(hdus, i) if saturation is None else saturation for i in images}
        options = dict(threshold=threshold, tile=tile, overlap=overlap, progress=progress)
        done = {i: _cleaned(model, x, path, i, levels[i], options) for i, x in images.items()}
        words = {i: _history(cleaned, threshold) for i, cleaned in done.items()}
        with understood(path):
            made = {kind: _answers(fits, hdus, done, words, kind) for kind in KINDS}
            made["clean"] = _with_images(stored, done, words)
        with understood(path, OSError):  # those are of the disk
            _write(targets, made)
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


@contextlib.contextmanager
def _opened(fits, path: Path, *, as_stored: bool = False) -> "Iterator[fits.HDUList]":
    """as_stored: without BSCALE, BZERO and BLANK being applied."""
    if not path.is_file():
        raise ReadError(f"{path} is no file; give the path of a FITS image")
    with path.open("rb") as stream:
        with understood(path):
            how = dict(memmap=False, lazy_load_hdus=False)
            hdus = fits.open(stream, do_not_scale_image_data=as_stored, **how)
            check_sizes(path, hdus)
        yield hdus


def _images(hdus: "fits.HDUList", path: Path) -> list[int]:
    """Numbers of the extensions SCI, or of the only image there is."""
    images = [i for i, hdu in enumerate(hdus) if hdu.is_image and hdu.shape]
    named = [i for i in images if hdus[i].name == "SCI"]
    chosen = named or (images if len(images) == 1 else [i for i in images if i == 0])
    if not chosen or any(len(hdus[i].shape) != 2 for i in chosen):
        found = ", ".join(f"{i} {hdu.name} {hdu.shape}" for i, hdu in enumerate(hdus))
        raise ReadError(
            f"{path} has no extension SCI with an image of two axes, nor is one its first or only "
            f"image; it has {found}: name the extension SCI"
        )
    return chosen


def _targets(path: Path, folder: Path, *, overwrite: bool) -> dict[str, Path]:
    ending = next((e for e in ENDINGS if path.name.lower().endswith(e)), "")
    stem = path.name[: len(path.name) - len(ending)]
    targets = {k: folder / f"{stem}_{k}.fits" for k in ("mask", "probability", "clean")}
    there = [target.name for target in targets.values() if target.exists()]
    if there and not overwrite and not _was_stopped(targets):
        raise ValueError(
            f"{folder} already has {', '.join(there)}; use overwrite=True (--overwrite), or "
            "another folder out="
        )
    return targets


def _saturation(hdus: "fits.HDUList", i: int) -> float | None:
    level = hdus[i].header.get("SATURATE", hdus[0].header.get("SATURATE"))
    return level if isinstance(level, int | float) else None


# --- what comes out -------------------------------------------------------------------------------


def _cleaned(
    model: ImageMask,
    image: np.ndarray,
    path: Path,
    number: int,
    saturation: float | None,
    options: dict,
) -> Cleaned:
    try:
        return clean(model, image, saturation=saturation, **options)
    except ValueError as error:
        raise ReadError(f"{path}, extension {number}: {error}") from error


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


def _write(targets: dict[str, Path], made: "dict[str, fits.HDUList]") -> None:
    """All of them, or as they were if one cannot be written; the cleaned image is the last."""
    mine = {kind: _stage(target, os.getpid()) for kind, target in targets.items()}
    targets["clean"].parent.mkdir(parents=True, exist_ok=True)
    try:
        for kind, stage in mine.items():
            made[kind].writeto(stage, checksum=True, output_verify="silentfix", overwrite=True)
            flush(stage)
        for stage in {s for target in targets.values() for s in _stages(target)} - {*mine.values()}:
            stage.unlink(missing_ok=True)
        targets["clean"].unlink(missing_ok=True)  # it would not belong to the new mask
        for kind in ("mask", "probability", "clean"):
            publish(mine[kind], targets[kind])
    finally:
        for stage in mine.values():
            stage.unlink(missing_ok=True)


def _stage(target: Path, process: int | str) -> Path:
    return target.with_name(f".{target.name}.{process}.partial")


def _stages(target: Path) -> list[Path]:
    """What processes wrote for a file and did not bring to its place."""
    return list(target.parent.glob(_stage(Path(glob.escape(target.name)), "*").name))


def _was_stopped(targets: dict[str, Path]) -> bool:
    """Whether a process was killed between bringing the first file and the last to their places."""
    return bool(_stages(targets["clean"])) and not targets["clean"].exists()
