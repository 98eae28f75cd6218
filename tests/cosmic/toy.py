"""Small stamps and small files for tests, and the real frame where it is on this machine."""

import numpy as np
import pytest

from sciops.cosmic.stamps import Stamp

REAL = "cosmic/o4k19a010_flt.fits"
DQ = 8192


def stamp(number: int, size: int = 8, **place) -> Stamp:
    """Noise, two hits, one pixel to ignore."""
    rng = np.random.default_rng(number)
    image = rng.normal(20, 3, (size, size)).astype("f4")
    mask, ignore = np.zeros((2, size, size), "u1")
    mask[tuple(rng.integers(size, size=(2, 2)))] = 1
    ignore[-1, -1] = 1
    image += 200 * mask
    return Stamp(image, mask, ignore, 20.0, **{"field": f"toy-{number}", **place})


def exposures(n: int = 2, shape=(8, 12), seed: int = 0) -> list[dict[str, np.ndarray]]:
    """SCI, ERR and DQ of exposures of one field; in each pixel (k, k), (-1, k) and (k, -1) hit."""
    rng = np.random.default_rng(seed)
    sky = rng.uniform(20, 30, shape)
    made = []
    for k in range(n):
        image, quality = sky + rng.normal(0, 1, shape) + 3 * k, np.zeros(shape, int)
        for hit in ((k, k), (-1, k), (k, -1)):
            image[hit] += 100
            quality[hit] = DQ
        made.append({"SCI": image, "ERR": np.full(shape, 1.5), "DQ": quality})
    return made


def write_fits(path, of_exposures, *, seconds=150.0, leave_out=(), **header):
    """As Hubble's pipelines do: big-endian, EXTNAME and EXTVER, units, gain, read noise."""
    fits = pytest.importorskip("astropy.io.fits")
    kinds = {"SCI": ">f4", "ERR": ">f4", "DQ": ">i2"}
    parts = [fits.PrimaryHDU(header=fits.Header({"ATODGAIN": 2.0, "READNSE": 4.5, **header}))]
    for version, arrays in enumerate(of_exposures, 1):
        for name, values in arrays.items():
            if name not in leave_out:
                hdu = fits.ImageHDU(values.astype(kinds[name]), name=name, ver=version)
                hdu.header.update(BUNIT="COUNTS", EXPTIME=seconds)
                parts.append(hdu)
    fits.HDUList(parts).writeto(path)
    return path
