"""Trees of images from every kind of file, and the digits that need none."""

import sys

import numpy as np
import pytest

import sciops
from sciops.data.found import ReadError
from sciops.vision.collection import digits_tree, read_tree
from tests.data.file_writers import shared
from tests.vision.toy import IMAGES, LABELS, write_mnist


def sizes(tree) -> dict:
    return {name: split.sizes["sample"] for name, split in tree.children.items()}


@pytest.fixture(scope="module")
def mnist():
    return read_tree(shared("vision/mnist_5k.csv.gz"))


def test_mnist_of_5000(mnist):
    assert sizes(mnist) == {"train": 3500, "val": 500, "test": 1000}
    test = mnist["test"]
    assert np.bincount(test["label"]).tolist() == [100] * 10
    assert test["image"].shape == (1000, 1, 28, 28) and test["image"].dtype == np.float32
    assert float(test["image"].max()) == 1 and test.attrs["classes"][7] == "7"
    assert sciops.check(mnist).ok


def test_digits_without_a_file():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    tree = sciops.load("vision")
    assert sizes(tree) == {"train": 1258, "val": 180, "test": 359}
    assert sciops.check(tree).ok
    assert (
        tree["train"]["image"].shape[1:] == (1, 8, 8) and float(tree["train"]["image"].max()) == 1
    )
    numbers = np.concatenate([split["sample"] for split in tree.children.values()])
    assert sorted(numbers) == list(range(1797))
    share = np.bincount(tree["test"]["label"])
    assert share.min() >= 34 and share.max() <= 37


def test_some_of_the_digits_are_the_first_of_all():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    few = sciops.load("vision", n_train=50, n_val=0, n_test=20, variant="permuted", seed=4)
    assert sizes(few) == {"train": 50, "test": 20}
    whole = sciops.load("vision", variant="permuted", seed=4)
    np.testing.assert_array_equal(few["test"]["image"], whole["test"]["image"][:20])
    assert np.bincount(few["train"]["label"]).tolist() == [5] * 10
    for wrong in (dict(n_test=400), dict(n_train=-1), dict(n_val=2.5)):
        with pytest.raises(ValueError, match=r"n_\w+=.* must be a whole number, 0 to"):
            sciops.load("vision", **wrong)


def test_the_verbs_say_what_images_are_not():
    with pytest.raises(ValueError, match=r"images are not generated: sciops.load\('vision'\)"):
        sciops.generate("vision")
    with pytest.raises(ValueError, match=r"vision has no resolution.*variant=plain"):
        sciops.load("vision", resolution=32)


def test_digits_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match=r"pip install sciops\[digits\]"):
        digits_tree()


def test_files_that_say_what_tests_keep_it(tmp_path):
    tree = read_tree(write_mnist(tmp_path / "mnist"), val=6)
    assert sizes(tree) == {"train": 18, "val": 6, "test": 6}
    assert tree.attrs["title"] == "mnist" and tree.attrs["classes"] == ["0", "1", "2"]
    assert tree["test"]["sample"].values.tolist() == list(range(24, 30))
    np.testing.assert_array_equal(tree["test"]["image"][:, 0], (IMAGES[24:] / 255).astype("f4"))
    trained = np.concatenate([tree["train"]["sample"], tree["val"]["sample"]])
    assert sorted(trained) == list(range(24))
    assert np.bincount(tree["val"]["label"]).tolist() == [2, 2, 2]
    assert sizes(read_tree(tmp_path / "mnist", val=None)) == {"train": 24, "test": 6}
    assert sizes(read_tree(tmp_path / "mnist"))["val"] == 2


def test_a_store_gives_them_back(tmp_path):
    arrays = {"all": (IMAGES, LABELS)}
    tree = sciops.read("vision", arrays, classes=["a", "b", "c"], out=tmp_path / "mine.zarr")
    again = sciops.read("vision", arrays, classes=["a", "b", "c"])
    assert sizes(tree) == sizes(again) == {"train": 21, "val": 3, "test": 6}
    for split in again.children:
        np.testing.assert_array_equal(tree[split]["image"], again[split]["image"])
        np.testing.assert_array_equal(tree[split]["label"], again[split]["label"])
    assert tree["train"].attrs["classes"] == ["a", "b", "c"]
    assert sciops.check(tmp_path / "mine.zarr").ok


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"all": (IMAGES, LABELS), "test": (IMAGES, LABELS)}, {}, "'all' alone; got all, test"),
        ({"exam": (IMAGES, LABELS)}, {}, "images are for train, val, test"),
        ({"train": (IMAGES, LABELS)}, {"split": {"train": 0.5}}, "leave split out"),
        ({"train": (IMAGES, LABELS)}, {"val": 30}, "val=30 must leave some of the 30"),
        ({"train": (IMAGES, LABELS)}, {"val": 0.001}, "val=0.001 must leave some"),
        ({"train": (IMAGES, LABELS)}, {"colour": 3}, "does not take these options"),
        (
            {"train": (IMAGES, LABELS), "test": (IMAGES[:, 1:], LABELS)},
            {},
            "images must have one shape",
        ),
    ],
)
def test_what_cannot_be_is_refused(arrays, options, message):
    with pytest.raises(ValueError, match=message):
        read_tree(arrays, **options)


def test_a_path_without_images(tmp_path):
    with pytest.raises(ReadError, match="there is no file or folder"):
        read_tree(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="one file, one folder or arrays"):
        read_tree([tmp_path, tmp_path])
    with pytest.raises(ValueError, match="does not take size"):
        read_tree(write_mnist(tmp_path / "mnist"), size=(4, 4))
