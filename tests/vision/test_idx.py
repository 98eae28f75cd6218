"""IDX files: what was written is read, and what lies about its size is refused."""

import gzip

import numpy as np
import pytest

from sciops.data.found import ReadError
from sciops.vision.idx import find_idx, read_idx, read_pair
from tests.vision.toy import IMAGES, LABELS, idx_bytes, write_mnist


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("joint", ["-", "."])
def test_a_folder_of_mnist(tmp_path, packed, joint):
    files = find_idx(write_mnist(tmp_path / "m", packed=packed, joint=joint))
    assert list(files) == ["train", "test"]
    train, test = (read_pair(*files[split]) for split in files)
    np.testing.assert_array_equal(train.images[:, 0], (IMAGES[:24] / 255).astype("f4"))
    np.testing.assert_array_equal(test.labels, LABELS[24:])


def test_a_folder_without_them_and_one_with_half_of_them(tmp_path):
    assert find_idx(tmp_path) == {}
    folder = write_mnist(tmp_path / "m")
    (folder / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(ReadError, match=r"no file t10k-labels-idx1-ubyte\[.gz\]"):
        find_idx(folder)


WHOLE = idx_bytes(IMAGES)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not there, empty"),
        (WHOLE[:3], "damaged or cut off"),
        (WHOLE[:9], "damaged or cut off"),
        (WHOLE[:-1], "900 bytes of data were expected, there are|more than the file"),
        (WHOLE + b"\0", "is longer than"),
        (idx_bytes(IMAGES, kind=13), "begins with 0000 0d 03, expected 0000 08 03"),
        (idx_bytes(LABELS.astype(np.uint8)), "expected 0000 08 03"),
        (idx_bytes(IMAGES, sizes=(2**31, 2**31, 2**31)), "more than the file or the memory"),
        (gzip.compress(idx_bytes(IMAGES, sizes=(2**20, 28, 28))), "more than the file"),
        (gzip.compress(WHOLE)[:-20], "damaged or cut off"),
        (gzip.compress(WHOLE)[:40] + bytes(100), "damaged or cut off"),
        (b"PNG", "damaged or cut off"),
    ],
)
def test_damaged_files_are_refused(tmp_path, data, message):
    path = tmp_path / "images"
    path.write_bytes(data)
    with pytest.raises(ReadError, match=message):
        read_idx(path, 3)


def test_images_and_labels_must_be_as_many(tmp_path):
    (tmp_path / "i").write_bytes(WHOLE)
    (tmp_path / "l").write_bytes(idx_bytes(LABELS[:7].astype(np.uint8)))
    with pytest.raises(ReadError, match=r"has 30 images, .* 7 labels"):
        read_pair(tmp_path / "i", tmp_path / "l")
