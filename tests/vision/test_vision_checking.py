"""What is wrong with images is said, split by split."""

import numpy as np
import pytest

import sciops
from sciops.vision.collection import read_tree
from tests.vision.toy import IMAGES, LABELS


def damaged(split, change):
    tree = read_tree({"all": (IMAGES, LABELS)})
    tree[split] = change(tree[split].to_dataset(inherit=False).copy(deep=True))
    return sciops.check(tree)


def test_whole_data_are_fine():
    assert damaged("train", lambda ds: ds).ok


def pixel(ds, value):
    ds["image"][0, 0, 0, 0] = value
    return ds


@pytest.mark.parametrize(
    ("split", "change", "message"),
    [
        ("val", lambda ds: pixel(ds, 1.5), r"images \(val\): values reach from .* to 1.5"),
        ("val", lambda ds: pixel(ds, np.nan), "values reach from nan"),
        ("train", lambda ds: ds.assign(image=ds["image"] * 0), "21 images are of one brightness"),
        ("test", lambda ds: ds.assign(label=ds["label"] + 9), "but there are 3 classes"),
        ("train", lambda ds: ds.isel(sample=ds["label"] > 0), "there is no image of 0"),
        ("test", lambda ds: ds.astype("f8"), "images are float64.*labels are float64|float64"),
        ("test", lambda ds: ds.drop_vars("label"), r"schema \(test\): .*lacks label"),
        (
            "train",
            lambda ds: ds.assign(image=ds["image"][[1, 1, *range(2, 21)]].drop_vars("sample")),
            "have another label elsewhere",
        ),
    ],
)
def test_every_damage_is_found(split, change, message):
    report = damaged(split, change)
    assert not report.ok
    assert any(__import__("re").search(message, failure) for failure in report.failures), report


def test_an_image_in_two_splits_is_a_leak():
    tree = read_tree({"all": (IMAGES, LABELS)})
    twice = {
        "train": (IMAGES[:20], LABELS[:20]),
        "val": (IMAGES[20:25], LABELS[20:25]),
        "test": (np.concatenate([IMAGES[25:], IMAGES[:2]]), np.append(LABELS[25:], LABELS[:2])),
    }
    assert sciops.check(read_tree(twice)).failures == ["leaks (all): train and test share 2 images"]
    tree["test"] = tree["train"].isel(sample=slice(3)).to_dataset()
    assert sciops.check(tree).failures == [
        "leaks (all): train and test share 3 images; train and test share 3 numbers"
    ]
    with pytest.warns(UserWarning, match="train and test share 2 images"):
        sciops.read("vision", twice)
