"""Heads: means and linear maps, and interpolation that puts coarse points where they belong."""

import pytest
import torch

from sciops.backbones.heads import FieldHead, GlobalHead, refined
from tests.contracts import random_tensor, relative_error
from tests.neighbours import slow_batch_norm


def slow_refined(x, factor, n, periodic):
    """Along the last axis, point by point."""
    m, columns = x.shape[-1], []
    for i in range(n):
        left, share = i // factor, (i % factor) / factor
        right = (left + 1) % m if periodic else min(left + 1, m - 1)
        columns.append((1 - share) * x[..., left] + share * x[..., right])
    return torch.stack(columns, -1)


@pytest.mark.parametrize("factor", [1, 2, 4])
@pytest.mark.parametrize("size", [(1, 1), (4, 8), (5, 7), (9, 3)])
@pytest.mark.parametrize("periodic", [(False, False), (True, False), (True, True)])
def test_interpolation(factor, size, periodic):
    coarse = [-(-n // factor) for n in size]
    x = random_tensor(2, 3, *coarse, dtype=torch.float64)
    expected = slow_refined(x, factor, size[1], periodic[1])
    expected = slow_refined(expected.mT, factor, size[0], periodic[0]).mT
    assert relative_error(refined(x, factor, size, periodic), expected) < 1e-12


def test_coarse_points_keep_their_values():
    x = random_tensor(1, 1, 5)
    assert relative_error(refined(x, 4, (18,), (False,))[..., ::4], x) < 1e-6


def test_global_head_takes_the_mean_of_the_last_stage():
    head = GlobalHead([2, 3], 4)
    stages = [random_tensor(2, 2, 8), random_tensor(2, 3, 4, seed=1)]
    expected = stages[1].mean(2) @ head.linear.weight.mT + head.linear.bias
    assert relative_error(head(stages, (8,)), expected) < 1e-6


def test_field_head_adds_all_stages_on_the_finest_grid():
    head = FieldHead([2, 3], [1, 2], 4, 5, (True,)).double()
    stages = [random_tensor(2, c, n, dtype=torch.float64, seed=c) for c, n in ((2, 7), (3, 4))]
    reduced = [
        torch.einsum("oi,bix->box", layer.weight[..., 0], stage)
        for layer, stage in zip(head.reduce, stages, strict=True)
    ]
    hidden = slow_batch_norm(reduced[0] + slow_refined(reduced[1], 2, 7, True)).clamp(min=0)
    out = torch.einsum("oi,bix->box", head.project.weight[..., 0], hidden)
    assert relative_error(head(stages, (7,)), out + head.project.bias[:, None]) < 1e-12
