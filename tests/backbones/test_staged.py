"""Any network shows the outputs of its layers."""

import pytest
import torch
from torch import nn

from sciops.backbones.staged import AbstractStaged, Tapped


def cnn() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 1, stride=2))


def test_stages_are_what_the_layers_put_out():
    model, x = cnn(), torch.randn(2, 1, 6, 6)
    output, stages = Tapped(model, ["2", "0"]).forward_stages(x)
    assert torch.equal(output, model(x)) and torch.equal(stages[0], output)
    assert torch.equal(stages[1], model[0](x))
    assert torch.equal(Tapped(model, ["0"])(x), output)


def test_nothing_is_left_behind():
    model = cnn()
    tapped = Tapped(model, ["1"])
    tapped(torch.zeros(1, 1, 6, 6))
    with pytest.raises(RuntimeError):
        tapped(torch.zeros(1, 3, 6, 6))
    assert not any(module._forward_hooks for module in model.modules())


def test_layers_that_are_not_there():
    with pytest.raises(ValueError, match=r"got \['conv'\]; there are 0, 1, 2"):
        Tapped(cnn(), ["conv"])
    with pytest.raises(ValueError, match=r"got \[\]"):
        Tapped(cnn(), [])


def test_the_contract_cannot_be_built():
    with pytest.raises(TypeError, match="forward_stages"):
        AbstractStaged()
