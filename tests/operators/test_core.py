"""The hand-written gradient is autograd's, whatever happens to the graph."""

import math

import pytest
import torch

from sciops.operators import core as core_module
from sciops.operators import scratch
from sciops.operators.core import core, plain


def problem(axes: int, seed: int = 0, *, w: str = "real") -> list[torch.Tensor]:
    """c, w, then L, M and K blocks of a random operation of a few modes, in float64.

    w: "real", "complex", or "made", which is D itself and needs no L
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)

    r, f, s, t = (5, 4, 3)[:axes], (2, 3, 2)[:axes], (4, 2, 3)[:axes], (3, 2, 4)[:axes]
    into = [draw(2 * f[a], r[a] * (2 if a else 1)) for a in range(axes)]
    out = [draw(s[a] * (2 if a else 1), 2 * f[a]) for a in range(axes)]
    if w == "made":
        return [draw(2, 3, *r), draw(math.prod(f), 2, 2, 3), *into, *out]
    planes = 2 if w == "complex" else 1
    taps = [draw(2 * f[a], t[a] * (2 if a else planes)) for a in range(axes)]
    weights = draw(planes * t[0], *t[1:], 2, 3)
    return [draw(2, 3, *r), weights, *taps, *into, *out]


def split(inputs):
    c, w, *blocks = inputs
    return c, w, *core_module._by_kind(c, blocks)


@pytest.mark.parametrize("w", ["real", "complex", "made"])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("at_once", [1, 20, 2**20])
def test_core_and_its_gradients_are_plain(axes, w, at_once, monkeypatch):
    monkeypatch.setattr(core_module, "SUM_NUMBERS", at_once)
    inputs = problem(axes, w=w)
    y, expected = core(*split(inputs)), plain(*split(inputs))
    torch.testing.assert_close(y, expected)
    g = torch.randn_like(y)
    before = [t.detach().clone() for t in inputs]
    found = torch.autograd.grad(y, inputs, g)
    for a, b in zip(found, torch.autograd.grad(expected, inputs, g), strict=True):
        torch.testing.assert_close(a, b)
    assert all(torch.equal(a, b) for a, b in zip(inputs, before, strict=True))


def test_only_gradients_that_are_wanted():
    inputs = problem(2)
    fixed = [t.detach() for t in inputs[2:]]
    y, expected = core(*split([*inputs[:2], *fixed])), plain(*split(inputs))
    g = torch.randn_like(y)
    found = torch.autograd.grad(y, inputs[:2], g)
    for a, b in zip(found, torch.autograd.grad(expected, inputs[:2], g), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("numbers", [1, 30, 100])
@pytest.mark.parametrize("axes", [2, 3])
def test_chunks_of_the_multiplier_change_nothing(axes, numbers, monkeypatch):
    inputs = problem(axes)
    whole = core(*split(inputs))
    g = torch.randn_like(whole)
    expected = torch.autograd.grad(whole, inputs, g)
    monkeypatch.setattr(core_module, "WHOLE_NUMBERS", 1)
    monkeypatch.setattr(core_module, "CHUNK_NUMBERS", numbers)
    columns = torch.zeros((2, 6)[axes - 2], inputs[2 + axes - 1].shape[1], 2, 3)
    assert numbers == 100 or len(core_module._chunks(inputs[2 + axes - 1], columns)) > 1
    y = core(*split(inputs))
    torch.testing.assert_close(y, whole)
    for _ in range(2):
        found = torch.autograd.grad(y, inputs, g, retain_graph=True)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b)


def test_second_derivatives():
    inputs = problem(2)
    assert torch.autograd.gradgradcheck(lambda *t: core(*split(t)), inputs)


def test_two_backward_passes_give_the_same_bits():
    inputs = problem(2)
    y = core(*split(inputs))
    g = torch.randn_like(y)
    first = torch.autograd.grad(y, inputs, g, retain_graph=True)
    second = torch.autograd.grad(y, inputs, g)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_interleaved_graphs_do_not_share_memory():
    """Two forward passes before two backward passes, and results kept while memory is reused."""
    problems = [problem(2, seed) for seed in range(3)]
    expected = []
    for inputs in problems:
        y = plain(*split(inputs))
        expected.append((y.detach(), torch.autograd.grad(y.square().sum(), inputs)))
    outputs = [core(*split(inputs)) for inputs in problems]
    for order in ((2, 0, 1), (1, 0, 2)):
        for i in order:
            loss = outputs[i].square().sum()
            found = torch.autograd.grad(loss, problems[i], retain_graph=True)
            for a, b in zip(found, expected[i][1], strict=True):
                torch.testing.assert_close(a, b)
        again = [core(*split(inputs)) for inputs in problems]
        for y, kept, (value, _) in zip(outputs, again, expected, strict=True):
            torch.testing.assert_close(y.detach(), value)
            torch.testing.assert_close(kept.detach(), value)


def test_scratch_memory_is_lent_outside_of_graphs_and_comes_back_by_itself():
    scratch.clear()
    like = torch.zeros(1)
    assert scratch.lend((3, 4), like) is None  # gradients are being recorded: torch allocates
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            x = scratch.lend((3, 4), like)
            place, view = x.data_ptr(), x.view(2, 6)[1:]
            del x
            assert scratch.lend((2, 6), like).data_ptr() != place  # a view is still in use
            del view
            assert scratch.lend((2, 6), like).data_ptr() == place
            assert scratch.lend((2, 6), like.double()).dtype == torch.float64


def test_scratch_memory_that_waits_is_bounded(monkeypatch):
    scratch.clear()
    monkeypatch.setattr(scratch, "KEPT_BYTES", 4 * 20)
    with torch.no_grad():
        for numbers in (6, 15, 6, 18):  # the last needs the room of the others
            scratch.lend((numbers,), torch.zeros(1))
        assert {kind[0] for kind, group in scratch._waiting.items() if group} == {18}
    scratch.clear()
