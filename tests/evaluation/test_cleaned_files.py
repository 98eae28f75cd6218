"""FITS in and out: what was there stays, what is new is whole, nothing is overwritten unasked."""

import builtins
import gzip
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from sciops.evaluation.cleaned_files import clean_file
from sciops.evaluation.image_cleaning import clean, probabilities
from tests.cosmic.mask_toy import network, sky, stirred

fits = pytest.importorskip("astropy.io.fits")

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "cosmic"
KINDS = ("mask", "probability", "clean")
MODEL = stirred(network())


def threshold_for(image: np.ndarray) -> float:
    """That flags a few pixels."""
    return float(np.quantile(probabilities(MODEL, image), 0.97))


def exposure(path: Path, *images: np.ndarray, **cards) -> Path:
    """A file as of a space telescope: SCI, ERR, DQ of each image."""
    hdus = fits.HDUList([fits.PrimaryHDU()])
    hdus[0].header["TARGNAME"] = "NGC 1"
    for version, image in enumerate(images, 1):
        for name in ("SCI", "ERR", "DQ"):
            data = image if name == "SCI" else np.full(image.shape, version, "i2")
            hdu = fits.ImageHDU(data, name=name, ver=version)
            hdu.header["BUNIT"] = "ELECTRONS"
            hdu.header["CRVAL1"] = 12.5
            hdu.header.update(cards)
            hdus.append(hdu)
    hdus.writeto(path, checksum=True)
    return path


def test_every_science_extension_is_cleaned_and_the_rest_stays(tmp_path):
    images = sky(40, 50, 0)[0], sky(30, 30, 1)[0]
    path = exposure(tmp_path / "field.fits", *images)
    threshold = threshold_for(images[0])
    done = clean_file(MODEL, path, threshold=threshold)
    expected = [clean(MODEL, image, threshold=threshold) for image in images]
    assert done[:3] == tuple(tmp_path / f"field_{kind}.fits" for kind in KINDS)
    assert done.images == 2 and done.pixels == 40 * 50 + 30 * 30
    assert done.flagged == sum(one.mask.sum() for one in expected) > 0
    with fits.open(path, checksum=True) as old, fits.open(done.clean, checksum=True) as new:
        assert [h.name for h in new] == [h.name for h in old]
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            kept = {
                k: v for k, v in a.header.items() if k not in ("CHECKSUM", "DATASUM", "HISTORY")
            }
            assert kept == {k: b.header[k] for k in kept}
            if i not in (0, 1, 4):
                assert np.array_equal(a.data, b.data) and "HISTORY" not in b.header
        for number, one in enumerate(expected, 1):
            hdu = new["SCI", number]
            assert np.array_equal(hdu.data, one.image) and hdu.data.dtype == np.dtype(">f4")
            line = "".join(hdu.header["HISTORY"])
            assert f"{one.mask.sum()} of {one.mask.size} pixels" in line
    for kind, dtype in (("mask", "u1"), ("probability", ">f4")):
        with fits.open(getattr(done, kind), checksum=True) as new:
            assert new[0].header["TARGNAME"] == "NGC 1"
            for number, one in enumerate(expected, 1):
                hdu = new[kind.upper(), number]
                assert hdu.data.dtype == np.dtype(dtype)
                assert np.array_equal(hdu.data, getattr(one, kind))
                assert hdu.header["CRVAL1"] == 12.5 and "BUNIT" not in hdu.header
                assert "sciops" in str(hdu.header["HISTORY"])


def test_an_image_in_the_primary_unit_of_whole_numbers(tmp_path):
    image = np.rint(sky()[0]).astype(np.uint16)
    hdu = fits.PrimaryHDU(image)  # stored as int16 and BZERO
    hdu.writeto(tmp_path / "raw.fit")
    threshold = threshold_for(image)
    done = clean_file(MODEL, tmp_path / "raw.fit", threshold=threshold)
    with fits.open(done.clean) as new, fits.open(done.mask) as mask:
        assert new[0].data.dtype == np.uint16 and new[0].header["BITPIX"] == 16
        assert mask[0].data.dtype == np.uint8 and mask[0].data.sum() == done.flagged > 0
        assert np.array_equal(new[0].data, clean(MODEL, image, threshold=threshold).image)


@pytest.mark.parametrize("cards", [{}, dict(BSCALE=0.5, BZERO=100.0)], ids=["plain", "scaled"])
def test_blank_pixels_are_unknown_and_whole_numbers_stay_whole(tmp_path, cards):
    stored = np.rint(sky()[0]).astype(np.int32)
    stored[:9, :9] = -99
    path = tmp_path / "raw.fits"
    fits.PrimaryHDU(stored).writeto(path)
    with fits.open(path, mode="update", do_not_scale_image_data=True) as hdus:
        hdus[0].header.update(cards | dict(BLANK=-99))
    before = path.read_bytes()
    done = clean_file(MODEL, path, threshold=0.01)
    assert path.read_bytes() == before
    with fits.open(done.clean, do_not_scale_image_data=True) as new, fits.open(done.mask) as mask:
        assert done.flagged and not mask[0].data[:9, :9].any() and "BLANK" not in mask[0].header
        assert all(new[0].header[k] == v for k, v in (cards | dict(BLANK=-99, BITPIX=32)).items())
        same = mask[0].data == 0
        assert np.array_equal(new[0].data[same], stored[same])
        assert not np.array_equal(new[0].data, stored)


