"""Both ways of a convolution are the sum in its definition, gradients included."""

import pytest
import torch

from sciops.operators.depthwise import by_fft, depthwise, direct, direct_is_cheaper, fast_length
from tests.contracts import random_tensor

CASES = [
    ((9,), (5,), (True,)),
    ((8,), (9,), (True,)),  # both ends of a period are one point
    ((9,), (13,), (False,)),
    ((6, 7), (3, 5), (True, False)),
    ((6, 5), (7, 9), (False, True)),
    ((4, 5, 3), (3, 1, 3), (True, False, False)),
]


def by_definition(x, kernel, periodic):
    """Σⱼ k[j] x[p + j], a tap at a time."""
    y = torch.zeros_like(x)
    for tap in torch.cartesian_prod(*(torch.arange(k) for k in kernel.shape[1:])).view(
        -1, kernel.ndim - 1
    ):
        moved = x
        for axis, (j, circular) in enumerate(zip(tap.tolist(), periodic, strict=True)):
            shift = j - kernel.shape[1 + axis] // 2
            n = x.shape[2 + axis]
            places = torch.arange(n) + shift
            inside = torch.ones(n) if circular else ((places >= 0) & (places < n)).double()
            shape = [-1 if a == axis else 1 for a in range(len(periodic))]
            moved = moved.index_select(2 + axis, places % n) * inside.view(shape)
        value = kernel[(slice(None), *tap.tolist())]
        y = y + moved * value.view(-1, *[1] * len(periodic))
    return y


@pytest.mark.parametrize(("size", "taps", "periodic"), CASES)
@pytest.mark.parametrize("way", [direct, by_fft, depthwise])
def test_every_way_is_the_definition(way, size, taps, periodic):
    x = random_tensor(2, 3, *size, dtype=torch.float64).requires_grad_()
    kernel = random_tensor(3, *taps, dtype=torch.float64, seed=1).requires_grad_()
    wanted, found = by_definition(x, kernel, periodic), way(x, kernel, periodic)
    torch.testing.assert_close(found, wanted)
    weights = random_tensor(*found.shape, dtype=torch.float64, seed=2)
    for a, b in zip(
        torch.autograd.grad((found * weights).sum(), (x, kernel)),
        torch.autograd.grad((wanted * weights).sum(), (x, kernel)),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_small_kernels_are_direct_and_large_ones_are_not():
    closed = (False, False)
    assert direct_is_cheaper(8, (64, 64), (3, 3), closed)
    assert not direct_is_cheaper(8, (64, 64), (15, 15), closed)
    assert direct_is_cheaper(8, (1024,), (7,), (True,))
    assert not direct_is_cheaper(8, (1024,), (1025,), (True,))


def test_transforms_have_room_and_no_large_primes():
    assert all(fast_length(n) >= n for n in range(1, 200))
    assert fast_length(64 + 7) == 72


@pytest.mark.parametrize("shape", [(2, 3), (3, 4), (3, 3, 3)])
def test_other_kernels_are_refused(shape):
    with pytest.raises(ValueError, match="expected a kernel of 3 channels and 1 odd numbers"):
        depthwise(torch.zeros(1, 3, 8), torch.zeros(shape), (True,))
