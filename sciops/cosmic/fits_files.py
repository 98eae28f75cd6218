"""Exposures from FITS files: extensions SCI, ERR and DQ, by name and version (EXTNAME, EXTVER).

Values are converted to the machine's byte order; units, gain and read noise are kept as the header
has them, of the extension or else of the whole file.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sciops.data.files import EXPANSION
from sciops.data.found import ReadError, memory

if TYPE_CHECKING:
    from astropy.io.fits import HDUList

GAIN = ("ATODGAIN", "CCDGAIN", "ATODGNA", "EGAIN", "GAIN")
READ_NOISE = ("READNSE", "READNSEA", "RDNOISE", "READNOIS")


class Exposure(NamedTuple):
    """One exposure; arrays (H, W).

    noise:   deviation of each pixel, in units of the image, float32; None if not in the file
    quality: flags, one a bit, int32; None if not in the file
    gain, read_noise, seconds: None if the header does not say
    """

    name: str
    image: np.ndarray
    noise: np.ndarray | None
    quality: np.ndarray | None
    units: str
    gain: float | None
    read_noise: float | None
    seconds: float | None


def read_exposures(path: str | Path) -> list[Exposure]:
    """All exposures of a file, in the order of their versions."""
    file = load_fits(path)
    with understood(path):
        return list(_exposures(path, file))


def _exposures(path: str | Path, file: "HDUList") -> Iterator[Exposure]:
    versions = sorted(hdu.ver for hdu in file if hdu.name == "SCI")
    if not versions:
        names = ", ".join(hdu.name or "unnamed" for hdu in file)
        raise ReadError(
            f"{path} has no extension SCI; it has {names}; name the extension of the image so "
            "(EXTNAME), as Hubble's pipelines do"
        )
    if len(set(versions)) < len(versions):
        raise ReadError(f"{path} has two extensions SCI of one version; set EXTVER")
    for version in versions:
        yield _exposure(path, file, version)


def _exposure(path: str | Path, file: "HDUList", version: int) -> Exposure:
    image = _values(path, file, "SCI", version, np.float32)
    noise = _beside(path, file, "ERR", version, image.shape, np.float32)
    quality = _beside(path, file, "DQ", version, image.shape, np.int32)
    headers = file["SCI", version].header, file[0].header
    return Exposure(
        f"{Path(path).name}[SCI,{version}]",
        image,
        noise,
        quality,
        units=str(headers[0].get("BUNIT", "unknown")).strip(),
        gain=_number(headers, GAIN),
        read_noise=_number(headers, READ_NOISE),
        seconds=_number(headers, ("EXPTIME",)),
    )


def _beside(path, file: "HDUList", name: str, version: int, shape, dtype) -> np.ndarray | None:
    """What belongs to an image pixel by pixel, or None if it is not in the file."""
    if (name, version) not in file:
        return None
    hdu = file[name, version]
    if hdu.data is None:  # so Hubble's files say that all values are the same
        return np.full(shape, hdu.header.get("PIXVALUE", 0), dtype)
    values = _values(path, file, name, version, dtype)
    if values.shape != shape:
        raise ReadError(
            f"{path}: {name},{version} has the shape {values.shape}, but SCI,{version} has "
            f"{shape}; they must belong together"
        )
    return values


def _values(path, file: "HDUList", name: str, version: int, dtype) -> np.ndarray:
    """An image (H, W) in the machine's byte order."""
    data = file[name, version].data
    if data is None or data.ndim != 2:
        shape = "no data" if data is None else f"the shape {data.shape}"
        raise ReadError(f"{path}: {name},{version} has {shape}, expected an image (H, W)")
    return np.ascontiguousarray(data, dtype)


def _number(headers: Sequence, keys: Sequence[str]) -> float | None:
    for header in headers:
        for key in keys:
            if isinstance(header.get(key), int | float) and not isinstance(header[key], bool):
                return float(header[key])
    return None


def load_fits(path: str | Path) -> "HDUList":
    """All of a file, in memory; whatever is wrong with it is a ReadError."""
    try:
        from astropy.io import fits
    except ImportError:
        raise ImportError('FITS files need astropy: pip install "sciops[fits]"') from None
    path = Path(path)
    if not path.is_file():
        raise ReadError(f"there is no file {path}; check the path, or download the data first")
    with understood(path), path.open("rb") as stream:
        file = fits.open(stream, memmap=False, lazy_load_hdus=False)
        check_sizes(path, file)
        _ = [hdu.data for hdu in file]  # read now, and kept
        declared = file[0].header.get("NEXTEND", len(file) - 1)
        if declared > len(file) - 1:
            raise ReadError(
                f"{path} is truncated: it declares {declared} extensions and has {len(file) - 1}; "
                "get an intact copy of it"
            )
    return file


def check_sizes(path: Path, file: "HDUList") -> None:
    """Compare what images declare with what the file and the memory can hold."""
    most = min(EXPANSION * path.stat().st_size, memory() // 2)
    for hdu in file:
        shape = hdu.shape if hdu.is_image else ()
        if math.prod(shape) * abs(hdu.header.get("BITPIX", 8)) // 8 > most:
            raise ReadError(
                f"{path}: {hdu.name or 'an image'} is declared as {shape}, more than a file of "
                f"{path.stat().st_size} bytes or the memory can hold; get an intact copy of it"
            )


@contextmanager
def understood(path: str | Path, *passing: type[Exception]) -> Iterator[None]:
    """Whatever goes wrong with a file is a ReadError, but for errors that pass."""
    from astropy.utils.exceptions import AstropyWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AstropyWarning)  # about headers, which are many
            warnings.filterwarnings("error", "(?s).*(truncated|corrupted)", AstropyWarning)
            yield
    except (ReadError, *passing):
        raise
    except Exception as error:  # headers of damaged files fail in every way there is
        raise ReadError(
            f"{path} is damaged, truncated or no FITS file: {error}; get an intact copy of it"
        ) from error
