"""Grids of continuous CNNs are uniform, with ends or without."""

import pytest
import torch

from sciops.backbones.ccnn_grids import (
    coarse_spacings,
    image_task,
    spacings_between,
    trained_grid,
)
from sciops.operators.resampling import band_of
from tests.backbones.test_backbones import make_task


@pytest.mark.parametrize(("closed", "spacing"), [(True, 1 / 15), (False, 1 / 16)])
def test_the_grid_of_a_task(closed, spacing):
    grid = trained_grid(make_task(2, 16, closed=closed))
    assert grid.size == (16, 16) and grid.periodic == (not closed,) * 2
    assert grid.spacings == pytest.approx((spacing,) * 2)


def test_points_must_be_even_and_enough():
    with pytest.raises(ValueError, match=r"axis 0 has 2 points; .* needs 3 or more"):
        spacings_between([torch.tensor([0.0, 1.0])], [False])
    with pytest.raises(ValueError, match="axis 0 are not evenly spaced"):
        spacings_between([torch.tensor([0.0, 0.1, 1.0])], [False])


def test_a_band_makes_the_grid_coarser():
    grid = trained_grid(make_task(1, 64, closed=False))
    band = band_of(64, 1 / 64, 10.5, 0.5, True)
    assert coarse_spacings(grid, None) == grid.spacings
    assert coarse_spacings(grid, [band]) == pytest.approx((1 / 21,))


def test_images_have_ends():
    task = image_task("digits", 1, (8, 6), ("0", "1", "2"))
    assert [axis.size for axis in task.axes] == [8, 6] and task.classes == ("0", "1", "2")
    assert not any(axis.periodic for axis in task.axes)
    assert trained_grid(task).spacings == pytest.approx((1 / 7, 1 / 5))
