"""Training on several grids: each batch on one of them, all of them in turn, in a known order."""

import pytest
import torch

from sciops.data.samples import MemorySamples
from sciops.data.several_grids import SeveralGrids
from sciops.data.shuffling import ShuffledBatches
from tests.grid_toy import line


def grids(*sizes: int, samples: int = 7) -> SeveralGrids:
    return SeveralGrids([MemorySamples(line(n, samples)) for n in sizes])


def test_a_pair_is_a_sample_on_a_grid():
    data = grids(8, 12, 16)
    assert (len(data), data.grids) == (7, 3)
    assert data.task == data.members[-1].task and data.task.axes[0].size == 16
    batch = data.__getitems__([(1, 4), (1, 0)])
    assert torch.equal(batch.x, data.members[1].x[[4, 0]])
    assert torch.equal(batch.y, data.members[1].y[[4, 0]])


def test_each_grid_has_the_same_samples():
    members = [MemorySamples(line(8, 3)), MemorySamples(line(12, 4))]
    with pytest.raises(ValueError, match=r"each grid must have the same samples; .* \[3, 4\]"):
        SeveralGrids(members)


def test_a_batch_has_one_grid_and_all_are_drawn():
    sampler = ShuffledBatches(7, 3, seed=0, grids=3)
    drawn = []
    for epoch in range(20):
        sampler.epoch = epoch
        batches = list(sampler)
        assert sorted(sample for batch in batches for _, sample in batch) == list(range(7))
        assert [len(batch) for batch in batches] == [3, 3, 1]
        for batch in batches:
            (grid,) = {grid for grid, _ in batch}
            drawn.append(grid)
        assert list(sampler) == batches
    assert min(drawn.count(grid) for grid in range(3)) >= 10  # of 60


def test_seed_and_epoch_decide_the_grids():
    def order(seed: int, epoch: int) -> list:
        sampler = ShuffledBatches(40, 3, seed=seed, grids=2)
        sampler.epoch = epoch
        return [batch[0][0] for batch in sampler]

    assert order(0, 1) == order(0, 1)
    assert order(0, 1) != order(0, 2)
    assert order(0, 1) != order(1, 1)


def test_coarse_grids_have_the_first_epochs():
    sampler = ShuffledBatches(4, 2, seed=0, grids=3, coarse_epochs=4)
    drawn = []
    for sampler.epoch in range(6):
        drawn.append({grid for batch in sampler for grid, _ in batch})
    assert drawn == [{0}, {0}, {1}, {1}, {2}, {2}]


def test_processes_take_their_shares_on_the_same_grid():
    sampler = ShuffledBatches(7, 3, seed=0, grids=2)
    whole = list(sampler)
    shares = []
    for rank in range(2):
        sampler.process = rank, 2
        shares.append(list(sampler))
    for batch, *parts in zip(whole, *shares, strict=True):
        together = parts[0] if len(batch) == 1 else parts[0] + parts[1]
        assert sorted(together) == sorted(batch)
