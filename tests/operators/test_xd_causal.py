"""Causal-frame XD: the future never reaches the past, and the start is the TCN's convolution."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call

from sciops.operators.xd import XD
from tests.contracts import assert_operator, random_tensor, randomise, relative_error

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
EVERYTHING = dict(arch_bias=True, gates=True, bias=True)
VARIANTS = {
    "plain": {},
    "dilated": dict(dilation=3),
    "deep": dict(depth=3),
    "grouped": dict(groups=2),
    "everything": dict(dilation=2, groups=2, depth=(2, 1, 3), **EVERYTHING),
    "no-k-no-l": dict(depth=(0, 0, 1), arch_bias=True),
    "no-m": dict(depth=(1, 1, 0), gates=True),
    "far": dict(lags=16),
    "far-everything": dict(lags=11, dilation=2, depth=(1, 2, 1), **EVERYTHING),
}
VARIANT = pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())


def causal_xd(channels, kernel, size, *, dtype=torch.float32, **options):
    torch.manual_seed(0)
    return XD(*channels, kernel, frame="causal", size=size, **options).to(dtype)


# --- causality ------------------------------------------------------------------------------------


@VARIANT
@DTYPES
@pytest.mark.parametrize("n", [7, 16, 20, 53], ids=lambda n: f"n={n}")
def test_the_future_never_changes_the_past(n, options, dtype):
    """Bit for bit, on sequences shorter than, as long as and longer than `size` = 16."""
    layer = randomise(causal_xd((4, 2), 3, 16, dtype=dtype, **options), 0.5)
    x = random_tensor(2, 4, n, dtype=dtype)
    y = layer(x)
    for t in range(1, n):
        other = x.clone()
        other[..., t:] = 1e3 * random_tensor(2, 4, n - t, dtype=dtype, seed=t)
        changed = layer(other)
        assert torch.equal(changed[..., :t], y[..., :t]), t
        assert not torch.equal(changed[..., t:], y[..., t:]), t


@pytest.mark.parametrize("size", [1, 5, 16])
def test_the_future_never_changes_the_past_after_training(size):
    layer = causal_xd((2, 2), 4, size, **EVERYTHING)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    x = random_tensor(8, 2, 24)
    for _ in range(20):
        optimizer.zero_grad()
        (layer(x) - x.roll(3, -1)).square().mean().backward()
        optimizer.step()
    y = layer(x)
    for t in range(1, 24):
        other = torch.cat([x[..., :t], random_tensor(8, 2, 24 - t, seed=t)], -1)
        assert torch.equal(layer(other)[..., :t], y[..., :t])


@VARIANT
def test_dense_matrix_is_block_lower_triangular_in_time(options):
    n = 21
    layer = randomise(causal_xd((4, 2), 3, 16, **options), 0.5)
    matrix = layer.as_matrix((n,)).view(2, n, 4, n)  # out, t, in, s
    later = torch.arange(n)[:, None] < torch.arange(n)
    assert matrix.movedim(2, 1)[:, :, later].abs().max() == 0
    assert matrix.movedim(2, 1)[:, :, ~later].abs().max() > 0


@VARIANT
def test_output_of_a_prefix_is_the_prefix_of_the_output(options):
    layer = randomise(causal_xd((4, 2), 3, 16, dtype=torch.float64, **options), 0.5)
    x = random_tensor(2, 4, 40, dtype=torch.float64)
    y = layer(x)
    for n in (1, 2, 5, 15, 16, 17, 31, 33, 39):
        assert relative_error(layer(x[..., :n]), y[..., :n]) < 1e-12


@pytest.mark.parametrize("stride", [2, 3])
def test_stride_keeps_every_other_step(stride):
    full, strided = (randomise(causal_xd((2, 2), 3, 8, stride=s), 0.5) for s in (1, stride))
    for n in (6, 7, 20):
        x = random_tensor(2, 2, n)
        assert torch.equal(strided(x), full(x)[..., ::stride])


# --- the start ------------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
def test_start_is_the_left_padded_convolution(kernel, dtype):
    """K̃, L and M̃ are exactly the identity, so nothing but the order of sums can differ."""
    cases = itertools.product((1, 2, 3, 4), (5, 16, 40), (1, 2), (1, 3))
    for dilation, n, groups, depth in cases:
        kind = dict(dilation=dilation, groups=groups, depth=depth)
        layer = causal_xd((4, 2), kernel, 16, dtype=dtype, **kind, **EVERYTHING)
        x = random_tensor(2, 4, n, dtype=dtype)
        padded = F.pad(x, (dilation * (kernel - 1), 0))
        expected = F.conv1d(padded, layer.weight, layer.bias, dilation=dilation, groups=groups)
        assert relative_error(layer(x), expected) < (1e-14 if dtype == torch.float64 else 1e-6)


@pytest.mark.parametrize("extra", [{}, EVERYTHING, dict(arch_bias=True), dict(gates=True)], ids=str)
@pytest.mark.parametrize("n", [5, 32, 33, 50])
def test_many_lags_are_the_filters_they_stand_for(n, extra):
    """(C ⊙ (L w + b)) ∗ x, written out with one filter for each pair of channels."""
    layer = causal_xd((4, 2), 3, 16, dtype=torch.float64, lags=16, depth=(0, 1, 0), **extra)
    layer = randomise(layer, 0.3)
    l_map = layer.frame.l[0].as_matrix()[:, :3]  # (lags, taps), lag 0 first
    filters = layer.weight.flip(-1) @ l_map.mT
    filters = filters if layer.arch_bias is None else filters + layer.arch_bias
    filters = filters if layer.gates is None else filters * layer.gates[..., None]
    x = random_tensor(2, 4, n, dtype=torch.float64)
    expected = F.conv1d(F.pad(x, (15, 0)), filters.flip(-1), layer.bias)
    assert relative_error(layer(x), expected) < 1e-12


@pytest.mark.parametrize("n", [5, 16, 17, 50])
def test_many_lags_with_k_and_m_are_three_steps_one_after_the_other(n):
    """M̃ on blocks of 16, the convolution across them, K̃ on blocks."""
    layer = randomise(causal_xd((4, 2), 3, 16, dtype=torch.float64, lags=16), 0.3)
    k, l_map, m = (getattr(layer.frame, name)[0].as_matrix() for name in "klm")

    def blockwise(matrix, x):
        parts = [part @ matrix[: part.shape[-1], : part.shape[-1]].mT for part in x.split(16, -1)]
        return torch.cat(parts, -1)

    filters = (layer.weight.flip(-1) @ l_map[:, :3].mT).flip(-1)
    x = random_tensor(2, 4, n, dtype=torch.float64)
    expected = blockwise(k, F.conv1d(F.pad(blockwise(m, x), (15, 0)), filters))
    assert relative_error(layer(x), expected) < 1e-12


def test_start_with_many_lags_is_the_convolution():
    layer = causal_xd((4, 2), 3, 16, lags=32, dilation=2, **EVERYTHING)
    for n in (9, 70):
        x = random_tensor(2, 4, n)
        expected = F.conv1d(F.pad(x, (4, 0)), layer.weight, layer.bias, dilation=2)
        assert relative_error(layer(x), expected) < 1e-6


def test_l_learns_to_look_further_back_than_its_taps():
    """Two taps, and a delay of 5."""
    layer = causal_xd((1, 1), 2, 8, depth=(0, 2, 0), lags=8)
    x = random_tensor(64, 1, 24)
    target = F.pad(x, (5, 0))[..., :24]
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(300):
        optimizer.zero_grad()
        loss = (layer(x) - target).square().mean()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.05


def test_lags_must_hold_the_taps():
    with pytest.raises(ValueError, match="lags=4 must be at least 7, as many as the taps reach"):
        XD(1, 1, 4, frame="causal", size=8, dilation=2, lags=4)


def test_start_is_exactly_the_convolution():
    """With whole numbers no sum is rounded, whatever its order."""
    for dilation, groups in itertools.product((1, 2, 3), (1, 2)):
        layer = causal_xd(
            (4, 2), 3, 16, dilation=dilation, groups=groups, arch_bias=True, gates=True
        )
        with torch.no_grad():
            layer.weight.copy_((100 * layer.weight).round())
        x = (10 * random_tensor(2, 4, 37)).round()
        padded = F.pad(x, (2 * dilation, 0))
        expected = F.conv1d(padded, layer.weight, dilation=dilation, groups=groups)
        assert torch.equal(layer(x), expected)


# --- anywhere in the family -----------------------------------------------------------------------


def dense_oracle(layer, x):
    """K̃ · conv(C ⊙ (L w + b)) · M̃ with K̃, M̃ block diagonal, entry by entry."""
    frame, n = layer.frame, x.shape[-1]
    order = 1 << (frame.size - 1).bit_length()
    matrices = []
    for maps in (frame.k, frame.m):
        square = maps[0].as_matrix().detach() if len(maps) else torch.eye(order, dtype=x.dtype)
        blocks = torch.block_diag(*[square] * -(-n // order))
        matrices.append(blocks[:n, :n])
    taps = torch.zeros(
        layer.out_channels, layer.in_channels // layer.groups, frame.lags, dtype=x.dtype
    )
    for j in range(frame.kernel):  # torch's last tap is lag 0
        taps[..., frame.dilation * (frame.kernel - 1 - j)] = layer.weight.detach()[..., j]
    lags = taps @ frame.l[0].as_matrix().detach().mT if len(frame.l) else taps
    lags = lags if layer.arch_bias is None else lags + layer.arch_bias.detach()
    lags = lags if layer.gates is None else lags * layer.gates.detach()[..., None]
    y = torch.zeros(len(x), layer.out_channels, n, dtype=x.dtype)
    group_in, group_out = layer.in_channels // layer.groups, layer.out_channels // layer.groups
    for o, i in itertools.product(range(layer.out_channels), range(group_in)):
        toeplitz = torch.zeros(n, n, dtype=x.dtype)
        for lag in range(min(frame.lags, n)):
            toeplitz += torch.diag(lags[o, i, lag].expand(n - lag), -lag)
        full = matrices[0] @ toeplitz @ matrices[1]
        y[:, o] += x[:, o // group_out * group_in + i] @ full.mT
    return y if layer.bias is None else y + layer.bias.detach()[:, None]


@VARIANT
@pytest.mark.parametrize("size", [8, 13])
def test_learned_layer_is_the_dense_formula(options, size):
    layer = randomise(causal_xd((4, 2), 3, size, dtype=torch.float64, **options), 0.5)
    for n in (3, size, 37):
        x = random_tensor(2, 4, n, dtype=torch.float64)
        expected = dense_oracle(layer, x)
        assert relative_error(layer(x), expected) < 1e-12
        with torch.no_grad():
            assert relative_error(layer.eval()(x), expected) < 1e-12
        layer.train()


@pytest.mark.parametrize("n", [3, 4, 6])
def test_gradcheck_of_input_and_all_parameters(n):
    layer = randomise(causal_xd((2, 2), 2, 4, dtype=torch.float64, dilation=2, **EVERYTHING))
    names = [name for name, _ in layer.named_parameters()]
    values = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    call = lambda x, *values: functional_call(layer, dict(zip(names, values, strict=True)), (x,))
    x = random_tensor(1, 2, n, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(call, (x, *values))


def test_l_can_learn_lags_the_kernel_does_not_have():
    """Taps at lags 0 and 3; L, a K-matrix of order 4, moves them to lag 2."""
    layer = causal_xd((1, 1), 2, 8, dilation=3, depth=(0, 2, 0))
    x = random_tensor(64, 1, 24)
    target = F.pad(x, (2, 0))[..., :24]
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        loss = (layer(x) - target).square().mean()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.05


# --- contract and errors --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [VARIANTS["plain"], VARIANTS["everything"]], ids=["plain", "everything"]
)
def test_causal_layer_keeps_the_operator_contract(options):
    layer = randomise(causal_xd((4, 2), 3, 16, **options), 0.1)
    assert layer.resolution == "any"
    assert_operator(layer, (20,), (50,))


def test_causal_frame_has_one_axis():
    with pytest.raises(
        ValueError, match=r"the causal frame has one axis, time; got kernel_size=\(3, 3\)"
    ):
        XD(1, 1, (3, 3), frame="causal", size=8)


def test_causal_frame_asks_for_its_size():
    with pytest.raises(ValueError, match="needs size=, the number of steps"):
        XD(1, 1, 3, frame="causal")


def test_coordinates_have_no_meaning_in_time_steps():
    layer = XD(1, 1, 3, frame="causal", size=8)
    with pytest.raises(ValueError, match="in frame='band' only; leave them out"):
        layer(torch.zeros(1, 1, 8), coords=(torch.linspace(0, 0.9, 8),))