def test_saturation_is_in_the_header(tmp_path):
    image = sky()[0]
    level = float(np.quantile(image, 0.5))
    path = exposure(tmp_path / "a.fits", image, SATURATE=level)
    free, held = (
        clean_file(MODEL, path, tmp_path / str(s), threshold=0.01, saturation=s)
        for s in (1e9, None)
    )
    assert 0 < held.flagged < free.flagged
    assert not fits.getdata(held.mask)[image >= level].any()
    other = exposure(tmp_path / "b.fits", image)
    fits.setval(other, "SATURATE", value=level)  # of the whole file
    assert clean_file(MODEL, other, threshold=0.01).flagged == held.flagged


def test_compressed_files_and_other_folders(tmp_path):
    path = exposure(tmp_path / "b.fits", sky()[0])
    packed = tmp_path / "b.fits.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    done = clean_file(MODEL, str(packed), tmp_path / "new" / "folder")
    assert done.mask == tmp_path / "new" / "folder" / "b_mask.fits" and done.mask.is_file()


def test_nothing_is_overwritten_unasked(tmp_path):
    path = exposure(tmp_path / "c.fits", sky()[0])
    (tmp_path / "c_probability.fits").write_text("precious")
    with pytest.raises(ValueError, match=r"already has c_probability.fits; use overwrite=True"):
        clean_file(MODEL, path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.fits", "c_probability.fits"]
    done = clean_file(MODEL, path, overwrite=True)
    assert fits.getdata(done.probability).dtype == np.dtype(">f4")


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    path = exposure(tmp_path / "d.fits", sky()[0])
    write, calls = fits.HDUList.writeto, []

    def full_disk(hdus, name, **options):
        calls.append(name)
        if len(calls) == 3:
            raise OSError("no space left")
        return write(hdus, name, **options)

    monkeypatch.setattr(fits.HDUList, "writeto", full_disk)
    with pytest.raises(OSError, match="no space left"):
        clean_file(MODEL, path)
    assert [p.name for p in tmp_path.iterdir()] == ["d.fits"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("renames", [1, 2])
def test_killed_between_the_files_it_is_done_again(tmp_path, overwrite, renames):
    """The cleaned image comes last: where there is one, the others belong to it."""
    path, how = exposure(tmp_path / "d.fits", sky()[0]), dict(progress=False)
    whole = clean_file(MODEL, path, tmp_path / "whole", threshold=0.01, **how)
    if overwrite:
        clean_file(MODEL, path, threshold=0.9, **how)
    child = os.fork()
    if not child:
        left = iter(range(renames))
        sys.addaudithook(
            lambda event, _: event == "os.rename" and next(left, None) is None and die()
        )
        clean_file(MODEL, path, threshold=0.01, overwrite=overwrite, **how)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert (tmp_path / "d_mask.fits").exists() and not (tmp_path / "d_clean.fits").exists()
    done = clean_file(MODEL, path, threshold=0.01, **how)
    assert [data_of(p) for p in done[:3]] == [data_of(p) for p in whole[:3]]
    assert not list(tmp_path.glob(".*"))


def data_of(path: Path) -> list:
    with fits.open(path) as hdus:
        return [None if hdu.data is None else hdu.data.tobytes() for hdu in hdus]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_files_that_are_none(tmp_path):
    with pytest.raises(ValueError, match="is no file"):
        clean_file(MODEL, tmp_path / "nothing.fits", tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
    (tmp_path / "text.fits").write_text("hello")
    with pytest.raises(ValueError, match=r"text.fits is damaged, truncated or no FITS file"):
        clean_file(MODEL, tmp_path / "text.fits")
    fits.PrimaryHDU(np.zeros((2, 3, 4))).writeto(tmp_path / "cube.fits")
    with pytest.raises(ValueError, match=r"two axes.*it has 0 PRIMARY \(2, 3, 4\)"):
        clean_file(MODEL, tmp_path / "cube.fits")
    fits.PrimaryHDU().writeto(tmp_path / "empty.fits")
    with pytest.raises(ValueError, match=r"it has 0 PRIMARY"):
        clean_file(MODEL, tmp_path / "empty.fits")


def test_a_truncated_file_is_named(tmp_path):
    path = exposure(tmp_path / "e.fits", sky()[0])
    path.write_bytes(path.read_bytes()[:11000])
    with pytest.raises(ValueError, match=r"e.fits is damaged, truncated"):
        clean_file(MODEL, path)
    assert [p.name for p in tmp_path.iterdir()] == ["e.fits"]


def test_a_package_that_is_missing_is_named(monkeypatch):
    load = builtins.__import__

    def without(name, *args, **options):
        if name.startswith("astropy"):
            raise ImportError(name)
        return load(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install \"sciops\[fits\]\""):
        clean_file(MODEL, "image.fits")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the real images")
def test_real_files(tmp_path):
    small = network(width=2)
    done = clean_file(small, SHARED / "gmos.fits", tmp_path, threshold=0.9)
    assert done.images == 1 and done.pixels == 150 * 200
    with fits.open(SHARED / "gmos.fits") as old, fits.open(done.clean) as new:
        assert [h.name for h in new] == ["PRIMARY", "SCI", "VAR", "SKYFIT"]
        assert all(new[0].header[k] == v for k, v in old[0].header.items() if k != "COMMENT" and k)
