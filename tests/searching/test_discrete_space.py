"""The discrete space: shares at the start, one operation in a random member."""

import pytest
import torch
from torch import nn

from sciops.operators.discrete import OPERATIONS, Discrete
from sciops.searching.spaces import make_space
from tests.contracts import random_tensor
from tests.search_toy import SIZE, LeNet

X = random_tensor(2, 1, SIZE, SIZE)


def test_the_start_is_biased_towards_the_layers_own_operation():
    net = make_space("discrete", perturb=0.1).supernet(LeNet(), X)
    for layer in (net.conv1, net.conv2):
        assert layer.shares()[OPERATIONS.index("conv3")].item() == pytest.approx(0.9)
    assert make_space("discrete").describe(net.conv1).startswith("conv3 0.90, ")


def test_random_members_have_one_operation_a_layer():
    space = make_space("discrete")
    net = space.supernet(LeNet(), X)
    seen = set()
    for seed in range(20):
        space.randomise(net, seed=seed)
        for layer in (net.conv1, net.conv2):
            assert layer.shares().max() == 1
            seen.add(OPERATIONS[int(layer.shares().argmax())])
    assert len(seen) > 5


def test_pools_of_both_kinds_are_changed_if_asked_for():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.Conv2d(2, 2, 1), nn.AvgPool2d(3))
    plain = make_space("discrete").supernet(model, X)
    assert isinstance(plain[1], nn.MaxPool2d)
    net = make_space("discrete", pooling=True).supernet(model, X)
    kinds = [isinstance(layer, Discrete) for layer in net]
    assert kinds == [True, True, False, True]  # a point-wise convolution is none of the eight
    assert net(X).shape == model(X).shape


def test_places_do_not_see_a_constant_in_the_logits():
    space = make_space("discrete")
    net = space.supernet(LeNet(), X)
    before = space.place(net.conv1)
    with torch.no_grad():
        net.conv1.logits.add_(3)
    assert torch.allclose(space.place(net.conv1), before)
