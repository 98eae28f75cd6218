"""The mixture of eight operations against torch's own convolutions and pools, one by one."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sciops.operators.discrete import OPERATIONS, UNIFORM, Discrete, channel_identity
from tests.contracts import assert_gradients_reach, random_tensor, relative_error

AXES = ((0, 0), (0, 0))


def oracle(layer: Discrete, x: torch.Tensor, name: str) -> torch.Tensor:
    """One operation in two dimensions, zeros beyond a grid that is kept, by torch's functions."""
    w, small, s = layer.weight, layer.weight[:, :, 1:4, 1:4], layer.stride
    same = channel_identity(layer.out_channels, layer.in_channels).to(x.dtype)[..., None, None]
    ways = {
        "conv3": lambda: F.conv2d(x, small, None, s, 1),
        "conv5": lambda: F.conv2d(x, w, None, s, 2),
        "dilated3": lambda: F.conv2d(x, small, None, s, 2, 2),
        "dilated5": lambda: F.conv2d(x, w, None, s, 4, 2),
        "max3": lambda: F.conv2d(F.max_pool2d(x, 3, s, 1), same),
        "mean3": lambda: F.conv2d(F.avg_pool2d(x, 3, s, 1), same),
        "skip": lambda: F.conv2d(x[:, :, :: s[0], :: s[1]], same),
    }
    y = ways["skip"]() * 0 if name == "zero" else ways[name]()
    return y if layer.bias is None else y + layer.bias.view(-1, 1, 1)


@pytest.mark.parametrize("channels", [(3, 3), (2, 5), (5, 2)])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_is_torchs(name, stride, channels):
    layer = Discrete(*channels, margins=AXES, stride=stride, bias=True).double().choose(name)
    nn.init.normal_(layer.bias)
    x = random_tensor(2, channels[0], 9, 12, dtype=torch.float64)
    assert relative_error(layer(x), oracle(layer, x, name)) < 1e-13


def test_mixture_is_the_sum_and_so_are_its_gradients():
    layer = Discrete(3, 4, margins=AXES, stride=(2, 1), bias=True, start="max3", perturb=0.6)
    layer = layer.double()
    nn.init.normal_(layer.logits)
    x = random_tensor(2, 3, 8, 10, dtype=torch.float64)
    shares = torch.softmax(layer.logits, 0)
    pairs = zip(OPERATIONS, shares, strict=True)
    expected = sum(p * (oracle(layer, x, n) - layer.bias.view(-1, 1, 1)) for n, p in pairs)
    expected = expected + layer.bias.view(-1, 1, 1)
    assert relative_error(layer(x), expected) < 1e-13
    parameters = list(layer.parameters())
    given = torch.autograd.grad(layer(x).square().sum(), parameters)
    wanted = torch.autograd.grad(expected.square().sum(), parameters)
    assert max(map(relative_error, given, wanted)) < 1e-12
    assert_gradients_reach(layer, layer(x).square().sum())


def test_starts_have_the_shares_asked_for():
    biased = Discrete(1, 1, margins=AXES, start="dilated3", perturb=0.1).shares()
    assert biased[OPERATIONS.index("dilated3")].item() == pytest.approx(0.9)
    assert biased.sum().item() == pytest.approx(1)
    uniform = Discrete(1, 1, margins=AXES, perturb=UNIFORM).shares()
    assert uniform.tolist() == pytest.approx([1 / 8] * 8)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Discrete(1, 1, margins=AXES, perturb=1.0)
    with pytest.raises(ValueError, match="is not one of conv3"):
        Discrete(1, 1, margins=AXES, start="conv7")


def test_circular_axes_and_one_and_three_dimensions():
    x = random_tensor(2, 3, 8)
    layer = Discrete(3, 2, margins=((0, 0),), circular=(True,)).choose("dilated5")
    padded = F.pad(x, (4, 4), mode="circular")
    assert relative_error(layer(x), F.conv1d(padded, layer.weight, dilation=2)) < 1e-6
    small = random_tensor(1, 1, 3)  # the kernel wraps the circle more than once
    layer = Discrete(1, 1, margins=((0, 0),), circular=(True,)).choose("conv5")
    wrapped = small[..., torch.arange(-2, 5) % 3]
    assert relative_error(layer(small), F.conv1d(wrapped, layer.weight)) < 1e-6
    cube = random_tensor(1, 2, 5, 6, 4)
    layer = Discrete(2, 2, margins=((0, 0),) * 3).choose("mean3")
    assert relative_error(layer(cube), F.avg_pool3d(cube, 3, 1, 1)) < 1e-6


def test_groups_stay_among_themselves():
    x = random_tensor(2, 4, 7, 7)
    layer = Discrete(4, 4, margins=AXES, groups=2)
    expected = F.conv2d(x, layer.weight, None, 1, 2, groups=2)
    assert relative_error(layer.choose("conv5")(x), expected) < 1e-5
    assert torch.equal(layer.choose("skip")(x), x)
    with pytest.raises(ValueError, match="would leave their group"):
        Discrete(4, 6, margins=AXES, groups=2)


def test_windows_beyond_the_grid_have_no_largest_point():
    layer = Discrete(1, 1, margins=((3, 3),)).choose("max3")
    x = random_tensor(1, 1, 4).requires_grad_()
    y = layer(x)
    assert y.shape == (1, 1, 10) and torch.equal(y[..., :2], torch.zeros(1, 1, 2))
    y.sum().backward()
    assert torch.isfinite(x.grad).all()


def test_a_matrix_only_without_maxima():
    layer = Discrete(1, 1, margins=((0, 0),))
    with pytest.raises(ValueError, match="no linear map"):
        layer.as_matrix((5,))
    assert torch.equal(layer.choose("skip").as_matrix((5,)), torch.eye(5))
