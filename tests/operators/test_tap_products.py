"""Products tap by tap are the grid frame's product mode by mode, with its gradients."""

import copy

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from sciops.operators import XD
from sciops.operators import frame as frame_module
from sciops.operators import grid as grid_module
from sciops.operators import tap_products as tap_module
from sciops.operators.frame import Prepared
from sciops.operators.tap_products import TapProducts, multiply, plain, tap_maps, tap_products
from tests.contracts import random_tensor, randomise, relative_error


def grid_xd(channels, kernel, size, *, dtype=torch.float64, **options) -> XD:
    torch.manual_seed(0)
    return randomise(XD(*channels, kernel, frame="grid", size=size, **options).to(dtype), 0.1)


def by_taps(monkeypatch, chosen: bool) -> None:
    monkeypatch.setattr(grid_module, "taps_are_cheaper", lambda axes, weight: chosen)


def value_and_gradients(layer: XD, x: torch.Tensor) -> list[torch.Tensor]:
    """The output and the gradients of x and every parameter for a fixed pull-back."""
    x = x.clone().requires_grad_()
    y = layer(x)
    pull = random_tensor(*y.shape, dtype=y.dtype, seed=5)
    return [y, *torch.autograd.grad(y, [x, *layer.parameters()], pull)]


def assert_same(found, expected, tolerance=1e-11) -> None:
    for a, b in zip(found, expected, strict=True):
        assert relative_error(a, b) < tolerance


CASES = [  # channels, kernel, size, options
    ((1, 1), (1, 1), (4, 4), {}),
    ((2, 3), (3, 3), (8, 8), {}),
    ((3, 2), (3, 3), (7, 12), dict(padding_mode="zeros", bias=True)),
    ((2, 5), (2, 3), (5, 9), dict(stride=(1, 2))),
    ((5, 1), (1, 4), (6, 11), dict(padding_mode="zeros", dilation=(1, 2), stride=(2, 1))),
    ((2, 2), (3, 2), (13, 5), dict(padding="valid", depth=(2, 1, 3))),
    ((9, 6), (3, 3), (6, 5), dict(padding=((3, 0), (-1, 2)), padding_mode="zeros", depth=3)),
]


@pytest.mark.parametrize(("channels", "kernel", "size", "options"), CASES)
def test_taps_give_the_numbers_of_the_modes(channels, kernel, size, options, monkeypatch):
    layer = grid_xd(channels, kernel, size, **options)
    x = random_tensor(3, channels[0], *size, dtype=torch.float64)
    by_taps(monkeypatch, False)
    assert isinstance(layer._prepare(), Prepared)
    expected = value_and_gradients(layer, x)
    by_taps(monkeypatch, True)
    assert isinstance(layer._prepare(), TapProducts)
    assert_same(value_and_gradients(layer, x), expected)
    with torch.no_grad():
        assert relative_error(copy.deepcopy(layer).eval()(x), expected[0]) < 1e-11
    single = value_and_gradients(copy.deepcopy(layer).float(), x.float())
    assert_same(single, [e.float() for e in expected], 1e-4)


@pytest.mark.parametrize("large", [1, 50, 300])
def test_slabs_of_modes_give_the_numbers_of_the_taps(large, monkeypatch):
    layer = grid_xd((4, 2), (3, 2), (8, 9), stride=(1, 2))
    x = random_tensor(2, 4, 8, 9, dtype=torch.float64)
    by_taps(monkeypatch, True)
    expected = value_and_gradients(layer, x)
    by_taps(monkeypatch, False)
    monkeypatch.setattr(frame_module, "LARGE", large)
    assert_same(value_and_gradients(layer, x), expected)


def test_eval_mode_keeps_the_matrices_until_they_change(monkeypatch):
    by_taps(monkeypatch, True)
    layer = grid_xd((2, 2), (3, 3), (6, 6)).eval()
    x = random_tensor(1, 2, 6, 6, dtype=torch.float64)
    with torch.no_grad():
        before = layer(x)
        assert layer._prepared() is layer._prepared()
        layer.weight.mul_(2)
        torch.testing.assert_close(layer(x), 2 * before)


# --- which way is taken ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("channels", "kernel", "size", "padding_mode", "taps"),
    [
        (64, (3, 3), 128, "zeros", True),
        (16, (3, 3), 32, "zeros", True),
        (8, (13, 13), 43, "zeros", False),
        (8, (5, 5), 32, "circular", False),
        (8, (3,), 100, "zeros", False),
        (2, (3, 3, 3), 5, "zeros", False),
    ],
    ids=["maps", "images", "many taps", "power of two", "one axis", "three axes"],
)
def test_small_kernels_on_padded_maps_go_by_taps(channels, kernel, size, padding_mode, taps):
    layer = XD(channels, channels, kernel, frame="grid", size=size, padding_mode=padding_mode)
    assert isinstance(layer._prepare(), TapProducts if taps else Prepared)


@pytest.mark.parametrize("option", ["arch_bias", "gates", "groups"])
def test_what_taps_cannot_do_goes_by_modes(option):
    kind = dict(frame="grid", size=20, padding_mode="zeros")
    assert isinstance(XD(4, 4, (3, 3), **kind)._prepare(), TapProducts)
    assert isinstance(XD(4, 4, (3, 3), **kind, **{option: 2})._prepare(), Prepared)


def test_long_axes_go_by_modes(monkeypatch):
    layer = XD(4, 4, (3, 3), frame="grid", size=(20, 9), padding_mode="zeros")
    monkeypatch.setattr(grid_module, "is_long", lambda k: k.n >= 32)
    assert isinstance(layer._prepare(), Prepared)


