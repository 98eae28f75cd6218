"""The TCN is the published one, never sees the future, and XD starts as its convolutions."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from sciops.backbones.tcn import OPERATORS, LastStep, Tcn
from sciops.music.sequences import music_task
from sciops.operators import arch_parameters, weight_parameters
from tests.contracts import assert_gradients_reach, random_tensor, randomise, relative_error

SMALL = dict(width=6, levels=3, kernel_size=3, dropout=0.0)


def network(op: str, window: int = 16, **changes) -> Tcn:
    torch.manual_seed(0)
    return Tcn(music_task(window=window), op, **{**SMALL, **changes})


def published(model: Tcn, x: Tensor, dilations: list[int]) -> Tensor:
    """Weight norm, padding on both sides, chomp and residuals, written out (locuslab/TCN)."""
    h = x
    for block, d in zip(model.blocks, dilations, strict=True):
        inner = h
        for conv in (block.first, block.second):
            g, v = (getattr(conv.parametrizations.weight, f"original{i}") for i in (0, 1))
            weight = g * v / v.flatten(1).norm(dim=1)[:, None, None]
            padding = d * (weight.shape[-1] - 1)
            padded = F.conv1d(inner, weight, conv.bias, padding=padding, dilation=d)
            inner = F.relu(padded[:, :, :-padding])
        skip = block.skip
        h = h if isinstance(skip, torch.nn.Identity) else F.conv1d(h, skip.weight, skip.bias)
        h = F.relu(inner + h)
    return F.conv1d(h, model.project.weight, model.project.bias)


@pytest.mark.parametrize(("op", "dilations"), [("conv", [1, 2, 4]), ("undilated", [1, 1, 1])])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_it_is_the_published_network(op, dilations, n):
    model = randomise(network(op).double(), 0.1)
    x = random_tensor(2, 88, n, dtype=torch.float64)
    assert relative_error(model(x), published(model, x, dilations)) < 1e-12


def test_it_has_the_published_size():
    """Weights g, v and biases of 2 × 3 convolutions, a 1 × 1 one and the output."""
    model = Tcn(music_task(), "conv", levels=3, kernel_size=2)
    conv = lambda i, o, k: o * i * k + 2 * o
    expected = conv(88, 150, 2) + 5 * conv(150, 150, 2) + (88 + 1) * 150 + (150 + 1) * 88
    assert sum(p.numel() for p in model.parameters()) == expected
    assert all(block.dropout.p == 0.2 for block in model.blocks)


def test_dropout_acts_in_training_only():
    model, x = network("undilated", dropout=0.5), random_tensor(1, 88, 9)
    assert not torch.equal(model(x), model(x))
    model.eval()
    assert torch.equal(model(x), model(x))


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("n", [5, 16, 39])
def test_the_future_never_changes_the_past(op, n):
    model = randomise(network(op), 0.2)
    x = random_tensor(2, 88, n)
    y = model(x)
    for t in range(1, n, 3):
        other = torch.cat([x[..., :t], random_tensor(2, 88, n - t, seed=t)], -1)
        changed = model(other)
        torch.testing.assert_close(changed[..., :t], y[..., :t], rtol=1e-5, atol=1e-5)
        assert not torch.allclose(changed[..., t:], y[..., t:], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("op", ["xd", "xd-grid"])
def test_every_op_draws_the_same_weights(op):
    plain, model = network("undilated"), network(op)
    names = [name for name, _ in plain.named_parameters()]
    own = dict(model.named_parameters())
    assert all(torch.equal(own[name], p) for name, p in plain.named_parameters())
    extra = {id(p) for p in own.values()} - {id(own[name]) for name in names}
    assert {id(p) for p in arch_parameters(model)} == extra
    assert {id(p) for p in weight_parameters(model)} == {id(own[name]) for name in names}


@pytest.mark.parametrize("n", [4, 16, 50])
def test_causal_xd_starts_as_the_undilated_network(n):
    x = random_tensor(2, 88, n)
    assert relative_error(network("xd")(x), network("undilated")(x)) < 1e-5


def test_windows_start_as_the_undilated_network_once_they_are_filled():
    """The last output of a window sees 2 · 3 · 2 steps back; before that zeros have hidden ones."""
    x, reach = random_tensor(2, 88, 30), 12
    grid, plain = network("xd-grid")(x), network("undilated")(x)
    assert relative_error(grid[..., reach:], plain[..., reach:]) < 1e-5
    assert relative_error(grid[..., :reach], plain[..., :reach]) > 1e-3


def test_a_window_is_what_the_last_step_sees():
    model = randomise(network("xd-grid", window=8), 0.2)
    x = random_tensor(1, 88, 20)
    alone = model.blocks(x[..., 5:13])[..., -1:]
    torch.testing.assert_close(model(x)[..., 12:13], model.project(alone), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("op", OPERATORS)
def test_gradients_reach_every_parameter(op):
    model = randomise(network(op), 0.1)
    assert_gradients_reach(model, model(random_tensor(2, 88, 40)).square().sum())


@pytest.mark.parametrize("op", OPERATORS)
def test_a_saved_network_gives_the_same_bits(op):
    model, x = network(op).eval(), random_tensor(1, 88, 16)
    twin = randomise(copy.deepcopy(model), seed=1)
    assert not torch.equal(twin(x), model(x))
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin(x), model(x))


@pytest.mark.parametrize("op", OPERATORS)
def test_the_last_step_answers_for_a_whole_sequence(op):
    x = random_tensor(3, 88, 16)
    answer = LastStep(network(op))(x)
    assert answer.shape == (3, 88)
    if op != "conv":
        assert relative_error(answer, network("undilated")(x)[..., -1]) < 1e-5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(op="fourier"), "there is no op='fourier'; there are conv, undilated, xd, xd-grid"),
        (dict(op="conv", lags=8), "op='conv' does not take these options: .*lags"),
        (dict(op="xd", levels=0), r"levels=\(0,\) must be whole numbers ≥ 1"),
        (dict(op="xd", lags=2), "lags=2 must be at least 3"),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        network(**changes)
