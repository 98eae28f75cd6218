"""Relaxed convolutions start as they were."""

import pytest
import torch
from torch import nn

from sciops.backbones.relaxed_convs import RELAXED, applied, relaxed
from sciops.operators import XD, Hybrid
from tests.contracts import random_tensor, relative_error


@pytest.mark.parametrize("op", RELAXED)
@pytest.mark.parametrize("mode", ["zeros", "circular"])
def test_they_start_as_the_convolution(op, mode):
    conv = nn.Conv2d(2, 3, 3, padding=1, padding_mode=mode)
    layer = relaxed(op, conv, (8, 9), {})
    x = random_tensor(2, 2, 8, 9)
    expected = {"xd-grid": XD, "xd-hybrid": Hybrid}.get(op, nn.Conv2d)
    assert type(layer) is expected
    assert relative_error(applied(layer, x, None), conv(x)) <= (1e-5 if op == "xd-grid" else 0)


def test_options_reach_the_operation_or_are_refused():
    conv = nn.Conv2d(2, 3, 3, padding=1)
    layer = relaxed("xd-hybrid", conv, (8, 9), dict(channels=5, k_depth=2))
    assert layer.band.in_channels == 5 and layer.length == (8, 9)
    assert {k.depth for k in layer.band.frame.k} == {2}
    with pytest.raises(ValueError, match=r"op='conv' does not take these options.*channels"):
        relaxed("conv", conv, (8, 9), dict(channels=5))


def test_points_are_for_the_hybrid():
    conv = nn.Conv2d(2, 3, 3, padding=1)
    x, points = random_tensor(1, 2, 8, 9), (torch.linspace(0, 0.5, 8), torch.linspace(0, 0.5, 9))
    hybrid = relaxed("xd-hybrid", conv, (8, 9), {})
    nn.init.ones_(hybrid.expand.weight)
    assert not torch.equal(applied(hybrid, x, points), applied(hybrid, x, None))
    assert torch.equal(applied(conv, x, points), conv(x))