@pytest.mark.parametrize(
    ("channels", "kernel", "size", "options"),
    [
        ((3, 5), (3, 3), (16, 16), {}),
        ((5, 2), (3, 2), (9, 14), dict(padding_mode="zeros", padding="valid")),
        ((2, 4), (1, 4), (12, 6), dict(stride=(2, 1))),
    ],
)
def test_flops_are_those_of_torch(channels, kernel, size, options, monkeypatch):
    layer = XD(*channels, kernel, frame="grid", size=size, **options)
    x = torch.zeros(3, channels[0], *size)
    monkeypatch.setattr(tap_module, "BATCH", len(x))
    monkeypatch.setattr(grid_module, "multiply", lambda x, maps: plain(x, *maps))
    by_taps(monkeypatch, True)
    axes = layer.frame.axes
    complex_once = sum(2 * a.kernel * a.n_out * a.n * a.size for a in axes)  # torch counts 2, not 8
    assert _counted(layer, x) == tap_module._flops(*axes, *channels) - 3 * complex_once
    by_taps(monkeypatch, False)
    monkeypatch.setattr(frame_module, "_is_plain", lambda prepared: False)
    assert _counted(layer, x) == tap_module._flops_by_modes(*axes, *channels)


def _counted(layer: XD, x: torch.Tensor) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(x)
    return counter.get_total_flops()


# --- the arithmetic -------------------------------------------------------------------------------


def problem(seed: int = 0, batch: int = 3) -> list[torch.Tensor]:
    """x, A, w and B of a random operation in float64; i = 2, o = 5 channels."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)

    (n0, n1), (m0, m1), (s, t), (i, o) = (4, 3), (3, 5), (2, 3), (2, 5)
    return [draw(batch, i, n0, n1), draw(m0, s, n0, 2), draw(o, s, i, t), draw(n1, t, 2, m1)]


def product(x, *maps) -> torch.Tensor:
    return multiply(x, TapProducts(*maps))


def test_matrices_are_those_of_the_formula():
    """y = Re Σ (A_s ⊗ B_t) w[s, t] x, pair of taps by pair of taps."""
    draw = lambda *shape, seed: random_tensor(*shape, dtype=torch.complex128, seed=seed)
    k, l_columns, m = draw(3, 8, seed=0), draw(8, 2, seed=1), draw(8, 4, seed=2)
    first, last = tap_maps(k, l_columns, m), draw(3, 5, 6, seed=3)
    weight = random_tensor(2, 3, 2, 3, dtype=torch.float64)  # o, i, s, t
    x = random_tensor(2, 3, 4, 6, dtype=torch.float64)
    expected = torch.zeros(2, 2, 3, 5, dtype=torch.float64)
    for s in range(2):
        a = k @ torch.diag(l_columns[:, s]) @ m
        for t in range(3):
            mixed = torch.einsum("oi,bixy->boxy", weight[:, :, s, t], x).to(a.dtype)
            expected += (a @ mixed @ last[t].mT).real
    maps = tap_products(weight, first, last)
    torch.testing.assert_close(plain(x, *maps), expected)
    torch.testing.assert_close(multiply(x, maps), expected)


@pytest.mark.parametrize("accumulators", [1, 2, 4, 8])
def test_the_gradient_written_by_hand_is_autograds(accumulators, monkeypatch):
    monkeypatch.setattr(tap_module, "ACCUMULATORS", accumulators)
    inputs = problem()
    y, expected = product(*inputs), plain(*inputs)
    torch.testing.assert_close(y, expected)
    g = torch.randn_like(y)
    found = torch.autograd.grad(y, inputs, g)
    for a, b in zip(found, torch.autograd.grad(expected, inputs, g), strict=True):
        torch.testing.assert_close(a, b)


def test_without_gradients_one_sample_is_kept_at_a_time(monkeypatch):
    inputs = problem()
    expected = product(*inputs)
    monkeypatch.setattr(tap_module, "_Multiply", None)
    with torch.no_grad():
        assert torch.equal(product(*inputs), expected)
        y, u = tap_module._forward(*inputs, keep=False)
        assert torch.equal(y, expected) and len(u) == 1


def test_any_strides_of_input_and_gradient():
    x, *maps = problem()
    strided = x.detach().permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0).requires_grad_()
    assert not strided.is_contiguous()
    y, expected = product(strided, *maps), plain(x, *maps)
    g = torch.randn(y.shape[::-1], dtype=y.dtype).permute(3, 2, 1, 0)
    torch.testing.assert_close(y, expected)
    found = torch.autograd.grad(y, [strided, *maps], g)
    for a, b in zip(found, torch.autograd.grad(expected, [x, *maps], g), strict=True):
        torch.testing.assert_close(a, b)


def test_second_derivatives():
    assert torch.autograd.gradgradcheck(product, problem(batch=1))


def test_two_backward_passes_give_the_same_bits():
    inputs = problem()
    y = product(*inputs)
    first = torch.autograd.grad(y.sum(), inputs, retain_graph=True)
    assert y.grad_fn.kept is None  # its memory is free, though the graph is not
    second = torch.autograd.grad(y.sum(), inputs)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_interleaved_graphs_do_not_share_memory():
    problems = [problem(seed) for seed in range(3)]
    expected = [torch.autograd.grad(plain(*p).square().sum(), p) for p in problems]
    outputs = [product(*p) for p in problems]
    for i in (2, 0, 1):
        found = torch.autograd.grad(outputs[i].square().sum(), problems[i])
        for a, b in zip(found, expected[i], strict=True):
            torch.testing.assert_close(a, b)


def test_only_the_gradients_asked_for():
    x, *maps = problem()
    g = torch.autograd.grad(product(x.detach(), *maps).sum(), maps)
    for a, b in zip(g, torch.autograd.grad(plain(x, *maps).sum(), maps), strict=True):
        torch.testing.assert_close(a, b)
