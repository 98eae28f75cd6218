"""Folders of images: classes and files in the order of their names, no bombs, one size."""

import struct
import sys
import zlib

import numpy as np
import pytest

from sciops.data.found import ReadError
from sciops.vision.folders import MOST_PIXELS, read_folder

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (4, 6), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (4, 6, 3), dtype=np.uint8)


def save(path, array, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path, **options)


def test_classes_and_images_in_the_order_of_their_names(tmp_path):
    save(tmp_path / "dogs" / "b.png", GREY)
    save(tmp_path / "dogs" / "a.pgm", GREY // 2)
    save(tmp_path / "cats" / "z.bmp", GREY // 3)
    (tmp_path / "cats" / ".hidden").write_text("")
    made, classes = read_folder(tmp_path)
    assert classes == ["cats", "dogs"] and made["all"].labels.tolist() == [0, 1, 1]
    expected = np.stack([GREY // 3, GREY // 2, GREY])[:, None] / np.float32(255)
    np.testing.assert_allclose(made["all"].images, expected, rtol=1e-6)


def test_splits_share_their_classes(tmp_path):
    save(tmp_path / "train" / "cats" / "a.png", GREY)
    save(tmp_path / "train" / "dogs" / "a.png", GREY)
    save(tmp_path / "test" / "dogs" / "a.png", GREY)
    made, classes = read_folder(tmp_path)
    assert classes == ["cats", "dogs"]
    assert {s: d.labels.tolist() for s, d in made.items()} == {"train": [0, 1], "test": [1]}
    save(tmp_path / "birds" / "a.png", GREY)
    with pytest.raises(ReadError, match="has train, test beside 'birds'"):
        read_folder(tmp_path)


def test_colour_anywhere_is_colour_everywhere(tmp_path):
    save(tmp_path / "a" / "colour.png", COLOUR)
    save(tmp_path / "a" / "grey.png", GREY)
    save(tmp_path / "a" / "wide.png", GREY.astype(np.uint16) * 257)
    images = read_folder(tmp_path)[0]["all"].images
    np.testing.assert_allclose(images[0], COLOUR.transpose(2, 0, 1) / 255, rtol=1e-6)
    np.testing.assert_allclose(images[1], np.stack([GREY] * 3) / 255, rtol=1e-6)
    np.testing.assert_allclose(images[2], images[1], rtol=1e-6)


def test_sixteen_bits_stay_fine(tmp_path):
    wide = np.array([[0, 1], [65534, 65535]], np.uint16)
    save(tmp_path / "a" / "w.png", wide)
    np.testing.assert_allclose(read_folder(tmp_path)[0]["all"].images[0, 0], wide / 65535)


def test_images_of_several_sizes_are_scaled_on_request(tmp_path):
    save(tmp_path / "a" / "1.png", GREY)
    save(tmp_path / "a" / "2.png", np.full((8, 8), 51, np.uint8))
    with pytest.raises(ReadError, match=r"2.png has \(8, 8\) pixels, .*1.png \(4, 6\); give size"):
        read_folder(tmp_path)
    images = read_folder(tmp_path, size=(4, 6))[0]["all"].images
    assert images.shape == (2, 1, 4, 6)
    np.testing.assert_allclose(images[1], 0.2, rtol=1e-6)


def png_that_declares(height: int, width: int) -> bytes:
    """A PNG of some bytes with a huge header."""
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = b"IDAT" + zlib.compress(b"\0" * 1000)
    parts = [
        struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (chunk, data)
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("size", [(6000, 6000), (40000, 40000)])
def test_bombs_are_not_decoded(tmp_path, size):
    assert size[0] * size[1] > MOST_PIXELS
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "bomb.png").write_bytes(png_that_declares(*size))
    with pytest.raises(ReadError, match=r"at most|too large"):
        read_folder(tmp_path, size=(4, 4))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("cut.png", None, "cut.png is damaged"),
        ("text.png", b"no image", "text.png is damaged, too large or none of PNG"),
        ("note.txt", b"hello", "note.txt is no image"),
        ("script.png", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "none of PNG"),
    ],
)
def test_other_files_are_refused(tmp_path, name, data, message):
    save(tmp_path / "a" / "whole.png", COLOUR)
    whole = (tmp_path / "a" / "whole.png").read_bytes()
    (tmp_path / "a" / name).write_bytes(whole[:-30] if data is None else data)
    with pytest.raises(ReadError, match=message):
        read_folder(tmp_path)


def test_nothing_to_read(tmp_path):
    with pytest.raises(ReadError, match="no images in folders of classes"):
        read_folder(tmp_path)


def test_without_pillow_it_says_what_to_install(tmp_path, monkeypatch):
    save(tmp_path / "a" / "1.png", GREY)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install sciops\[images\]"):
        read_folder(tmp_path)
