"""Folders of images: a folder for each class, perhaps within train/, val/ and test/.

    cats/tom.png  dogs/rex.png  …          or          train/cats/tom.png  …  test/dogs/rex.png  …

Classes are numbered in the order of their names, and images are taken in the order of theirs.  Grey
if all files are grey, else red, green and blue; transparency is dropped.

Pillow decodes a few common formats, after the size in the header was compared with what is allowed:
a small file can declare a picture that fills the memory.
"""

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from sciops.data.found import DEFLATE, ReadError, memory

from .images import Labelled, as_images

FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TIFF")  # none that runs another program, as EPS does
SUFFIXES = (".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".pbm", ".bmp", ".tif", ".tiff")
GREY = ("1", "L", "LA")
WIDE = ("I;16", "I;16B", "I;16L")  # grey of 16 bits
COLOUR = ("P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
SPLITS = ("train", "val", "test")
MOST_PIXELS = 2**25  # of one image
BLOCK = 2**16  # bytes that are read without asking how many there are
BILINEAR = 2  # Pillow's number for it


def read_folder(
    folder: Path, *, size: tuple[int, int] | None = None
) -> tuple[dict[str, Labelled], list[str]]:
    """Splits, or {"all": …} where the folder has none, and the names of the classes.

    size: (y, x) to which images are scaled; None: they must have one size
    """
    names = _folders(folder)
    splits = [split for split in SPLITS if split in names]
    if splits and set(names) - set(SPLITS):
        raise ReadError(
            f"{folder} has {', '.join(splits)} beside {min(set(names) - set(SPLITS))!r}; a folder "
            "holds splits or classes, not both"
        )
    roots = {split: folder / split for split in splits} or {"all": folder}
    classes = sorted({name for root in roots.values() for name in _folders(root)})
    files = {split: list(_files(root, classes)) for split, root in roots.items()}
    if not classes or not all(files.values()):
        empty = [split for split, found in files.items() if not found]
        raise ReadError(
            f"{folder} has no images in folders of classes (of {', '.join(empty)}), as in "
            f"{folder.name}/cats/tom.png"
        )
    paths = [path for found in files.values() for path, _ in found]
    grey, size = _common(paths, size)
    made = {}
    for split, found in files.items():
        pixels = np.stack([_pixels(path, grey, size) for path, _ in found])
        made[split] = as_images(pixels, np.array([label for _, label in found]), str(folder))
    return made, classes


def _folders(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))


def _files(root: Path, classes: list[str]) -> Iterator[tuple[Path, int]]:
    """Images and their classes, in the order of their names."""
    for name in _folders(root):
        for path in sorted((root / name).iterdir(), key=lambda p: p.name):
            if path.name.startswith("."):
                continue
            if path.suffix.lower() not in SUFFIXES or not path.is_file():
                raise ReadError(
                    f"{path} is no image ({', '.join(SUFFIXES)}); a folder of a class holds "
                    "nothing else"
                )
            yield path, classes.index(name)


def _common(paths: list[Path], size: tuple[int, int] | None) -> tuple[bool, tuple[int, int]]:
    """Whether all images are grey, and their size; none is decoded for it."""
    grey, first = True, None
    for path in paths:
        with _opened(path) as image:
            found = image.height, image.width
            grey = grey and image.mode not in COLOUR
        first = first or (path, found)
        if size is None and found != first[1]:
            raise ReadError(
                f"{path} has {found} pixels, {first[0]} {first[1]}; give size=(y, x) to scale all "
                "images to"
            )
    size = first[1] if size is None else tuple(size)
    if len(paths) * size[0] * size[1] * (1 if grey else 3) * 4 > memory() // 2:
        raise ReadError(
            f"{len(paths)} images of {size} fill the memory; give a smaller size=(y, x)"
        )
    return grey, size


def _pixels(path: Path, grey: bool, size: tuple[int, int]) -> np.ndarray:
    """(channel, y, x), float32 in [0, 1]."""
    with _opened(path) as image:
        white = 65535 if image.mode in WIDE else 255
        image = image.convert("F" if image.mode in WIDE else "L" if grey else "RGB")
        if (image.height, image.width) != size:
            image = image.resize(size[::-1], resample=BILINEAR)
        values = np.asarray(image, np.float32) / white
    if values.ndim == 3:
        return values.transpose(2, 0, 1)
    return np.repeat(values[None], 1 if grey else 3, axis=0)


@contextmanager
def _opened(path: Path) -> Iterator:
    """An image whose header was read; whatever goes wrong with it is a ReadError."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            "images are read with Pillow, which is not installed: pip install sciops[images]"
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with _Bounded(io.FileIO(path)) as file, Image.open(file, formats=FORMATS) as image:
                _check_header(path, image)
                yield image
    except ReadError:
        raise
    except Exception as error:  # decoders of damaged files fail in every way there is
        raise ReadError(
            f"{path} is damaged, too large or none of {', '.join(FORMATS)}: {error}; save it anew"
        ) from None


class _Bounded(io.BufferedReader):
    """A file that is not asked for more than it holds: lengths in it may be lies."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > BLOCK:
            size = min(size, max(0, os.fstat(self.fileno()).st_size - self.tell()))
        return super().read(size)


def _check_header(path: Path, image) -> None:
    most = min(MOST_PIXELS, 8 * DEFLATE * path.stat().st_size)  # of one bit, packed as can be
    if image.height * image.width > most:
        raise ReadError(
            f"{path} declares {image.height} × {image.width} pixels; at most {most} are read from "
            "a file of this size"
        )
    if image.mode not in (*GREY, *WIDE, *COLOUR):
        raise ReadError(f"{path} has pixels of the kind {image.mode!r}; save it as grey or RGB")
