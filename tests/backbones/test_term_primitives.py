"""Every primitive by its name: shapes, gradients, and what it computes."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sciops.backbones.term_primitives import (
    NUMBERED_PRIMITIVES,
    PRIMITIVES,
    ResidualHalving,
    make_primitive,
)
from sciops.grammars.ready import ready_space
from tests.backbones.test_backbones import make_task
from tests.contracts import random_tensor

NUMBERED = [f"{n}{4 if n in ('fourier', 'xd') else 3}" for n in NUMBERED_PRIMITIVES]


@pytest.mark.parametrize("name", [*PRIMITIVES, *NUMBERED])
@pytest.mark.parametrize(("n_axes", "closed"), [(1, True), (2, False), (3, False)])
def test_shapes_and_gradients(name, n_axes, closed):
    torch.manual_seed(0)
    part = make_primitive(name, 6, make_task(n_axes, 8, closed=closed))
    x = random_tensor(3, 6, *[8] * n_axes).requires_grad_()
    y = part.module(x)
    assert y.shape == (3, part.channels, *[8 // 2**part.halvings] * n_axes)
    y.square().sum().backward()
    assert all(p.grad is not None for p in part.module.parameters()) and x.grad.abs().sum() > 0


def value(name: str, x: torch.Tensor) -> torch.Tensor:
    return make_primitive(name, x.shape[1], make_task(2, x.shape[-1], closed=True)).module(x)


def test_values_by_hand():
    x = random_tensor(2, 4, 6, 6)
    assert torch.equal(value("relu", x), F.relu(x))
    torch.testing.assert_close(value("layer", x), F.layer_norm(x, (4, 6, 6)))
    torch.testing.assert_close(value("instance", x), F.instance_norm(x))
    mean = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
    torch.testing.assert_close(value("avg_pool", x), mean)
    torch.testing.assert_close(value("down", x), mean[..., ::2, ::2])


def test_attention_and_dynamic_kernels_multiply_and_convolve():
    x = random_tensor(2, 8, 6, 6)
    attended = make_primitive("channel_attention", 8, make_task(2, 6)).module
    torch.testing.assert_close(attended(x), x * attended.attention(x))
    dynamic = make_primitive("dynamic_conv_3", 8, make_task(2, 6)).module
    kernel = dynamic.kernel(x)
    padded = F.pad(x, (1, 1, 1, 1), mode="circular")
    slow = torch.stack([F.conv2d(padded[b], kernel[b][:, None], groups=8) for b in range(2)])
    torch.testing.assert_close(dynamic(x), slow)


def test_dilated_and_depthwise_kernels():
    conv = make_primitive("dilated3", 4, make_task(2, 9, closed=True)).module
    x = random_tensor(1, 4, 9, 9)
    torch.testing.assert_close(conv(x), F.conv2d(x, conv.weight, padding=2, dilation=2))
    conv = make_primitive("depthwise5", 4, make_task(2, 9, closed=True)).module
    torch.testing.assert_close(conv(x), F.conv2d(x, conv.weight, padding=2, groups=4))


def test_xd_starts_as_a_fourier_layer_and_taps_are_damped():
    x = random_tensor(1, 3, 20, 20)
    task = make_task(2, 20, closed=True)
    wave = make_primitive("fourier4", 3, task).module
    xd = make_primitive("xd4", 3, task).module
    with torch.no_grad():
        xd.weight.copy_(wave.weight.view_as(xd.weight))
    torch.testing.assert_close(xd(x), wave(x))
    conv = make_primitive("xdconv3", 3, task).module
    torch.testing.assert_close(3 * conv(x), conv.operator(x))


def test_halving_block_of_nasbench201():
    block = ResidualHalving(2, (False, False)).eval()
    x = random_tensor(1, 2, 7, 6)
    assert block(x).shape == (1, 4, 4, 3)
    norms = [m for m in block.modules() if isinstance(m, nn.BatchNorm2d)]
    nn.init.zeros_(norms[1].weight)
    even = random_tensor(1, 2, 6, 6)
    torch.testing.assert_close(block(even), F.conv2d(F.avg_pool2d(even, 2), block.shortcut.weight))


def test_ready_grammars_use_known_primitives():
    for name, n_axes in (("fields", 1), ("fields", 2), ("fields", 3), ("digits", 2)):
        for primitive in ready_space(name, n_axes).grammar.primitives:
            if primitive not in ("id", "zero"):
                make_primitive(primitive, 4, make_task(n_axes, 8))


@pytest.mark.parametrize("name", ["convolution", "conv", "conv03", "conv9999", "pool3"])
def test_unknown_names(name):
    with pytest.raises(ValueError, match=rf"no primitive '{name}'; there are id, zero, .*convN"):
        make_primitive(name, 4, make_task(2))


def test_even_kernels_have_no_centre():
    with pytest.raises(ValueError, match="odd kernel_size"):
        make_primitive("conv4", 4, make_task(2))
