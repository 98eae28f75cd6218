"""Tables of pixels: the label in its place, squares and other shapes, damaged lines by number."""

import gzip

import numpy as np
import pytest

from sciops.data.found import ReadError
from sciops.vision.tables import read_table
from tests.vision.toy import IMAGES, LABELS


def table(*, first=False) -> bytes:
    pixels, labels = IMAGES.reshape(30, -1), LABELS[:, None]
    rows = np.hstack([labels, pixels] if first else [pixels, labels])
    return "".join(",".join(map(str, row)) + "\n" for row in rows.tolist()).encode()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("place", ["last", "first"])
def test_what_was_written_is_read(tmp_path, packed, place):
    data = table(first=place == "first")
    (tmp_path / "t").write_bytes(gzip.compress(data) if packed else data)
    made = read_table(tmp_path / "t", label=place, shape=(6, 5))
    np.testing.assert_array_equal(made.images[:, 0], (IMAGES / 255).astype("f4"))
    np.testing.assert_array_equal(made.labels, LABELS)
    colour = read_table(tmp_path / "t", label=place, shape=(3, 2, 5))
    assert colour.images.shape == (30, 3, 2, 5)


def test_squares_need_no_shape(tmp_path):
    (tmp_path / "t").write_text("0,1,0.5,1,7\n0,0,0,0,2")
    made = read_table(tmp_path / "t", brightest=1)
    assert made.images.tolist() == [[[[0, 1], [0.5, 1]]], [[[0, 0], [0, 0]]]]
    assert made.labels.tolist() == [7, 2]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("a,b,c\n1,2,3", {}, "line 1: .*expected numbers between commas, no header"),
        ("1,2,3,4,0\n1,2,3,0", {}, "line 2, has 4 columns; expected 5"),
        ("1,2,3,4,0\n1,2,3,x,0", {}, "line 2: "),
        ("1,2,3,4,0.5", {}, "last column should hold labels, whole numbers; it has 0.5"),
        ("1,2,3,0", {}, r"3 pixels in a line, no square; give shape=\(y, x\)"),
        ("1,2,3,4,0", {"shape": (3, 2)}, r"4 pixels in a line, not shape=\(3, 2\)"),
        ("1,2,3,nan,0", {}, "NaN or infinite"),
        ("1,2,3,4,0", {"brightest": 3}, "expected 0 to 3; give brightest"),
        ("1,2,3,4,-1", {}, "label -1 is negative"),
        ("1,2,3,4,0", {"label": "middle"}, "label='middle' must be one of 'last', 'first'"),
        ("é", {}, "line 1: "),
    ],
)
def test_damaged_tables_are_refused(tmp_path, text, options, message):
    (tmp_path / "t").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "t", **options)


def test_a_file_that_was_cut_off(tmp_path):
    (tmp_path / "t").write_bytes(gzip.compress(table())[:-30])
    with pytest.raises(ReadError, match=r"line \d+: "):
        read_table(tmp_path / "t", shape=(6, 5))
