"""Arrays become labelled splits: the samples asked for, sound grids, and clear refusals."""

import numpy as np
import pytest

from sciops.domains.labelling import from_arrays
from tests.domains.layout_files import assert_labelled, counted

A = counted(10, 8)


@pytest.mark.parametrize(
    "split, expected",
    [
        ({"train": 0.8, "val": 0.1, "test": 0.1}, ((0, 8), (8, 9), (9, 10))),
        ({"train": 0.5, "test": 0.3}, ((0, 5), (5, 8))),
        ({"test": 2, "train": 5}, ((2, 7), (0, 2))),
        ({"train": slice(2, 6), "test": slice(-3, None)}, ((2, 6), (7, 10))),
        (None, ((0, 10),)),
    ],
)
def test_splits_are_the_samples_asked_for(split, expected):
    tree = from_arrays("burgers", {"a": A, "u": -A}, split=split)
    assert_labelled(tree)
    for child, (start, stop) in zip(tree.children.values(), expected, strict=True):
        np.testing.assert_array_equal(child["sample"], np.arange(start, stop))
        np.testing.assert_array_equal(child["u"], -A[start:stop])


@pytest.mark.parametrize("n", range(3, 60, 7))
def test_fractions_neither_overlap_nor_lose_samples(n):
    arrays = {"a": counted(n, 4), "u": counted(n, 4)}
    tree = from_arrays("burgers", arrays, split={"train": 0.4, "val": 0.3, "test": 0.3})
    numbers = np.concatenate([child["sample"] for child in tree.children.values()])
    np.testing.assert_array_equal(numbers, np.arange(n))


@pytest.mark.parametrize(
    "split, message",
    [
        ({"train": 8, "test": 3}, "test should be the samples.*but there are 10"),
        ({"train": 0.8, "test": 0.4}, "test should be the samples.*but there are 10"),
        ({"train": slice(0, 6), "test": slice(5, 8)}, "overlaps another split"),
        ({"train": slice(0, 60)}, "there are 10"),
        ({"train": slice(5, 5)}, "there are 10"),
        ({"train": 1.5}, "a fraction ≤ 1, a count or a slice"),
        ({"train": True}, "a fraction ≤ 1, a count or a slice"),
        ({"train": "all"}, "a fraction ≤ 1, a count or a slice"),
        ({"training": 5}, r"splits are train, val, test; got \['training'\]"),
        ({}, "splits are train"),
        ("random", "must be one of 'original', None"),
    ],
)
def test_impossible_splits(split, message):
    with pytest.raises(ValueError, match=message):
        from_arrays("burgers", {"a": A, "u": A}, split=split)


@pytest.mark.parametrize(
    "arrays, options, message",
    [
        ({"a": A}, {}, r"burgers needs u; got \['a'\]"),
        ({"a": A, "w": A}, {}, "fields name w, but the variables of burgers are a, u"),
        ({"a": A, "u": A[:, :4]}, {}, "'u' of shape .* has 4 along 'x', 'a' has 8"),
        ({"a": A, "u": A[..., None]}, {}, r"'u' should have the dimensions \('sample', 'x'\)"),
        ({"a": A, "u": A * 1j}, {}, "'u' should be real numbers, it is complex128"),
        ({"a": A[:0], "u": A[:0]}, {}, "not 0"),
        ({"a": A, "u": A}, {"coords": {"x": np.arange(5)}}, "'x' should have 8 points.*(5,)"),
        ({"a": A, "u": A}, {"coords": {"x": np.arange(8)[::-1]}}, "finite and increase"),
        ({"a": A, "u": A}, {"coords": {"x": np.arange(8) ** 2}}, "evenly spaced"),
        ({"a": A, "u": A}, {"dims": {"u": ("sample", "y")}}, "called"),
        ({"a": A, "u": A}, {"coords": {"y": np.arange(8)}}, "coords name y, but the dimensions"),
        ({"a": A, "u": A}, {"split": [8, 2]}, r"split=\[8, 2\] must be"),
        ({"a": A, "u": A}, {"split": 0.8}, "split=0.8 must be"),
        ({"a": A[:, :1], "u": A[:, :1]}, {}, "'x' has 1 points; a grid needs at least 2"),
        ({"a": A, "u": A}, {"subsample": 0}, "subsample=0"),
        ({"a": A, "u": A}, {"val": 10}, "val=10 should leave some of the 10"),
        ({"a": A, "u": A, "trajectory": counted(10, 3, 8)}, {}, "times of the 3 frames"),
    ],
)
def test_arrays_that_do_not_fit(arrays, options, message):
    with pytest.raises(ValueError, match=message):
        from_arrays("burgers", arrays, **options)


def test_val_is_not_taken_twice():
    with pytest.raises(ValueError, match="has a 'val' already"):
        from_arrays("burgers", {"a": A, "u": A}, split={"train": 5, "val": 2}, val=1)


def test_a_closed_grid_keeps_its_edge():
    a = counted(2, 9, 9)
    tree = from_arrays("darcy", {"a": a, "u": a}, subsample=4)
    np.testing.assert_array_equal(tree["train/x"], [0, 0.5, 1])
    with pytest.raises(ValueError, match="subsample=3 should divide the 8 steps"):
        from_arrays("darcy", {"a": a, "u": a}, subsample=3)


def test_a_forecast_needs_two_frames():
    with pytest.raises(ValueError, match="needs at least two"):
        from_arrays("navier_stokes", {"vorticity": counted(2, 1, 4, 4)}, coords={"time": [1.0]})
    short = from_arrays(
        "navier_stokes", {"vorticity": counted(2, 5, 4, 4)}, coords={"time": range(5)}
    )
    assert short.attrs["targets"] == [{"variable": "vorticity", "frames": [2, 5]}]


def test_a_fraction_may_be_of_any_precision():
    split = {"train": np.float32(0.5), "test": np.float64(0.5)}
    tree = from_arrays("burgers", {"a": A, "u": A}, split=split)
    assert tree["train"].sizes["sample"] == tree["test"].sizes["sample"] == 5


def test_integers_and_metadata():
    tree = from_arrays(
        "burgers",
        {"a": A.astype(int), "u": A > 3},
        parameters={"viscosity": 0.2},
        license="CC0-1.0",
    )
    assert tree["train/a"].dtype == tree["train/u"].dtype == np.float32
    assert tree.attrs["parameters"] == {"viscosity": 0.2}
    assert tree["train"].attrs["license"] == "CC0-1.0"
    assert tree["train"].attrs["source"] == "unknown"
