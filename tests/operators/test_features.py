"""The seven feature transformations against their definitions, point by point."""

import pytest
import torch

from sciops.operators.features import FEATURES, Halving, Projection
from tests.contracts import assert_gradients_reach, random_tensor, relative_error
from tests.neighbours import neighbours, slow_batch_norm, slow_convolution

GRIDS = [((False,), (9,)), ((True, False), (6, 7)), ((False, True, False), (3, 4, 3))]


def slow_separable(layer, x, periodic, kernel, stride, dilation=1):
    _, each, across, _ = layer
    assert each.weight.shape == (4, 1, *[kernel] * len(periodic))
    options = dict(stride=stride, dilation=dilation, groups=4)
    hidden = slow_convolution(x.clamp(min=0), each.weight, periodic, **options)
    return slow_batch_norm(slow_convolution(hidden, across.weight, periodic))


def slow_halving(layer, x, periodic):
    """Point (2i, 2j, …) for the first channels, (2i + 1, 2j + 1, …) for the others."""
    x = x.clamp(min=0)
    odd = [value for tap, value, _ in neighbours(x, 3, periodic, stride=2) if set(tap) == {2}]
    even = [value for tap, value, _ in neighbours(x, 3, periodic, stride=2) if set(tap) == {1}]
    halves = [slow_convolution(even[0], layer.even.weight, periodic)]
    halves += [slow_convolution(odd[0], layer.odd.weight, periodic)]
    return slow_batch_norm(torch.cat(halves, 1))


def oracle(name, layer, x, periodic, stride):
    looks = neighbours(x, 3, periodic, stride=stride)
    if name.startswith("sep"):
        hidden = slow_separable(layer[0], x, periodic, int(name[-1]), stride)
        return slow_separable(layer[1], hidden, periodic, int(name[-1]), 1)
    if name.startswith("dil"):
        return slow_separable(layer, x, periodic, int(name[-1]), stride, dilation=2)
    if name == "avg_pool_3":
        return slow_batch_norm(sum(v for _, v, _ in looks) / sum(i.double() for *_, i in looks))
    if name == "max_pool_3":
        values = torch.stack([v.masked_fill(~inside, -torch.inf) for _, v, inside in looks])
        return slow_batch_norm(values.amax(0))
    return x if stride == 1 else slow_halving(layer, x, periodic)


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("periodic", "size"), GRIDS, ids=str)
def test_each_is_what_its_name_says(name, stride, periodic, size):
    torch.manual_seed(0)
    layer = FEATURES[name](4, periodic, stride=stride, affine=False).double()
    x = random_tensor(2, 4, *size, dtype=torch.float64)
    assert relative_error(layer(x), oracle(name, layer, x, periodic, stride)) < 1e-10


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_and_batch_norms_that_scale(name, stride):
    layer = FEATURES[name](4, (False, True), stride=stride, affine=True)
    plain = FEATURES[name](4, (False, True), stride=stride, affine=False)
    x = random_tensor(2, 4, 5, 6)
    probe = random_tensor(*layer(x).shape, seed=1)
    assert_gradients_reach(layer, (layer(x) * probe).sum() + x.requires_grad_().sum())
    norms = [n for n in layer.state_dict() if n not in plain.state_dict()]
    assert len(norms) == (0 if isinstance(layer, torch.nn.Identity) else 4 if "sep" in name else 2)


def test_there_are_seven_and_they_differ():
    torch.manual_seed(0)
    x = random_tensor(2, 4, 8, 8)
    outputs = [make(4, (False, False), stride=1, affine=False)(x) for make in FEATURES.values()]
    assert len(outputs) == 7
    for i, a in enumerate(outputs):
        assert all(relative_error(a, b) > 0.05 for b in outputs[:i])


def test_halving_loses_no_point_that_it_stands_for():
    """Each point of a line counts in exactly one output: even ones in half of the channels."""
    layer = Halving(1, 2, (False,), affine=False).eval()
    torch.nn.init.ones_(layer.even.weight)
    torch.nn.init.ones_(layer.odd.weight)
    out = layer(torch.arange(1.0, 6.0).view(1, 1, 5)) * (1 + 1e-5) ** 0.5
    torch.testing.assert_close(out, torch.tensor([[[1.0, 3.0, 5.0], [2.0, 4.0, 0.0]]]))
    layer.periodic = (True,)
    out = layer(torch.arange(1.0, 6.0).view(1, 1, 5)) * (1 + 1e-5) ** 0.5
    torch.testing.assert_close(out[0, 1], torch.tensor([2.0, 4.0, 1.0]))
    with pytest.raises(ValueError, match="two output channels or more, got 1"):
        Halving(1, 1, (True,), affine=False)


def test_projection():
    layer = Projection(3, 5, (False,), affine=False).double()
    x = random_tensor(2, 3, 6, dtype=torch.float64)
    hidden = torch.einsum("oi,bix->box", layer[1].weight[..., 0], x.clamp(min=0))
    assert relative_error(layer(x), slow_batch_norm(hidden)) < 1e-12
