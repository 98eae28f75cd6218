"""Windows are what they would be if they were cut out of the whole maps."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sciops.data.shuffling import ShuffledBatches
from sciops.proteins.map_windows import MapWindows, input_map, map_task
from sciops.proteins.ragged import expanded
from tests.proteins.toy import walk

LONG, SHORT = walk(30, 1, "long"), walk(9, 2, "short")


def test_the_task_counts_channels():
    task = map_task(LONG, window=16)
    assert (task.in_channels, task.out_channels) == (2 * 3 + 1 + 1, 1)
    assert map_task(LONG, window=16, separation=False).in_channels == 7
    assert [axis.size for axis in task.axes] == [16, 16]


def test_channels_are_those_of_the_whole_map():
    task = map_task(LONG, window=16)
    whole = expanded(LONG, ["profile"], ["couplings"])
    i = np.arange(30)
    separation = np.log1p(abs(i[:, None] - i)).astype(np.float32)
    whole = np.concatenate([whole, separation[None]])
    rows, columns = slice(3, 19), slice(11, 27)
    assert np.array_equal(input_map(LONG, task, rows, columns), whole[:, rows, columns])
    assert np.array_equal(input_map(LONG, task, slice(None), slice(None)), whole)


def test_windows_have_their_own_offsets_and_all_of_them():
    task = map_task(LONG, window=16)
    whole = input_map(LONG, task, slice(None), slice(None))
    starts = set()
    for index in range(400):
        x, y = (side[0] for side in MapWindows([LONG], task).__getitems__([index]))
        places = [
            (r, c)
            for r in range(15)
            for c in range(15)
            if np.array_equal(x[6].numpy(), whole[6, r : r + 16, c : c + 16])
        ]
        ((r, c),) = places
        assert np.array_equal(x.numpy(), whole[:, r : r + 16, c : c + 16])
        assert np.array_equal(y[0].numpy(), LONG.distance[r : r + 16, c : c + 16])
        starts.add((r, c))
    assert {r for r, _ in starts} == {c for _, c in starts} == set(range(15))
    assert len(starts) > 150  # of 225: rows and columns are drawn apart


def test_a_short_chain_stands_in_the_corner():
    task = map_task(SHORT, window=16)
    (x,), (y,) = MapWindows([SHORT], task).__getitems__([0])
    assert np.array_equal(x[:, :9, :9].numpy(), input_map(SHORT, task, slice(None), slice(None)))
    assert not x[:, 9:].any() and not x[:, :, 9:].any()
    assert np.array_equal(y[0, :9, :9].numpy(), SHORT.distance)
    assert y[0, 9:].isnan().all() and y[0, :, 9:].isnan().all()


def test_index_and_seed_decide_the_window():
    task = map_task(LONG, window=16)
    data = MapWindows([LONG, SHORT], task, seed=3)
    assert len(data) == 2
    first, again = (data.__getitems__([0, 1, 2]) for _ in range(2))
    assert torch.equal(first.x, again.x) and first.x.shape == (3, 8, 16, 16)
    assert not torch.equal(first.x[0], first.x[2])  # the same protein, another window
    other = MapWindows([LONG, SHORT], task, seed=4).__getitems__([0])
    assert not torch.equal(first.x[:1], other.x)


def test_every_epoch_draws_anew():
    sampler = ShuffledBatches(5, 2, seed=0, anew=True)
    for sampler.epoch in range(3):
        drawn = sorted(index for batch in sampler for index in batch)
        assert drawn == list(range(5 * sampler.epoch, 5 * sampler.epoch + 5))


def test_features_and_structures_must_be_there():
    task = map_task(LONG, window=16)
    with pytest.raises(ValueError, match=r"'couplings', which 'long' lacks; it has profile: 6"):
        MapWindows([replace(LONG, maps={})], task)
    wide = replace(LONG, profiles={"profile": np.zeros((30, 4), np.float32)})
    with pytest.raises(ValueError, match=r"'profile: 6', which 'long' lacks; .* profile: 8"):
        MapWindows([wide], task)
    with pytest.raises(ValueError, match="no structure is known of long"):
        MapWindows([SHORT, replace(LONG, distance=None)], task)
