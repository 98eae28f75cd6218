"""Samples that are made one by one become splits that share none and do not depend on counts."""

import xarray as xr

from sciops.domains.collection import numbered_tree


def as_dataset(samples, attrs) -> xr.Dataset:
    return xr.Dataset({"number": ("sample", samples)}, attrs=attrs)


def make(numbers, *, progress, seed, length):
    assert not progress and length == (2, 3)
    return [seed + number for number in numbers]


def tree(**counts) -> xr.DataTree:
    how = dict(seed=7, length=(2, 3), progress=False)
    return numbered_tree(as_dataset, make, counts, {"title": "toy"}, **how)


def test_a_sample_is_the_same_however_many_there_are():
    few, many = tree(train=2, val=0, test=1), tree(train=3, val=2, test=2)
    assert set(few.children) == {"train", "test"}
    assert few["train"]["number"].values.tolist() == [7, 8]
    for split in few.children:
        n = few[split].sizes["sample"]
        assert few[split]["number"].equals(many[split]["number"][:n])
    numbers = [int(n) for split in many.children.values() for n in split["number"]]
    assert len(set(numbers)) == len(numbers)


def test_how_they_were_made_is_kept_as_json_has_it():
    assert tree(train=1)["train"].attrs == {"title": "toy", "seed": 7, "length": [2, 3]}
