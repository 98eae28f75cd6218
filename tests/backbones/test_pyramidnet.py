"""PyramidNet: its widths, units written out, stages and heads."""

import itertools

import pytest
import torch
import torch.nn.functional as F

from sciops.backbones.pyramidnet import PyramidNet, Unit
from tests.contracts import assert_gradients_reach, random_tensor, relative_error
from tests.neighbours import slow_batch_norm, slow_convolution


def test_the_teacher_of_the_paper():
    """110 layers, α = 84: 16 channels become 100, four times as many behind bottlenecks."""
    model = PyramidNet(3, 10, (False, False), units=12, widening=84, bottleneck=True)
    convolutions = [n for n, p in model.named_parameters() if p.ndim == 4]
    assert len(convolutions) + 1 == 110
    widths = [unit.out_channels // 4 for stage in model.stages for unit in stage]
    assert widths[0] == 18 and widths[11] == 44 and widths[-1] == 100
    assert all(b - a in (2, 3) for a, b in itertools.pairwise(widths))


@pytest.mark.parametrize(("bottleneck", "kernels"), [(False, (3, 3)), (True, (1, 3, 1))])
@pytest.mark.parametrize("stride", [1, 2])
def test_a_unit(bottleneck, kernels, stride):
    periodic = (False, True)
    unit = Unit(4, 6, periodic, stride=stride, bottleneck=bottleneck).double()
    x = random_tensor(2, 4, 5, 6, dtype=torch.float64)
    strides = (1, stride, 1) if bottleneck else (stride, 1)
    weights = [p for p in unit.inner.parameters() if p.ndim == 4]
    hidden = slow_batch_norm(x)
    for i, (weight, step) in enumerate(zip(weights, strides, strict=True)):
        hidden = slow_batch_norm(slow_convolution(hidden, weight, periodic, stride=step))
        hidden = hidden.clamp(min=0) if i + 1 < len(kernels) else hidden
    shortcut = x if stride == 1 else F.avg_pool2d(x, 2, ceil_mode=True)
    hidden[:, :4] += shortcut
    assert tuple(w.shape[-1] for w in weights) == kernels
    assert relative_error(unit(x), hidden) < 1e-10


@pytest.mark.parametrize("size", [(12,), (9, 6)], ids=str)
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("halving", [True, False])
def test_shapes_stages_and_gradients(size, dense, halving):
    torch.manual_seed(0)
    kinds = dict(units=1, widening=9, dense=dense, halving=halving)
    model = PyramidNet(2, 3, (True,) * len(size), **kinds)
    x = random_tensor(4, 2, *size)
    out, stages = model.forward_stages(x)
    assert out.shape == (4, 3, *(size if dense else ()))
    factors = (1, 2, 4) if halving else (1, 1, 1)
    shapes = [(19 + 3 * i, *[-(-n // f) for n in size]) for i, f in enumerate(factors)]
    assert [tuple(s.shape[1:]) for s in stages] == shapes
    assert_gradients_reach(model, (out * random_tensor(*out.shape, seed=1)).sum())


def test_networks_without_units():
    with pytest.raises(ValueError, match="units ≥ 1 and widening ≥ 0, got 0 and 48"):
        PyramidNet(1, 1, (False,), units=0)
