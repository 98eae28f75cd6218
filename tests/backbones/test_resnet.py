"""PDNET's tower against its definition, and XD towers against the plain one they start as."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sciops.backbones.resnet import OPERATORS, ResNet
from sciops.operators import XD, arch_parameters, weight_parameters
from sciops.operators.hybrid import Hybrid
from sciops.task import Axis, Field, Task
from tests.contracts import random_tensor, relative_error

SMALL = dict(depth=6, width=4)
HYBRID = dict(channels=2, frequencies=2, taps=3)


def make_task(channels=(3, 2), size=(12, 12), *, periodic=False) -> Task:
    axes = tuple(
        Axis(name, tuple(map(float, range(n))), periodic, float(n))
        for name, n in zip("ijk", size, strict=False)
    )
    inputs, targets = (Field(v, (0, c)) for v, c in zip("xd", channels, strict=True))
    return Task("maps", (inputs,), (targets,), axes)


def tower(op="conv", task=None, *, seed=0, **options) -> ResNet:
    torch.manual_seed(seed)
    small = SMALL | (HYBRID if op == "xd-hybrid" else {})
    return ResNet(make_task() if task is None else task, op, **small | options)


def stirred(model: nn.Module) -> nn.Module:
    """With means, deviations and biases that matter, in eval mode."""
    generator = torch.Generator().manual_seed(1)
    for name, value in model.state_dict().items():
        if value.ndim == 1:
            noise = torch.rand(value.shape, generator=generator)
            value.copy_(noise + (0.5 if name.endswith(("var", "weight")) else -0.5))
    return model.eval()


def normed(layer: nn.BatchNorm2d, x: torch.Tensor) -> torch.Tensor:
    mean, var, weight, bias = (
        t.view(1, -1, 1, 1)
        for t in (layer.running_mean, layer.running_var, layer.weight, layer.bias)
    )
    return (x - mean) / (var + layer.eps).sqrt() * weight + bias


def by_definition(model: ResNet, x: torch.Tensor, dilations) -> torch.Tensor:
    """In eval mode, before the last non-linearity, from the weights alone."""
    relu = lambda t: t.clamp(min=0)
    conv = lambda c, t, pad, d=1: F.conv2d(t, c.weight, c.bias, padding=pad, dilation=d)
    h = conv(model.lift[-1], relu(normed(model.lift[0], x)), 0)
    for block, d in zip(model.blocks, dilations, strict=True):
        inner = conv(block.first, relu(normed(block.norm, h)), 1)
        h = h + conv(block.second, relu(inner), d, d)
    return conv(model.project, relu(normed(model.norm, h)), 1)


@pytest.mark.parametrize(
    ("op", "options", "dilations"),
    [
        ("conv", {}, (1, 1)),
        ("conv", dict(depth=4), (1,)),
        ("dilated", dict(depth=12), (1, 2, 4, 1, 2)),
        ("conv", dict(depth=8, dilations=[3, 1]), (3, 1, 3)),
    ],
)
def test_the_tower_is_its_definition(op, options, dilations):
    model = stirred(tower(op, **options))
    x = 3 * random_tensor(2, 3, 12, 15)
    expected = by_definition(model, x, dilations)
    torch.testing.assert_close(model(x), F.softplus(expected))
    model.output = "relu"
    torch.testing.assert_close(model(x), expected.clamp(min=0))
    assert (expected < 0).any() and (expected > 0).any()


def test_published_parameter_count():
    model = ResNet(make_task((57, 1)), depth=34, width=128)
    counted = {name: v.numel() for name, v in model.state_dict().items() if v.ndim}
    assert sum(counted.values()) == 4_740_197
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == 4_735_731


def test_weights_are_drawn_as_published():
    model = tower(width=32, task=make_task((57, 1)))
    convs = [m for m in model.modules() if isinstance(m, nn.Conv2d)]
    assert len(convs) == SMALL["depth"]
    for conv in convs:
        taps = conv.kernel_size[0] ** 2
        bound = 2**0.5 * (6 / (taps * (conv.in_channels + conv.out_channels))) ** 0.5
        assert 0.9 * bound < conv.weight.abs().max() <= bound
        assert not conv.bias.any()


def test_dropout_is_elementwise_and_only_in_training():
    model, seen = tower(width=8, dropout=0.3), []
    block = model.blocks[0]
    block.first.bias.data.fill_(100.0)  # so that what is zero was dropped
    block.second.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0] == 0))
    x = random_tensor(2, 3, 12, 12)
    model(x)
    model.eval()(x)
    assert 0.25 < seen[0].double().mean() < 0.35
    assert not seen[0].flatten(2).all(2).any() and seen[0].flatten(2).any(2).all()
    assert not seen[1].any()


# --- XD in the blocks -----------------------------------------------------------------------------


@pytest.mark.parametrize("dilations", [(1,), (1, 2)])
@pytest.mark.parametrize(("op", "tolerance"), [("xd-grid", 1e-4), ("xd-hybrid", 0)])
def test_xd_starts_as_the_plain_tower_of_the_same_seed(op, tolerance, dilations):
    task = make_task(size=(13, 16))
    plain, searched = (tower(o, task, seed=3, dilations=dilations) for o in ("conv", op))
    x = random_tensor(2, 3, 13, 16)
    torch.manual_seed(0)  # the same dropout
    expected = plain(x)
    torch.manual_seed(0)
    assert relative_error(searched(x), expected) <= tolerance
    assert relative_error(searched.eval()(x), plain.eval()(x)) <= tolerance


@pytest.mark.parametrize("op", ["xd-grid", "xd-hybrid"])
def test_all_layers_of_the_blocks_are_replaced_and_no_others(op):
    model, kind = tower(op, k_depth=2), XD if op == "xd-grid" else Hybrid
    assert [type(m) for b in model.blocks for m in (b.first, b.second)] == [kind] * 4
    assert type(model.project) is type(model.lift[-1]) is nn.Conv2d
    frames = [m.frame for m in model.modules() if isinstance(m, XD)]
    assert {k.depth for frame in frames for k in (*frame.k, *frame.l, *frame.m)} == {2}


def test_hybrid_options_are_those_of_the_operator():
    layer = tower("xd-hybrid", make_task(size=(20, 30)), taps=5, period=2.0).blocks[1].second
    assert layer.length == (20, 30) and layer.band.in_channels == 2
    assert layer.band.kernel_size == (5, 5) and layer.band.frame.modes == (4, 2)
    assert layer.band.frame.period == (2.0, 2.0)


@pytest.mark.parametrize("op", OPERATORS)
def test_all_learn(op):
    """Every parameter has a gradient after one step, and a few steps fit a few numbers."""
    model = tower(op, dropout=0.0)
    x, y = random_tensor(2, 3, 12, 12), 4 + random_tensor(2, 2, 12, 12, seed=1).abs()
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(12):
        optimiser.zero_grad()
        losses.append((model(x) - y).abs().mean())
        losses[-1].backward()
        optimiser.step()
    assert losses[-1] < 0.7 * losses[0]
    without = [name for name, p in model.named_parameters() if not p.grad.any()]
    assert without == []


def test_only_xd_has_an_architecture():
    for op in OPERATORS:
        model = tower(op)
        assert bool(arch_parameters(model)) == op.startswith("xd")
        both = len(arch_parameters(model)) + len(weight_parameters(model))
        assert both == len(list(model.parameters()))


@pytest.mark.parametrize("op", OPERATORS)
def test_a_state_is_tensors_and_comes_back(op):
    model, other = tower(op), tower(op, seed=9)
    x = random_tensor(1, 3, 12, 12)
    model(x)  # moves the running means
    other.load_state_dict(model.state_dict())
    assert torch.equal(model.eval()(x), other.eval()(x))


# --- sizes, positions, reach ----------------------------------------------------------------------


@pytest.mark.parametrize("op", ["conv", "dilated", "xd-hybrid"])
def test_other_sizes_work(op):
    assert tower(op)(random_tensor(1, 3, 15, 9)).shape == (1, 2, 15, 9)
    assert op == "xd-hybrid" or tower(op)(random_tensor(1, 3, 40, 1)).shape == (1, 2, 40, 1)


def test_sizes_that_xd_has_no_room_for():
    with pytest.raises(ValueError, match=r"built for size=\(12, 12\)"):
        tower("xd-grid")(torch.zeros(1, 3, 12, 13))
    with pytest.raises(ValueError, match=r"axis 0 of x has 17 points.*windows of 12"):
        tower("xd-hybrid")(torch.zeros(1, 3, 17, 12))


def test_coordinates_are_for_the_hybrid():
    x = random_tensor(1, 3, 12, 9)
    points = tuple(torch.arange(n, dtype=torch.float64) / 12 for n in (12, 9))
    moved = tuple(p * 0.5 for p in points)
    for op in ("conv", "xd-hybrid"):
        model = tower(op).eval()
        for block in model.blocks:
            for layer in (block.first, block.second):
                if op == "xd-hybrid":
                    nn.init.normal_(layer.expand.weight)
        assert torch.equal(model(x, points), model(x))
        assert torch.equal(model(x, moved), model(x)) == (op == "conv")


@pytest.mark.parametrize(("op", "reach"), [("conv", 9), ("dilated", 13)])
def test_an_output_sees_the_input_up_to_its_reach(op, reach):
    model = tower(op, depth=10).double().eval()
    assert model.reach == reach
    x = random_tensor(1, 3, 40, 40, dtype=torch.float64)
    y = x.clone()
    y[..., 20, 20] += 10
    changed = (model(y) != model(x)).any(0).any(0).nonzero()
    assert (changed - 20).abs().max() == reach


def test_xd_sees_everything():
    assert tower("xd-grid").reach is None and tower("xd-hybrid").reach is None


def test_periodic_axes_are_continued():
    task = make_task(size=(12, 12), periodic=True)
    for op in OPERATORS:
        model = tower(op, task).eval()
        x = random_tensor(1, 3, 12, 12)
        assert relative_error(model(x.roll((3, 5), (2, 3))), model(x).roll((3, 5), (2, 3))) < 1e-4
    finer = random_tensor(1, 3, 24, 18)  # of the same period
    assert tower("xd-hybrid", task)(finer).shape == (1, 2, 24, 18)


# --- the output -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("output", "alive"), [("softplus", True), ("relu", False)])
def test_an_output_that_starts_negative(output, alive):
    """Where a ReLU is dead for good, the softplus still learns."""
    model = tower(output=output)
    nn.init.constant_(model.project.bias, -20.0)
    y = model(random_tensor(2, 3, 12, 12))
    assert (y >= 0).all()
    (y - 10).square().mean().backward()
    assert bool(model.project.bias.grad.any()) == alive


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(depth=5), "depth=5 must be an even number ≥ 4"),
        (dict(depth=2), "depth=2 must be an even number ≥ 4"),
        (dict(depth=6.0), "depth=6.0 must be an even number ≥ 4"),
        (dict(op="xd"), "no op='xd'; there are conv, dilated, xd-grid, xd-hybrid"),
        (dict(output="exp"), "no output='exp'; there are softplus, relu, logits"),
        (dict(dilations=()), "dilations=.. must be whole numbers ≥ 1"),
        (dict(dilations=(1, 0)), r"dilations=\(1, 0\) must be whole numbers ≥ 1"),
        (dict(channels=3), "op='conv' does not take these options.*channels"),
        (dict(op="xd-grid", taps=3), "op='xd-grid' does not take these options.*taps"),
        (dict(op="xd-hybrid", tap=3), "op='xd-hybrid' does not take these options.*tap"),
        (dict(task=make_task(size=(9,))), "has two axes, but 'maps' has 1"),
    ],
    ids=str,
)
def test_bad_requests(options, message):
    with pytest.raises(ValueError, match=message):
        tower(**options)


def test_scaled_images_of_either_sign_to_logits_of_either_sign():
    model = stirred(tower(output="logits", scaled=True, task=make_task((1, 1)))).double()
    x = random_tensor(1, 1, 12, 15, dtype=torch.float64)
    h = F.conv2d(x, model.lift[0].weight, model.lift[0].bias, padding=1)
    for block in model.blocks:
        inner = F.conv2d(
            normed(block.norm, h).relu(), block.first.weight, block.first.bias, padding=1
        )
        h = h + F.conv2d(inner.relu(), block.second.weight, block.second.bias, padding=1)
    last = model.project
    expected = F.conv2d(normed(model.norm, h).relu(), last.weight, last.bias, padding=1)
    torch.testing.assert_close(model(x), expected)
    assert (expected < 0).any() and (expected > 0).any()
    y = x.clone()
    y[..., 6, 7] -= 10
    changed = (model(y) != model(x))[0, 0].nonzero()
    assert model.reach == 6 and (changed - torch.tensor([6, 7])).abs().max() == 6
