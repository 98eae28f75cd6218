"""A prediction has the numbers of the model and the labels of the data."""

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from sciops.data.samples import task_of
from sciops.evaluation.labelled import labelled_prediction
from sciops.task import Field, Task
from tests.grid_toy import Power, Where, closed_line, line, plane


def test_fields_are_predicted_on_the_grid_of_the_data():
    task, ds = task_of(line(16)), line(32).drop_vars("u")
    found = labelled_prediction(Power(), ds, task)
    assert list(found.data_vars) == ["u"] and found["u"].dims == ("sample", "x")
    np.testing.assert_allclose(found["u"], ds["a"] ** 2, rtol=1e-6)
    xr.testing.assert_identical(found["x"].variable, ds["x"].variable)
    np.testing.assert_array_equal(found["sample"], ds["sample"])
    assert found.attrs["task"] == "toy"


def test_the_model_is_told_where_the_points_are():
    task, points = task_of(closed_line()), np.array([5.0, 5.5, 7.0, 8.0])
    found = labelled_prediction(Where(task), closed_line(points=points), task)
    np.testing.assert_allclose(found["u"][0], (points - 5) / 3, rtol=1e-6)


class Onward(nn.Module):
    """The last of the given frames plus 1 and 2."""

    def forward(self, x, coords=None):
        return x[:, -1:] + torch.tensor([1.0, 2.0]).view(1, 2, 1, 1)


def test_time_goes_on_where_the_history_ends():
    whole = plane(frames=6).assign_coords(time=[0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    task = task_of(whole)
    found = labelled_prediction(Onward(), whole, task)
    assert found["w"].dims == ("sample", "time", "x", "y")
    assert found["time"].values.tolist() == [2.0, 2.5]
    last = whole["w"].values[:, 3]
    np.testing.assert_allclose(found["w"].values, np.stack([last + 1, last + 2], 1), rtol=1e-6)
    history = labelled_prediction(Onward(), whole.isel(time=slice(4)), task)
    xr.testing.assert_identical(history, found)
    longer = xr.concat([whole, whole.assign_coords(time=whole["time"] + 3)], "time")
    xr.testing.assert_identical(labelled_prediction(Onward(), longer, task), found)
    unlabelled = labelled_prediction(Onward(), whole.drop_vars("time"), task)
    assert unlabelled["time"].values.tolist() == [4, 5]


def test_frames_of_something_that_has_none():
    """Only the targets have time, and the data of the inputs do not know of it."""
    ds = plane()
    task = Task("toy", (Field("a"),), (Field("w", (0, 2)),), task_of(ds).axes)
    found = labelled_prediction(Onward(), ds, task)
    assert found["time"].values.tolist() == [0, 1]
    np.testing.assert_allclose(found["w"].values[:, 1], ds["a"] + 2, rtol=1e-6)


class Both(nn.Module):
    def forward(self, x, coords=None):
        return torch.cat([x, 2 * x], 1)


def test_several_targets_have_their_own_channels():
    ds = line()
    task = Task("toy", (Field("a"),), (Field("u"), Field("v")), task_of(ds).axes)
    found = labelled_prediction(Both(), ds, task)
    np.testing.assert_array_equal(found["u"], ds["a"])
    np.testing.assert_array_equal(found["v"], 2 * ds["a"])


def test_inputs_that_are_not_there_are_named():
    with pytest.raises(ValueError, match="the data lack a and have u"):
        labelled_prediction(Power(), line().drop_vars("a"), task_of(line()))
