"""Halves of any kind of data set: every sample in one of them, indices of all kinds."""

import pytest
import torch

from sciops.searching.parts import Part, halves
from tests.search_toy import Images


class Recorder:
    """A data set that returns the indices it is asked for."""

    draws_anew, lengths = False, None

    def __init__(self, n: int):
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitems__(self, indices):
        return list(indices)


def test_halves_depend_on_the_seed_alone_and_share_nothing():
    images = Images(9, 0)
    first, second = halves(images, 3)
    assert (len(first), len(second)) == (5, 4)
    assert sorted(first.rows + second.rows) == list(range(9))
    assert halves(images, 3)[0].rows == first.rows != halves(images, 4)[0].rows
    batch = second.__getitems__([2, 0])
    assert torch.equal(batch.x, images.x[[second.rows[2], second.rows[0]]])
    with pytest.raises(ValueError, match="cannot be divided"):
        halves(Images(1, 0), 0)


def test_indices_of_grids_epochs_and_lengths():
    whole = Recorder(10)
    whole.grids, whole.draws_anew, whole.lengths = 2, True, list(range(10, 20))
    part = Part(whole, [7, 4, 9])
    assert (part.grids, part.draws_anew, part.lengths) == (2, True, [17, 14, 19])
    assert part.__getitems__([(1, 2), (0, 0)]) == [(1, 9), (0, 7)]
    assert part.__getitems__([0, 2, 4, 8]) == [7, 9, 14, 29]  # epochs 0, 0, 1 and 2
