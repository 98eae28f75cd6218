"""Convolutions laid on a circle give the textbook sum, for every padding, stride and dilation."""

import itertools

import pytest
import torch

from sciops.operators.axes import GridAxis, padding_pairs
from sciops.operators.butterfly import next_power_of_two


def textbook(x, w, axis):
    """y[t] = Σⱼ w[j] u(s·t − left + d·j), u the input continued by zeros or periodically."""
    size, out = len(x), []
    for t in range((size + axis.left + axis.right - axis.reach) // axis.stride + 1):
        total = 0
        for j, tap in enumerate(w):
            at = axis.stride * t - axis.left + axis.dilation * j
            if axis.circular:
                total += tap * x[at % size]
            elif 0 <= at < size:
                total += tap * x[at]
        out.append(total)
    return out


def on_the_circle(x, w, axis):
    """The same by one circular convolution of integers, which is exact."""
    positions, sources = axis.inputs()
    circle, taps = [0] * axis.n, [0] * axis.n
    for p, s in zip(positions.tolist(), sources.tolist(), strict=True):
        circle[p] = x[s]
    for p, tap in zip(axis.taps().tolist(), w, strict=True):
        taps[p] += tap
    n = axis.n
    used = [(p, tap) for p, tap in enumerate(taps) if tap]
    return [sum(tap * circle[(t - p) % n] for p, tap in used) for t in axis.outputs().tolist()]


@pytest.mark.parametrize("circular", [False, True], ids=["zeros", "circular"])
@pytest.mark.parametrize("size", [5, 6, 7, 8, 13, 16, 17, 31, 32, 33])
def test_circle_gives_the_textbook_convolution(size, circular):
    generator = torch.Generator().manual_seed(size)
    x = torch.randint(1, 1000, (size,), generator=generator).tolist()
    w = torch.randint(1, 1000, (5,), generator=generator).tolist()
    paddings = [(0, 0), (1, 1), (2, 2), (0, 3), (4, 1), (5, 0), (-1, 0), (-1, -2), (3, -1)]
    checked = 0
    for kernel, dilation, stride in itertools.product(range(1, 6), (1, 2, 3), (1, 2, 3)):
        for left, right in paddings:
            reach = dilation * (kernel - 1) + 1
            if reach > size or reach > size + left + right:
                continue
            axis = GridAxis(size, kernel, stride, dilation, left, right, circular)
            assert next_power_of_two(axis.n) == axis.n
            assert axis.n_out == len(axis.outputs())
            assert on_the_circle(x, w[:kernel], axis) == textbook(x, w[:kernel], axis), axis
            checked += 1
    assert checked > 50


def test_a_power_of_two_circular_axis_is_its_own_circle():
    assert GridAxis(64, 5, left=2, right=2, circular=True).n == 64
    assert not GridAxis(64, 5, left=2, right=2, circular=True).wraps
    assert GridAxis(63, 5, left=2, right=2, circular=True).wraps


def test_zeros_behind_the_input_serve_both_borders():
    assert GridAxis(60, 5, left=4, right=4).n == 64
    assert GridAxis(61, 5, left=4, right=4).n == 128


def test_kernel_wider_than_the_grid_is_refused():
    with pytest.raises(
        ValueError, match="spans 9 points, larger than the grid of 8; use a smaller"
    ):
        GridAxis(8, 5, dilation=2)


def test_padding_that_leaves_nothing_is_refused():
    with pytest.raises(ValueError, match=r"no output is left.*increase the padding"):
        GridAxis(8, 5, left=-3, right=-2)


def test_circular_padding_beyond_one_turn_is_refused():
    with pytest.raises(
        ValueError, match="more than once; use less padding or padding_mode='zeros'"
    ):
        GridAxis(8, 3, left=9, right=0, circular=True)
    assert GridAxis(8, 3, left=9, right=0).n_out == 15


def test_padding_is_understood_as_torch_writes_it():
    assert padding_pairs("valid", (3, 4), (1, 2)) == ((0, 0), (0, 0))
    assert padding_pairs("same", (3, 4), (1, 1)) == ((1, 1), (1, 2))
    assert padding_pairs(2, (3, 3), (1, 1)) == ((2, 2), (2, 2))
    assert padding_pairs((1, 2), (3, 3), (1, 1)) == ((1, 1), (2, 2))
    assert padding_pairs(((1, 0), 2), (3, 3), (1, 1)) == ((1, 0), (2, 2))
    assert padding_pairs([[1, 0], [0, 4]], (3, 3), (1, 1)) == ((1, 0), (0, 4))


def test_unknown_padding_is_refused():
    with pytest.raises(ValueError, match="padding='full' is not known; use 'same', 'valid'"):
        padding_pairs("full", (3,), (1,))
    with pytest.raises(ValueError, match="one entry per axis, expected 2"):
        padding_pairs((1, 1, 1), (3, 3), (1, 1))
