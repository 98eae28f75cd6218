"""Rows of labelled data become batches in the order of the task, and bad data are named."""

import numpy as np
import pytest
import torch

from sciops.data.rows import check_fields, read_rows, sample_numbers
from sciops.data.samples import MemorySamples, task_of
from sciops.data.store import open_store, write
from tests.data.toy import toy


@pytest.mark.parametrize("frames", [0, 5])
def test_rows_are_those_of_the_whole(frames):
    ds = toy(n=7, frames=frames)
    whole = MemorySamples(ds)
    batch = read_rows(ds, whole.task, slice(2, 5))
    torch.testing.assert_close(batch.x, whole.x[2:5], rtol=0, atol=0)
    torch.testing.assert_close(batch.y, whole.y[2:5], rtol=0, atol=0)


def test_dimensions_in_another_order_are_put_right():
    ds = toy(n=7, frames=5)
    task = task_of(ds)
    turned = ds.transpose("x", "time", "sample")
    for a, b in zip(
        read_rows(turned, task, slice(1, 4)), read_rows(ds, task, slice(1, 4)), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_rows_of_a_store(tmp_path):
    ds = toy(n=7, first=3)
    write(tmp_path / "toy.zarr", {"test": ds}, chunk_samples=2)
    stored = open_store(tmp_path / "toy.zarr")["test"].to_dataset()
    task = task_of(ds)
    check_fields(stored, task)
    torch.testing.assert_close(
        read_rows(stored, task, slice(3, 6)).y, read_rows(ds, task, slice(3, 6)).y
    )
    assert sample_numbers(stored).tolist() == [3, 4, 5, 6, 7, 8, 9]


def test_the_data_are_not_touched():
    ds = toy(n=3)
    before = ds.copy(deep=True)
    read_rows(ds, task_of(ds), slice(0, 3)).x.zero_()
    assert ds.identical(before)


def test_samples_without_numbers_are_counted():
    assert sample_numbers(toy(n=3).drop_vars("sample")).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ds: ds.rename(u="v"), "needs the variables a, u, w; .* lack u .*have a, v"),
        (lambda ds: ds.isel(sample=0), r"'w' should have the dimensions.*isel\(sample=\[0\]\)"),
        (lambda ds: ds.rename(x="z"), r"should have the dimensions \('sample', 'time', 'x'\)"),
        (lambda ds: ds.isel(time=[0, 1]), "frames 2 to 4 of 'w'; the data have 2 frames"),
        (lambda ds: ds.isel(sample=[]), "have no sample"),
    ],
)
def test_data_that_do_not_fit_the_task(change, message):
    ds = toy(frames=5)
    ds.attrs["targets"].append({"variable": "u", "frames": None})
    with pytest.raises(ValueError, match=message):
        check_fields(change(ds), task_of(ds))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_values_are_named(bad):
    ds = toy(n=6, first=20)
    ds["u"][4, 1] = bad
    task = task_of(ds)
    read_rows(ds, task, slice(0, 4))
    with pytest.raises(ValueError, match="'u' has NaN or infinite values in the samples 24, and"):
        read_rows(ds, task, slice(3, 6))


def test_many_bad_samples_are_counted():
    ds = toy(n=20)
    ds["a"][5:16] = np.nan
    with pytest.raises(ValueError, match="samples 5, 6, 7, 8, 9, 10, 11, 12 and 3 more"):
        read_rows(ds, task_of(ds), slice(0, 20))


def test_bad_frames_that_nobody_needs_do_not_matter():
    ds = toy(n=3, frames=5)
    ds.attrs["targets"] = [{"variable": "w", "frames": [2, 4]}]
    ds["w"][1, 4] = np.nan
    assert read_rows(ds, task_of(ds), slice(0, 3)).y.isfinite().all()
