"""Filters to coarser grids and back: exact on what a grid can hold, the same in both ways."""

import math

import pytest
import torch

from sciops.operators import resampling
from sciops.operators.resampling import cropped, low_passed, refined
from tests.contracts import random_tensor


def sampled(function, n: int, periodic: bool) -> torch.Tensor:
    return function(torch.arange(n, dtype=torch.float64) / (n if periodic else n - 1))[None, None]


def smooth(periodic: bool):
    """Modes 0, 2 and 3 of either kind of axis."""
    if periodic:
        return lambda x: 1 + (4 * math.pi * x).cos() - 2 * (6 * math.pi * x).sin()
    return lambda x: 1 + (2 * math.pi * x).cos() - 2 * (3 * math.pi * x).cos()


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("n", [20, 21, 64])
def test_a_smooth_function_survives_and_comes_back(monkeypatch, n, periodic, fast):
    monkeypatch.setattr(resampling, "LONGEST_DENSE", 0 if fast else 512)
    axis = cropped(n, 1.0, 3.4 if periodic else 1.7, periodic)
    assert (axis.highest, axis.points) == ((3, 7) if periodic else (3, 4))
    x = sampled(smooth(periodic), n, periodic)
    coarse = low_passed(x, [axis], [x.new_ones(axis.highest + 1)])
    torch.testing.assert_close(coarse, sampled(smooth(periodic), axis.points, periodic))
    torch.testing.assert_close(refined(coarse, [axis]), x)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("n", [12, 13])
def test_without_a_crop_nothing_changes(n, periodic):
    axis = cropped(n, 1.0, 1e3, periodic)
    x = random_tensor(2, 3, n, dtype=torch.float64)
    assert axis.points == n
    torch.testing.assert_close(low_passed(x, [axis], [x.new_ones(axis.highest + 1)]), x)
    assert refined(x, [axis]) is x


@pytest.mark.parametrize("n", [16, 17])
def test_weights_multiply_modes(n):
    """Mode 2 by a half, mode 3 by a quarter."""
    for periodic in (False, True):
        axis = cropped(n, 1.0, 3.4 if periodic else 1.7, periodic)
        weights = torch.tensor([1.0, 1.0, 0.5, 0.25], dtype=torch.float64)
        out = refined(low_passed(sampled(smooth(periodic), n, periodic), [axis], [weights]), [axis])
        if periodic:
            wanted = lambda x: 1 + 0.5 * (4 * math.pi * x).cos() - 0.5 * (6 * math.pi * x).sin()
        else:
            wanted = lambda x: 1 + 0.5 * (2 * math.pi * x).cos() - 0.5 * (3 * math.pi * x).cos()
        torch.testing.assert_close(out, sampled(wanted, n, periodic))


@pytest.mark.parametrize("size", [(12, 9), (11, 10)])
def test_matrices_and_transforms_agree_with_gradients(monkeypatch, size):
    axes = [cropped(size[0], 1.0, 3.2, True), cropped(size[1], 0.5, 4.3, False)]
    found = []
    for longest in (0, 512):
        monkeypatch.setattr(resampling, "LONGEST_DENSE", longest)
        x = random_tensor(2, 3, *size, dtype=torch.float64).requires_grad_()
        ws = [
            random_tensor(axis.highest + 1, dtype=torch.float64, seed=a).requires_grad_()
            for a, axis in enumerate(axes)
        ]
        coarse = low_passed(x, axes, ws)
        assert coarse.shape[2:] == tuple(axis.points for axis in axes)
        out = refined(coarse.square(), axes)
        gradients = torch.autograd.grad(out.square().sum(), (x, *ws))
        found.append((coarse, out, *gradients))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


def test_frequencies_are_physical():
    """The same modes on every grid that has them; half the extent has half as many."""
    for n in (40, 64, 101):
        assert cropped(n, 1.0, 7.3, True)[1:3] == (7, 15)
        assert cropped(n, 1.0, 7.3, False)[1:3] == (14, 15)
    assert cropped(64, 0.5, 7.3, False)[1:3] == (7, 8)
    assert cropped(64, 0.5, 7.3, False).frequencies(0.5).tolist() == [float(k) for k in range(8)]
    assert cropped(64, 1.0, 2.3, True).frequencies(1.0).tolist() == [0.0, 1.0, 2.0]
