"""Every planted defect of stamps is found."""

import numpy as np
import pytest

import sciops
from sciops.cosmic.collection import tree_of
from tests.cosmic.test_stamps import ATTRS, tree
from tests.cosmic.toy import stamp


def planted(**changes):
    """The toy with some stamps of a split replaced."""
    parts = {"train": range(4), "val": [5], "test": [6, 7]}
    made = {s: [stamp(k, row=8 * k) for k in ks] for s, ks in parts.items()}
    return tree_of({**made, **changes}, ATTRS)


def failures(data) -> str:
    return " ".join(sciops.check(data).failures)


def test_honest_stamps_pass():
    assert sciops.check(tree()).ok
    assert sciops.check(tree()["train"].to_dataset()).ok
    assert sciops.check(sciops.generate("cosmic", n=4, size=64, progress=False)).ok


def test_values_that_are_not_finite():
    bad = stamp(9)
    bad.image[2, 2] = np.nan
    assert "1 of 1 images have NaN" in failures(planted(val=[bad]))


def test_a_mask_is_0_or_1():
    data = tree()["train"].to_dataset()
    data["mask"][0, 0, 0] = 7
    assert "a mask has the value 7" in failures(data)


@pytest.mark.parametrize("value", [0, 1])
def test_too_many_hits_or_none(value):
    bad = stamp(9)
    bad.mask[:] = value
    assert "of the pixels are cosmic rays" in failures(planted(val=[bad]))


def test_all_ignored():
    bad = stamp(9)
    bad.ignore[:] = 1
    assert "all pixels are to be ignored" in failures(planted(val=[bad]))


def test_the_same_image_twice():
    assert "stamp 0 of val is stamp 2 of train" in failures(planted(val=[stamp(2, field="other")]))
    assert "1 images repeat others" in failures(planted(val=[stamp(9), stamp(9, row=8)]))


def test_the_same_place_in_another_exposure():
    leak = stamp(9, field="toy-3", row=24, exposure=2)
    assert "'toy-3' at (24, 0) is in train and in test" in failures(planted(test=[leak]))
