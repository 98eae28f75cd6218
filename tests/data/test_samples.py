"""Labelled data become tensors without a number, a channel or an axis out of place."""

import numpy as np
import pytest
import torch

from sciops.data.samples import MemorySamples, batches, task_of
from sciops.task import Field
from tests.data.toy import toy


def test_task_is_read_from_the_labels():
    task = task_of(toy(frames=5))
    assert task.inputs == (Field("w", (0, 2)), Field("a"))
    assert (task.in_channels, task.out_channels) == (3, 3)
    (axis,) = task.axes
    assert (axis.name, axis.size, axis.periodic) == ("x", 5, True)
    assert axis.length == pytest.approx(1.0)


def test_closed_axis_is_as_long_as_its_points():
    ds = toy()
    ds.attrs["boundary_conditions"] = {"x": "dirichlet 0"}
    (axis,) = task_of(ds).axes
    assert not axis.periodic
    assert axis.length == pytest.approx(0.8)


def test_frames_become_channels_in_order():
    ds = toy(frames=5)
    samples = MemorySamples(ds)
    np.testing.assert_array_equal(samples.x[:, :2], ds["w"].values[:, :2])
    np.testing.assert_array_equal(samples.x[:, 2], ds["a"].values)
    np.testing.assert_array_equal(samples.y, ds["w"].values[:, 2:])
    assert samples.x.dtype == torch.float32


@pytest.mark.parametrize("workers", [0, 2])
def test_every_sample_once_an_epoch_with_its_own_target(workers):
    samples = MemorySamples(toy(n=13))
    loader = batches(samples, 4, shuffle=True, seed=3, workers=workers)
    epochs = [list(loader) for _ in range(2)]
    for epoch in epochs:
        assert [len(batch.x) for batch in epoch] == [4, 4, 4, 1]
        x, y = (torch.cat(side) for side in zip(*epoch, strict=True))
        torch.testing.assert_close(y, 2 * x)
        torch.testing.assert_close(x[:, 0, 0].sort().values, samples.x[:, 0, 0])
    assert not torch.equal(epochs[0][0].x, epochs[1][0].x)
    again = next(iter(batches(samples, 4, shuffle=True, seed=3)))
    torch.testing.assert_close(again.x, epochs[0][0].x)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(inputs=None), "do not say what their inputs are"),
        (dict(inputs=[{"variable": "b"}]), "name 'b', but the variables are a, u"),
        (
            dict(targets=[{"variable": "w", "frames": [3, 9]}]),
            r"frames \[3, 9\] of 'w', which has 5",
        ),
    ],
)
def test_labels_that_do_not_fit_are_errors(change, message):
    ds = toy(frames=5) if "targets" in change else toy()
    with pytest.raises(ValueError, match=message):
        task_of(ds.assign_attrs(change))


def test_inputs_and_targets_must_share_a_grid():
    ds = toy().rename(x="y").assign(b=("sample", toy()["a"][:, 0].values))
    ds.attrs["targets"] = [{"variable": "b", "frames": None}]
    with pytest.raises(ValueError, match="must share their grid"):
        task_of(ds)
