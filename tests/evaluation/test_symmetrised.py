"""The mean over a group commutes with every member of it, and is no worse than its parts."""

import numpy as np
import pytest
import torch
from torch import nn

from sciops.data.symmetries import SYMMETRIES, Placed, members, transformed
from sciops.evaluation.symmetrised import Symmetrised
from sciops.metrics import relative_l2
from sciops.task import Batch

GRIDS = {
    "flip": (7, 6),
    "mirror": (7, 6),
    "swap": (6, 6),
    "odd_flip": (16,),
    "roll": (16,),
    "slide": (8, 8),
    "half_turn": (8, 8),
    "odd_swap": (8, 8),
}
SIZES = {"flip": 4, "mirror": 4, "swap": 2, "odd_flip": 2, "roll": 8, "slide": 8}
SIZES |= {"half_turn": 2, "odd_swap": 2}


def points(size):
    return tuple(torch.linspace(0, 0.9, n, dtype=torch.float64) for n in size)


def sample(size, seed=0):
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(3, 1, *size, dtype=torch.float64, generator=noise)


class Uneven(nn.Module):
    """A network without any symmetry, which knows where its points are."""

    def forward(self, x, coords=None):
        weights = torch.arange(1.0, 1 + x[0, 0].numel(), dtype=x.dtype).view(x.shape[2:])
        here = 0 if coords is None else coords[0].view(-1, *[1] * (x.ndim - 3))
        return (x * weights + here).tanh() + x.roll(1, 2) * weights


def test_every_symmetry_has_members():
    assert set(GRIDS) == set(SYMMETRIES)


@pytest.mark.parametrize("name", GRIDS)
def test_the_members_are_a_group_and_know_their_way_back(name):
    size = GRIDS[name]
    x, coords = sample(size), points(size)
    group = members([name], size)
    assert len(group) == SIZES[name]
    images = []
    for member in group:
        there = member.there(Placed(Batch(x, x), coords))
        back = member.back(there)
        assert torch.equal(back.batch.x, x)
        for s, t in zip(back.coords, coords, strict=True):
            torch.testing.assert_close(s, t)
        images.append(there)
    for member in group:  # closed: each maps the images onto the images
        again = [member.there(image).batch.x for image in images]
        assert all(any(torch.equal(a, i.batch.x) for i in images) for a in again)
    distinct = {tuple(image.batch.x.flatten().tolist()) for image in images}
    assert len(distinct) == len(group)


@pytest.mark.parametrize("name", ["flip", "mirror", "swap", "odd_flip", "half_turn", "odd_swap"])
def test_what_training_draws_are_the_members(name):
    size = GRIDS[name]
    placed = Placed(Batch(sample(size), sample(size, 1)), points(size))
    images = [member.there(placed) for member in members([name], size)]
    for seed in range(8):
        drawn = transformed(placed.batch, [name], np.random.default_rng(seed), coords=placed.coords)
        same = [
            torch.equal(drawn.batch.x, image.batch.x) and torch.equal(drawn.batch.y, image.batch.y)
            for image in images
        ]
        assert sum(same) == 1


def test_shifts_are_those_that_divide_the_axis():
    assert len(members(["roll"], (12,))) == 4
    assert len(members(["roll"], (9,))) == 1
    assert len(members(["roll"], (16, 8))) == 64


FLOW = ["slide", "half_turn", "odd_swap"]


@pytest.mark.parametrize("names", [["flip", "swap"], ["mirror"], ["odd_flip", "roll"], FLOW])
def test_the_mean_commutes_with_every_member(names):
    size = (8,) if "roll" in names else (8, 8)
    coords = points(size) if "mirror" in names else None
    x, mean = sample(size), Symmetrised(Uneven(), names)
    y = mean(x, coords)
    for member in members(names, size):
        moved = member.there(Placed(Batch(x, x), coords))
        of_moved = mean(moved.batch.x, moved.coords)
        expected = member.there(Placed(Batch(y, y), coords)).batch.y
        torch.testing.assert_close(of_moved, expected)
    assert not torch.allclose(y, Uneven()(x, coords))


def test_without_symmetries_there_is_nothing_to_take_the_mean_over():
    with pytest.raises(ValueError, match="nothing to take the mean over"):
        Symmetrised(Uneven(), [])


def test_the_mean_is_no_worse_than_the_mean_of_the_errors():
    size, names = (8, 8), ["flip", "swap"]
    x = sample(size)
    y = x + 0.1 * x**3  # commutes with flips and swaps
    network = Uneven()
    errors = []
    for member in members(names, size):
        moved = member.there(Placed(Batch(x, y))).batch
        errors.append(relative_l2(network(moved.x), moved.y))
    assert (relative_l2(Symmetrised(network, names)(x), y) <= torch.stack(errors).mean(0)).all()
