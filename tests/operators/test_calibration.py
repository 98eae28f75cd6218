"""Attention and dynamic convolution against their definitions, number by number."""

import itertools

import pytest
import torch

from sciops.operators.calibration import (
    ATTENTIONS,
    KERNELS,
    ChannelAttention,
    DynamicKernel,
    SpatialAttention,
    add_kernels,
    calibrated,
    dynamic_convolution,
)
from tests.contracts import assert_gradients_reach, random_tensor, relative_error
from tests.neighbours import neighbours, slow_batch_norm, slow_convolution

GRIDS = [((False,), (9,)), ((True,), (4,)), ((True, False), (6, 5)), ((False,) * 3, (3, 2, 3))]
HOW = dict(stride=1, affine=False)


def slow_dynamic_kernel(layer: DynamicKernel, x: torch.Tensor, kernel: int) -> torch.Tensor:
    """Sample by sample, tap by tap, channel by channel, as Appendix A.1.2 says."""
    batch, channels, *size = x.shape
    flat = x.flatten(2)
    reduced = torch.einsum("oi,bin->bon", layer.reduce.weight.flatten(1), flat)
    reduced = slow_batch_norm(reduced).clamp(min=0)
    look = torch.einsum("oi,bin->bon", layer.look.weight.flatten(1), flat)
    taps = list(itertools.product(range(kernel), repeat=len(size)))
    result = torch.zeros(batch, channels, len(taps), dtype=x.dtype)
    for b in range(batch):
        for t in range(len(taps)):
            share = look[b, t].exp() / look[b, t].exp().sum()  # over the points
            seen = torch.stack([(reduced[b, i] * share).sum() for i in range(reduced.shape[1])])
            result[b, :, t] = layer.decode.weight @ seen
    result = result.exp() / result.exp().sum(2, keepdim=True)  # over the taps
    return result.view(batch, channels, *[kernel] * len(size))


def slow_dynamic_convolution(x, kernel, periodic):
    result = torch.zeros_like(x)
    for tap, value, _ in neighbours(x, kernel.shape[-1], periodic):
        for b, c in itertools.product(range(x.shape[0]), range(x.shape[1])):
            result[b, c] += kernel[(b, c, *tap)] * value[b, c]
    return result


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("periodic", "size"), GRIDS, ids=str)
def test_spatial_attention(periodic, size, stride):
    layer = SpatialAttention(32, periodic, stride=stride, affine=False).double()
    x = random_tensor(2, 32, *size, dtype=torch.float64)
    assert layer.reduce.weight.shape[:2] == (2, 32)
    hidden = slow_convolution(x, layer.reduce.weight, periodic, stride=stride)
    score = slow_convolution(slow_batch_norm(hidden).clamp(min=0), layer.score.weight, periodic)
    assert layer(x).shape == (2, 1, *[-(-n // stride) for n in size])
    assert relative_error(layer(x), 1 / (1 + (-score).exp())) < 1e-12


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("periodic", "size"), GRIDS, ids=str)
def test_channel_attention(periodic, size, stride):
    layer = ChannelAttention(32, periodic, stride=stride, affine=False).double()
    x = random_tensor(2, 32, *size, dtype=torch.float64)
    expected = torch.zeros(2, 32, dtype=torch.float64)
    for b in range(2):
        mean = torch.stack([x[b, c].mean() for c in range(32)])
        expected[b] = (layer.expand.weight @ (layer.reduce.weight @ mean).clamp(min=0)).sigmoid()
    assert layer.reduce.weight.shape == (4, 32)
    assert layer(x).shape == (2, 32, *[1] * len(size))
    assert relative_error(layer(x).flatten(1), expected) < 1e-12


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("periodic", "size"), GRIDS, ids=str)
def test_dynamic_kernel(name, periodic, size):
    kernel = int(name[-1])
    layer = KERNELS[name](16, periodic, **HOW).double()
    x = random_tensor(3, 16, *size, dtype=torch.float64)
    made = layer(x)
    assert layer.reduce.weight.shape[:2] == (2, 16)
    assert made.shape == (3, 16, *[kernel] * len(size))
    assert relative_error(made, slow_dynamic_kernel(layer, x, kernel)) < 1e-12
    torch.testing.assert_close(made.flatten(2).sum(2), torch.ones(3, 16, dtype=torch.float64))
    assert made.min() > 0 and made[0].sub(made[1]).abs().max() > 1e-6  # each sample has its own


@pytest.mark.parametrize("name", [*ATTENTIONS, *KERNELS])
def test_gradients_and_narrow_inputs(name):
    """A bottleneck of c/16 or c/8 channels would have none where c is small."""
    torch.manual_seed(0)
    layer = {**ATTENTIONS, **KERNELS}[name](4, (False, True), stride=1, affine=True)
    x = random_tensor(3, 4, 5, 6) + 0.3
    probe = random_tensor(*layer(x).shape, seed=1)
    assert_gradients_reach(layer, (layer(x) * probe).sum())
    assert len(layer.reduce.weight) == (4 if name == "channel_attention" else 1)


def test_wide_inputs_have_the_bottlenecks_of_the_paper():
    wide = [make(128, (False,), **HOW) for make in (*ATTENTIONS.values(), *KERNELS.values())]
    assert [len(layer.reduce.weight) for layer in wide] == [8, 8, 16, 16]


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize(("periodic", "size"), GRIDS, ids=str)
def test_dynamic_convolution_and_its_gradient(periodic, size, kernel):
    x = random_tensor(2, 3, *size, dtype=torch.float64).requires_grad_()
    taps = random_tensor(2, 3, *[kernel] * len(size), dtype=torch.float64, seed=1).requires_grad_()
    probe = random_tensor(*x.shape, dtype=torch.float64, seed=2)
    fast = dynamic_convolution(x, taps, periodic)
    slow = slow_dynamic_convolution(x, taps, periodic)
    assert relative_error(fast, slow) < 1e-12
    gradients = [torch.autograd.grad((y * probe).sum(), (x, taps)) for y in (fast, slow)]
    for a, b in zip(*gradients, strict=True):
        assert relative_error(a, b) < 1e-12


@pytest.mark.parametrize(("periodic", "size"), GRIDS, ids=str)
def test_calibration_adds_every_kernel(periodic, size):
    """One convolution with the sum of the kernels is the sum of one with each."""
    features = random_tensor(2, 3, *size, dtype=torch.float64)
    attention = random_tensor(2, 1, *size, dtype=torch.float64, seed=1)
    kernels = [
        random_tensor(2, 3, *[k] * len(size), dtype=torch.float64, seed=k) for k in (3, 5, 3)
    ]
    together = add_kernels(add_kernels(kernels[0], kernels[1]), kernels[2])
    expected = features + features * attention
    for kernel in kernels:
        expected = expected + slow_dynamic_convolution(features, kernel, periodic)
    assert relative_error(calibrated(features, attention, together, periodic), expected) < 1e-12
    assert torch.equal(calibrated(features, None, None, periodic), features)
    only = calibrated(features, attention, None, periodic)
    assert torch.equal(only, features + features * attention)


def test_a_kernel_of_equal_taps_is_a_mean():
    x = torch.tensor([[[3.0, 0.0, 6.0, 3.0]]])
    mean = dynamic_convolution(x, torch.full((1, 1, 3), 1 / 3), (True,))
    torch.testing.assert_close(mean, torch.tensor([[[2.0, 3.0, 3.0, 4.0]]]))
