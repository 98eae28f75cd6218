"""Convolution and pooling on every mix of boundaries and strides, against a look at each point."""

import pytest
import torch

from sciops.operators.boundaries import (
    SameConvolution,
    average_of_3,
    batch_norm,
    maximum_of_3,
    same_convolution,
)
from tests.contracts import random_tensor, relative_error
from tests.neighbours import neighbours, slow_batch_norm, slow_convolution

CASES = [
    ((False,), (7,)),
    ((True,), (8,)),
    ((True,), (2,)),  # kernels go around more than once
    ((False, False), (1, 5)),
    ((True, False), (6, 7)),
    ((True, True), (3, 2)),
    ((False, True, False), (4, 3, 5)),
]


@pytest.mark.parametrize(("periodic", "size"), CASES, ids=str)
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "groups"),
    [(1, 1, 1, 1), (3, 1, 1, 1), (5, 1, 1, 4), (3, 2, 1, 2), (5, 2, 2, 4), (1, 2, 1, 1)],
)
def test_convolution(periodic, size, kernel, stride, dilation, groups):
    x = random_tensor(2, 4, *size, dtype=torch.float64)
    weight = random_tensor(8, 4 // groups, *[kernel] * len(size), dtype=torch.float64, seed=1)
    options = dict(stride=stride, dilation=dilation, groups=groups)
    fast = same_convolution(x, weight, periodic, **options)
    assert fast.shape == (2, 8, *[-(-n // stride) for n in size])
    assert relative_error(fast, slow_convolution(x, weight, periodic, **options)) < 1e-12


@pytest.mark.parametrize(("periodic", "size"), CASES, ids=str)
@pytest.mark.parametrize("stride", [1, 2])
def test_pooling(periodic, size, stride):
    x = random_tensor(2, 3, *size, dtype=torch.float64)
    looks = neighbours(x, 3, periodic, stride=stride)
    count = sum(inside.double() for _, _, inside in looks)
    mean = sum(value for _, value, _ in looks) / count
    largest = torch.stack([v.masked_fill(~inside, -torch.inf) for _, v, inside in looks]).amax(0)
    assert relative_error(average_of_3(x, periodic, stride), mean) < 1e-12
    assert torch.equal(maximum_of_3(x, periodic, stride), largest)


def test_gradients_of_a_wrapped_convolution():
    x = random_tensor(1, 2, 2, 5, dtype=torch.float64).requires_grad_()
    weight = random_tensor(2, 2, 5, 5, dtype=torch.float64, seed=1).requires_grad_()
    probe = random_tensor(1, 2, 1, 3, dtype=torch.float64, seed=2)
    kinds = dict(periodic=(True, False), stride=2)
    fast = torch.autograd.grad((same_convolution(x, weight, **kinds) * probe).sum(), (x, weight))
    slow = torch.autograd.grad((slow_convolution(x, weight, **kinds) * probe).sum(), (x, weight))
    for a, b in zip(fast, slow, strict=True):
        assert relative_error(a, b) < 1e-12


def test_the_layer_is_the_function_of_its_weight():
    layer = SameConvolution(4, 4, 3, periodic=(True, False), stride=2, dilation=2, groups=4)
    x = random_tensor(2, 4, 6, 5)
    options = dict(stride=2, dilation=2, groups=4)
    assert torch.equal(layer(x), same_convolution(x, layer.weight, (True, False), **options))
    assert "dilation=2" in repr(layer)
    with pytest.raises(ValueError, match="odd kernel_size, which has a centre, got 4"):
        SameConvolution(1, 1, 4, periodic=(True,))


@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_batch_norm(n_axes):
    x = random_tensor(3, 2, *(4, 3, 2)[:n_axes], dtype=torch.float64)
    norm = batch_norm(2, n_axes, affine=False).double()
    assert relative_error(norm(x), slow_batch_norm(x)) < 1e-12
    assert list(norm.parameters()) == [] and len(list(batch_norm(2, 1, affine=True).parameters()))
