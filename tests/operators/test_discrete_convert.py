"""A mixture near a layer, once it has chosen, is that layer: strides, paddings, kernels, pools."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations

from sciops.operators.convolution import Convolution
from sciops.operators.discrete import OPERATIONS
from sciops.operators.discrete_convert import discrete_from_layer
from tests.contracts import random_tensor, relative_error


@pytest.mark.parametrize("padding_mode", ["zeros", "circular"])
@pytest.mark.parametrize("stride", [1, (3, 2)])
@pytest.mark.parametrize("kernel, padding", [(3, 1), (5, 0), (5, 1), (3, 3)])
@pytest.mark.parametrize("dilation", [1, 2])
def test_a_convolution_is_one_of_the_eight(kernel, padding, stride, dilation, padding_mode):
    conv = nn.Conv2d(2, 3, kernel, stride, padding, dilation, padding_mode=padding_mode)
    x = random_tensor(2, 2, 11, 12)
    layer = discrete_from_layer(conv, x, perturb=0.1)
    name = OPERATIONS[int(layer.logits.argmax())]
    assert name == f"{'conv' if dilation == 1 else 'dilated'}{kernel}"
    assert relative_error(layer.choose(name)(x), conv(x)) < 1e-5


def test_other_operations_are_cropped_about_the_centre():
    conv, x = nn.Conv2d(1, 1, 5), random_tensor(1, 1, 28, 28)
    layer = discrete_from_layer(conv, x)
    assert relative_error(layer.choose("skip")(x), x[..., 2:26, 2:26] + conv.bias) < 1e-6
    small = F.conv2d(x, conv.weight[..., 1:4, 1:4], conv.bias, padding=1)[..., 2:26, 2:26]
    assert relative_error(layer.choose("conv3")(x), small) < 1e-5


@pytest.mark.parametrize("pool", [nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(3, 2, 1), nn.MaxPool2d(3)])
def test_pools_over_three_points_are_among_them(pool):
    x = random_tensor(2, 3, 9, 9)
    layer = discrete_from_layer(pool, x, perturb=0.1)
    name = OPERATIONS[int(layer.logits.argmax())]
    assert relative_error(layer.choose(name)(x), pool(x)) < 1e-5


def test_pools_over_two_points_keep_their_outputs_and_stride():
    x = random_tensor(2, 3, 28, 28)
    layer = discrete_from_layer(nn.MaxPool2d(2), x, perturb=0.1)
    assert layer(x).shape == (2, 3, 14, 14)
    expected = F.max_pool2d(F.pad(x, (1, 0, 1, 0), value=-torch.inf), 3, 2)  # centred at 2t
    assert relative_error(layer.choose("max3")(x), expected) < 1e-6


def test_long_kernels_keep_their_middle_and_short_ones_get_more_taps():
    long, x = nn.Conv1d(1, 2, 9, padding=4, bias=False), random_tensor(1, 1, 20)
    layer = discrete_from_layer(long, x)
    assert torch.equal(layer.weight, long.weight[..., 2:7])
    short = nn.Conv1d(1, 2, 3, padding=1)
    assert torch.equal(discrete_from_layer(short, x).weight[..., 1:4], short.weight)


def test_the_houses_own_convolution_and_weight_norm():
    own, x = Convolution(2, 3, (3, 3), periodic=(True, True), bias=True), random_tensor(1, 2, 6, 6)
    layer = discrete_from_layer(own, x, perturb=0.1).choose("conv3")
    assert relative_error(layer(x), own(x)) < 1e-5
    with pytest.raises(ValueError, match="periodic on some axes only"):
        discrete_from_layer(Convolution(2, 3, (3, 3), periodic=(True, False)), x)
    normed = parametrizations.weight_norm(nn.Conv2d(2, 3, 5, padding=2))
    layer = discrete_from_layer(normed, x, perturb=0.1).choose("conv5")
    assert relative_error(layer(x), normed(x)) < 1e-5
    assert layer.parametrizations.weight.original0.shape == (3, 1, 1, 1)


@pytest.mark.parametrize(
    "layer, reason",
    [
        (nn.Conv2d(2, 2, 1), "point-wise"),
        (nn.Conv2d(2, 2, 4), "far from all eight"),
        (nn.Conv2d(2, 2, (3, 5)), "far from all eight"),
        (nn.Conv2d(2, 2, 3, dilation=3), "far from all eight"),
        (nn.MaxPool2d(3, dilation=2), "none of the eight"),
        (nn.AvgPool2d(3, ceil_mode=True), "ceil_mode"),
    ],
)
def test_what_is_far_from_them_is_refused(layer, reason):
    with pytest.raises(ValueError, match=reason):
        discrete_from_layer(layer, random_tensor(1, 2, 9, 9))
