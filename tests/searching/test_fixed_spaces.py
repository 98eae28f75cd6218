"""Fixed operations: weights only, any shape that a convolution has, nothing to draw."""

import pytest
import torch
from torch import nn

from sciops.operators import arch_parameters
from sciops.operators.dense import Dense
from sciops.operators.klayer import KLayer
from sciops.searching.spaces import make_space
from tests.contracts import random_tensor

X = random_tensor(2, 1, 7, 6)


@pytest.mark.parametrize("name, kind", [("klayer", KLayer), ("linear", Dense)])
def test_layers_have_the_shapes_of_those_they_replace(name, kind):
    model = nn.Sequential(nn.Conv2d(1, 2, 3, 2), nn.ReLU(), nn.Conv2d(2, 3, 1, bias=False))
    net = make_space(name).supernet(model, X)
    assert isinstance(net[0], kind) and net(X).shape == model(X).shape
    assert net[0].bias is not None and net[2].bias is None
    assert arch_parameters(net) == []
    with pytest.raises(ValueError, match="one member only"):
        make_space(name).randomise(net, seed=0)


def test_a_klayer_has_the_depth_asked_for():
    net = make_space("klayer", depth=3).supernet(nn.Sequential(nn.Conv2d(1, 1, 3)), X)
    assert net[0].values[0].shape[2] == 3 and torch.isfinite(net(X)).all()
