"""FITS files as they are, and what is said about those that are not."""

import gzip

import numpy as np
import pytest

from sciops.cosmic.fits_files import read_exposures
from tests.cosmic.toy import REAL, exposures, write_fits
from tests.data.file_writers import shared

fits = pytest.importorskip("astropy.io.fits")


def test_exposures_come_by_version_in_our_byte_order(tmp_path):
    arrays = exposures(2)
    first, second = read_exposures(write_fits(tmp_path / "a.fits", arrays))
    assert first.image.dtype == np.float32 and first.quality.dtype == np.int32
    assert np.array_equal(second.image, arrays[1]["SCI"].astype("f4"))
    assert np.array_equal(first.quality, arrays[0]["DQ"])
    assert (first.units, first.gain, first.read_noise, first.seconds) == ("COUNTS", 2.0, 4.5, 150.0)
    assert second.name == "a.fits[SCI,2]"


def test_what_is_not_in_the_file_is_none(tmp_path):
    path = write_fits(tmp_path / "a.fits", exposures(1), leave_out=("ERR", "DQ"))
    (only,) = read_exposures(path)
    assert only.noise is None and only.quality is None


def test_an_extension_without_data_is_constant(tmp_path):
    path = tmp_path / "a.fits"
    flags = fits.ImageHDU(name="DQ", ver=1)
    flags.header.update(PIXVALUE=4, NPIX1=12, NPIX2=8)
    image = fits.ImageHDU(np.zeros((8, 12), "f4"), name="SCI", ver=1)
    fits.HDUList([fits.PrimaryHDU(), image, flags]).writeto(path)
    (only,) = read_exposures(path)
    assert (only.quality == 4).all() and only.quality.shape == (8, 12)
    assert (only.units, only.gain, only.seconds) == ("unknown", None, None)


def test_no_image_no_file_no_fits(tmp_path):
    path = write_fits(tmp_path / "a.fits", exposures(1), leave_out=("SCI",))
    with pytest.raises(ValueError, match=r"a\.fits has no extension SCI; it has PRIMARY, ERR, DQ"):
        read_exposures(path)
    (tmp_path / "b.fits").write_text("this is no image " * 300)
    with pytest.raises(ValueError, match=r"b\.fits is damaged, truncated or no FITS file"):
        read_exposures(tmp_path / "b.fits")
    with pytest.raises(ValueError, match=r"there is no file .*c\.fits"):
        read_exposures(tmp_path / "c.fits")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_truncated_files(tmp_path, share):
    path = write_fits(tmp_path / "a.fits", exposures(2, (64, 64)))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"a\.fits is damaged, truncated"):
        read_exposures(path)


def test_whole_extensions_that_are_missing(tmp_path):
    path = write_fits(tmp_path / "a.fits", exposures(2), NEXTEND=7)
    with pytest.raises(ValueError, match=r"a\.fits is truncated: it declares 7 .* and has 6"):
        read_exposures(path)


def test_packed_files(tmp_path):
    path = write_fits(tmp_path / "a.fits", exposures(1))
    packed = tmp_path / "a.fits.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert np.array_equal(read_exposures(packed)[0].image, read_exposures(path)[0].image)


def test_wrong_shapes(tmp_path):
    (arrays,) = exposures(1)
    path = write_fits(tmp_path / "a.fits", [{**arrays, "DQ": np.zeros((4, 4))}])
    with pytest.raises(ValueError, match=r"DQ,1 has the shape \(4, 4\), but SCI,1 has \(8, 12\)"):
        read_exposures(path)
    path = write_fits(tmp_path / "b.fits", [{"SCI": np.zeros((2, 4, 4))}])
    with pytest.raises(ValueError, match=r"SCI,1 has the shape \(2, 4, 4\), expected an image"):
        read_exposures(path)


def test_real_frame_is_as_astropy_reads_it():
    path = shared(REAL)
    ours = read_exposures(path)
    with fits.open(path) as theirs:
        for version, exposure in enumerate(ours, 1):
            assert np.array_equal(exposure.image, theirs["SCI", version].data)
            assert np.array_equal(exposure.quality, theirs["DQ", version].data)
    assert (ours[0].units, ours[0].gain, ours[0].read_noise) == ("COUNTS", 1.0, 3.99)
