"""Grid-frame XD: the convolution itself at its start, and a dense oracle everywhere else."""

import copy
import itertools
import random

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from sciops.operators import frame as frame_module
from sciops.operators import grid as grid_module
from sciops.operators.operator import Fixed
from sciops.operators.xd import XD
from tests.contracts import (
    assert_operator,
    random_tensor,
    randomise,
    relative_error,
)

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
MODULE = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
MODES = pytest.mark.parametrize("padding_mode", ["circular", "zeros"])
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


def padded_conv(layer, x, padding):
    """F.conv on an input padded by hand; padding: a (left, right) pair per axis."""
    flat = [p for pair in reversed(padding) for p in pair]
    crop = [min(p, 0) for p in flat]
    circular = layer.frame.axes[0].circular
    x = F.pad(x, [max(p, 0) for p in flat], mode="circular" if circular else "constant")
    x = F.pad(x, crop)
    kind = dict(stride=layer.stride, dilation=layer.dilation, groups=layer.groups)
    return CONV[len(padding)](x, layer.weight, layer.bias, **kind)


def same(kernel, dilation):
    """How torch pads for padding="same"."""
    spans = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return tuple((span // 2, span - span // 2) for span in spans)


def grid_xd(channels, kernel, size, *, dtype=torch.float64, seed=0, **options):
    torch.manual_seed(seed)
    layer = XD(*channels, kernel, frame="grid", size=size, **options)
    return layer.to(dtype)


# --- at the start: the convolution, at every pixel ------------------------------------------------


@MODES
@pytest.mark.parametrize("size", [5, 7, 8, 12, 16, 17, 31, 32, 33, 100])
def test_one_dimensional_start_is_the_convolution(size, padding_mode):
    strides = itertools.cycle((1, 2, 3, 1, 3))
    groups = itertools.cycle((1, 2, 1, 4))
    checked = 0
    for kernel, dilation in itertools.product(range(1, 6), (1, 2, 3)):
        reach = dilation * (kernel - 1) + 1
        for padding in [same((kernel,), (dilation,)), ((0, 0),), ((2, 0),), ((1, 4),), ((-1, 3),)]:
            if reach > size or reach > size + sum(padding[0]):
                continue
            dtype = torch.float32 if checked % 5 == 0 else torch.float64
            kind = dict(dilation=dilation, stride=next(strides), groups=next(groups))
            layer = grid_xd(
                (4, 8),
                kernel,
                size,
                dtype=dtype,
                padding=padding,
                padding_mode=padding_mode,
                bias=checked % 2 == 0,
                **kind,
            )
            x = random_tensor(2, 4, size, dtype=dtype, seed=checked)
            expected = padded_conv(layer, x, padding)
            assert relative_error(layer(x), expected) < TOLERANCE[dtype], (kernel, padding, kind)
            checked += 1
    assert checked >= 20


@pytest.mark.slow
@MODES
@pytest.mark.parametrize("size", range(5, 41))
def test_one_dimensional_start_is_the_convolution_for_every_combination(size, padding_mode):
    for kernel, dilation, stride in itertools.product(range(1, 6), (1, 2, 3), (1, 2, 3)):
        span = dilation * (kernel - 1)
        for padding in [(span // 2, span - span // 2), (0, 0), (span, 0), (0, 3), (4, 2)]:
            if span >= size:
                continue
            kind = dict(dilation=dilation, stride=stride, padding_mode=padding_mode)
            layer = grid_xd((2, 2), kernel, size, padding=(padding,), **kind)
            x = random_tensor(1, 2, size, dtype=torch.float64)
            assert relative_error(layer(x), padded_conv(layer, x, (padding,))) < 1e-10


def draw_configuration(ndim, seed):
    """One convolution of different extents on every axis."""
    draw = random.Random(1000 * ndim + seed)
    sizes = {2: [6, 7, 8, 11, 13, 16, 20], 3: [5, 6, 7, 8, 9]}[ndim]
    size, kernel, dilation, stride, padding = [], [], [], [], []
    for _ in range(ndim):
        n = draw.choice(sizes)
        k, d = draw.choice([(k, d) for k in range(1, 6) for d in (1, 2, 3) if d * (k - 1) < n])
        span = d * (k - 1)
        some = [(span // 2, span - span // 2), (0, 0), (span, 0), (1, 2), (0, n), (3, -1)]
        size.append(n)
        kernel.append(k)
        dilation.append(d)
        stride.append(draw.choice((1, 1, 2, 3)))
        padding.append(draw.choice([p for p in some if span < n + sum(p)]))
    groups = draw.choice((1, 1, 2))
    options = dict(
        stride=tuple(stride), dilation=tuple(dilation), groups=groups, bias=draw.random() < 0.5
    )
    mode = draw.choice(("circular", "zeros"))
    return tuple(kernel), tuple(size), tuple(padding), dict(options, padding_mode=mode)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
@pytest.mark.parametrize(
    ("ndim", "seed"), [*((2, s) for s in range(40)), *((3, s) for s in range(16))]
)
def test_start_is_the_convolution_in_two_and_three_dimensions(ndim, seed, dtype):
    kernel, size, padding, options = draw_configuration(ndim, seed)
    layer = grid_xd((2, 4), kernel, size, dtype=dtype, padding=padding, **options)
    x = random_tensor(2, 2, *size, dtype=dtype)
    assert relative_error(layer(x), padded_conv(layer, x, padding)) < TOLERANCE[dtype]


@MODES
@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("padding", ["same", "valid", 0, 1, 2, (2, 1)], ids=str)
def test_padding_means_what_it_means_in_torch(padding, padding_mode):
    for kernel, dilation in [(3, 1), (4, 1), (5, 2), ((2, 5), (3, 1))]:
        conv = nn.Conv2d(
            3, 2, kernel, padding=padding, dilation=dilation, padding_mode=padding_mode
        )
        kind = dict(padding=padding, dilation=dilation, padding_mode=padding_mode, bias=True)
        layer = grid_xd((3, 2), conv.kernel_size, (13, 16), **kind)
        conv = conv.double()
        with torch.no_grad():
            conv.weight.copy_(layer.weight)
            conv.bias.copy_(layer.bias)
        x = random_tensor(2, 3, 13, 16, dtype=torch.float64)
        assert relative_error(layer(x), conv(x)) < 1e-10


@pytest.mark.parametrize("depth", [1, 2, 3, 4, (1, 2, 3), (3, 1, 2), (2, 4, 1), (4, 3, 2)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
def test_every_depth_starts_as_the_convolution(depth, dtype):
    for kernel, size in [((3,), (16,)), ((4,), (11,)), ((3, 2), (8, 9))]:
        layer = grid_xd((2, 3), kernel, size, dtype=dtype, depth=depth)
        x = random_tensor(2, 2, *size, dtype=dtype)
        expected = padded_conv(layer, x, same(kernel, layer.dilation))
        assert relative_error(layer(x), expected) < TOLERANCE[dtype]
        depths = depth if isinstance(depth, tuple) else (depth,) * 3
        for maps, d in zip((layer.frame.k, layer.frame.l, layer.frame.m), depths, strict=True):
            assert all(k.depth == d for k in maps)


@MODES
@pytest.mark.parametrize("groups", [1, 2])
def test_arch_bias_and_gates_start_without_effect(padding_mode, groups):
    options = dict(groups=groups, padding_mode=padding_mode, stride=(1, 2), bias=True)
    plain = grid_xd((4, 6), (3, 3), (9, 16), **options)
    x = random_tensor(2, 4, 9, 16, dtype=torch.float64)
    expected = padded_conv(plain, x, ((1, 1), (1, 1)))
    for arch_bias, gates in [(True, False), (False, True), (True, True)]:
        layer = grid_xd((4, 6), (3, 3), (9, 16), arch_bias=arch_bias, gates=gates, **options)
        assert torch.equal(layer.weight, plain.weight)
        assert relative_error(layer(x), expected) < 1e-10


def test_kernel_of_the_whole_circle_is_a_full_circular_convolution():
    layer = grid_xd((1, 1), 16, 16)
    x = random_tensor(1, 1, 16, dtype=torch.float64)
    assert relative_error(layer(x), padded_conv(layer, x, same((16,), (1,)))) < 1e-10


# --- long axes and large multipliers: other paths to the same numbers -----------------------------


def value_and_gradients(layer, x):
    """The output and the gradients of x and every parameter for a fixed pull-back."""
    x = x.clone().requires_grad_()
    y = layer(x)
    pull = random_tensor(*y.shape, dtype=y.dtype, seed=5)
    return [y, *torch.autograd.grad(y, [x, *layer.parameters()], pull)]


def assert_same_numbers(results, expected, tolerance=1e-11):
    for got, wanted in zip(results, expected, strict=True):
        assert relative_error(got, wanted) < tolerance


@pytest.mark.parametrize(
    ("size", "padding_mode"), [(1024, "circular"), (1000, "circular"), (1021, "zeros")]
)
def test_long_axis_starts_as_the_convolution(size, padding_mode):
    for dtype in (torch.float32, torch.float64):
        kind = dict(dtype=dtype, dilation=3, padding_mode=padding_mode, stride=2)
        layer = grid_xd((2, 3), 5, size, **kind)
        assert grid_module.is_long(layer.frame.m[0])
        x = random_tensor(2, 2, size, dtype=dtype)
        expected = padded_conv(layer, x, same((5,), (3,)))
        assert relative_error(layer(x), expected) < TOLERANCE[dtype]


def test_long_axis_is_the_dense_path_with_its_gradients(monkeypatch):
    layer = randomise(grid_xd((2, 2), 3, 1024, depth=(1, 2, 1), arch_bias=True, gates=True), 0.05)
    x = random_tensor(1, 2, 1024, dtype=torch.float64)
    staged = value_and_gradients(layer, x)
    monkeypatch.setattr(grid_module, "is_long", lambda k: False)
    assert_same_numbers(staged, value_and_gradients(layer, x))


SHAPES = [  # kernel, size, options
    ((3,), (16,), {}),
    ((4,), (11,), dict(stride=2, dilation=2)),
    ((3,), (13,), dict(padding_mode="zeros", groups=2)),
    ((3, 2), (8, 9), dict(stride=(1, 2))),
    ((2, 3), (5, 16), dict(padding_mode="zeros", groups=2)),
    ((2, 1, 2), (4, 3, 6), {}),
]
EVERYTHING = dict(arch_bias=True, gates=True, bias=True)


def assert_staged_is_dense(kernel, size, options, long_from, monkeypatch):
    layer = randomise(grid_xd((4, 2), kernel, size, depth=(1, 3, 2), **EVERYTHING, **options), 0.1)
    x = random_tensor(2, 4, *size, dtype=torch.float64)
    dense = value_and_gradients(layer, x)
    monkeypatch.setattr(grid_module, "is_long", lambda k: k.n >= long_from)
    assert any(axis.n >= long_from for axis in layer.frame.axes)
    assert_same_numbers(value_and_gradients(layer, x), dense)
    with torch.no_grad():
        assert relative_error(copy.deepcopy(layer).eval()(x), dense[0]) < 1e-11


@pytest.mark.parametrize(
    ("kernel", "size", "options", "long_from"),
    [*((*shape, 1) for shape in SHAPES[:3]), ((3, 2), (13, 5), dict(groups=2), 16)],
)
def test_staged_first_axis_is_the_dense_one_with_its_gradients(
    kernel, size, options, long_from, monkeypatch
):
    assert_staged_is_dense(kernel, size, options, long_from, monkeypatch)


@pytest.mark.parametrize(
    ("kernel", "size", "options", "long_from"),
    [*((*shape, 1) for shape in SHAPES[3:]), *((*shape, 16) for shape in SHAPES[3:5])],
)
def test_other_staged_axes_are_the_dense_ones_with_their_gradients(
    kernel, size, options, long_from, monkeypatch
):
    assert_staged_is_dense(kernel, size, options, long_from, monkeypatch)


@pytest.mark.parametrize(("kernel", "size", "options"), SHAPES)
@pytest.mark.parametrize("large", [1, 50, 300])
@pytest.mark.parametrize("architecture", [{}, EVERYTHING], ids=["plain", "biased-gated"])
def test_slabs_of_the_multiplier_give_the_same_with_their_gradients(
    kernel, size, options, large, architecture, monkeypatch
):
    layer = randomise(grid_xd((4, 2), kernel, size, **architecture, **options), 0.1)
    x = random_tensor(2, 4, *size, dtype=torch.float64)
    whole = value_and_gradients(layer, x)
    monkeypatch.setattr(frame_module, "LARGE", large)
    assert_same_numbers(value_and_gradients(layer, x), whole)
    with torch.no_grad():
        assert relative_error(copy.deepcopy(layer).eval()(x), whole[0]) < 1e-11


# --- anywhere in the family: a slow dense oracle --------------------------------------------------


def kron(matrices):
    product = torch.ones(1, 1, dtype=torch.complex128)
    for matrix in matrices:
        product = torch.kron(product, matrix.detach())
    return product


def lay_inputs(axis):
    """E (n, size): input j lies at j; a wrapped periodic input once more on either side."""
    e = torch.zeros(axis.n, axis.size, dtype=torch.complex128)
    wraps = axis.circular and axis.size & (axis.size - 1)
    first = -max(axis.left, 0) if wraps else 0
    last = axis.size + max(axis.right, 0) if wraps else axis.size
    for j in range(first, last):
        e[j % axis.n, j % axis.size] = 1
    return e


def lay_taps(axis):
    """(n, kernel): tap j lies at left − d·j."""
    e = torch.zeros(axis.n, axis.kernel, dtype=torch.complex128)
    for j in range(axis.kernel):
        e[(axis.left - axis.dilation * j) % axis.n, j] = 1
    return e


def read_outputs(axis):
    """(n_out, n): output t is read at s·t."""
    e = torch.zeros(axis.n_out, axis.n, dtype=torch.complex128)
    for t in range(axis.n_out):
        e[t, axis.stride * t % axis.n] = 1
    return e


def dense_oracle(layer, x):
    """Re( K diag(C (L w + b)) M x ) with full Kronecker matrices, channel pair by channel pair."""
    frame, axes = layer.frame, layer.frame.axes
    k, l_map, m = (kron(a.as_matrix() for a in maps) for maps in (frame.k, frame.l, frame.m))
    k = kron(map(read_outputs, axes)) @ k
    l_map = l_map @ kron(map(lay_taps, axes))
    m = m @ kron(map(lay_inputs, axes))
    bias = torch.zeros(len(m), dtype=torch.complex128)
    if layer.arch_bias is not None:
        bias = torch.view_as_complex(layer.arch_bias.detach()).flatten()
    n_out = [axis.n_out for axis in axes]
    y = torch.zeros(len(x), layer.out_channels, *n_out, dtype=torch.float64)
    per_group_in = layer.in_channels // layer.groups
    per_group_out = layer.out_channels // layer.groups
    weight = layer.weight.detach()
    for o, i in itertools.product(range(layer.out_channels), range(per_group_in)):
        source = o // per_group_out * per_group_in + i
        d = l_map @ weight[o, i].flatten().cdouble() + bias
        if layer.gates is not None:
            d = d * torch.complex(*layer.gates[o, i].detach())
        for sample in range(len(x)):
            modes = m @ x[sample, source].flatten().cdouble()
            y[sample, o] += (k @ (d * modes)).real.view(n_out)
    return y if layer.bias is None else y + layer.bias.detach().view(-1, *[1] * len(axes))


ORACLE_CASES = [  # channels, kernel, size, options
    ((1, 1), (3,), (8,), {}),
    ((2, 3), (3,), (16,), dict(depth=3)),
    ((2, 3), (5,), (13,), dict(stride=2, depth=(2, 1, 3))),
    ((2, 4), (2,), (11,), dict(groups=2, padding_mode="zeros", dilation=3)),
    ((3, 3), (3,), (8,), dict(groups=3, padding=((3, 0),))),
    ((2, 3), (3, 3), (8, 8), {}),
    ((2, 2), (2, 3), (7, 4), dict(stride=(1, 2), depth=(1, 2, 3))),
    ((4, 2), (3, 1), (6, 5), dict(groups=2, padding_mode="zeros", padding="valid")),
    ((4, 4), (3, 2), (4, 9), dict(groups=4, dilation=(1, 2))),
    ((1, 2), (2, 1, 2), (4, 3, 4), {}),
]


@pytest.mark.parametrize(("channels", "kernel", "size", "options"), ORACLE_CASES)
@pytest.mark.parametrize("extra", ["", "arch_bias", "gates", "arch_bias gates bias"])
def test_learned_layer_is_the_dense_formula(channels, kernel, size, options, extra):
    extras = dict.fromkeys(extra.split(), True)
    layer = randomise(grid_xd(channels, kernel, size, **options, **extras))
    x = random_tensor(2, channels[0], *size, dtype=torch.float64)
    expected = dense_oracle(layer, x)
    assert relative_error(layer(x), expected) < 1e-11
    with torch.no_grad():
        assert relative_error(layer.eval()(x), expected) < 1e-11
    assert relative_error(layer.train().float()(x.float()), expected) < 1e-4


# --- gradients ------------------------------------------------------------------------------------


def as_function(layer):
    """The layer as a function of its input and parameters, and those."""
    names = [name for name, _ in layer.named_parameters()]
    call = lambda x, *values: functional_call(layer, dict(zip(names, values, strict=True)), (x,))
    return call, [p.detach().clone().requires_grad_() for p in layer.parameters()]


@pytest.mark.parametrize(
    ("channels", "kernel", "size", "options"),
    [
        ((1, 2), (3,), (4,), dict(depth=2, arch_bias=True, gates=True, bias=True)),
        ((2, 1), (2,), (3,), dict(stride=2)),
        ((2, 2), (2,), (4,), dict(groups=2, padding_mode="zeros", gates=True)),
        ((1, 1), (2, 2), (2, 3), dict(arch_bias=True)),
    ],
)
def test_gradcheck_of_input_and_all_parameters(channels, kernel, size, options):
    layer = randomise(grid_xd(channels, kernel, size, **options))
    call, values = as_function(layer)
    x = random_tensor(2, channels[0], *size, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(call, (x, *values))


@pytest.mark.parametrize("size", [(4,), (2, 2)], ids=str)
def test_second_derivatives_pass_gradgradcheck(size):
    kernel = (2,) * len(size)
    layer = randomise(grid_xd((1, 1), kernel, size, gates=True))
    call, values = as_function(layer)
    x = random_tensor(1, 1, *size, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradgradcheck(call, (x, *values))


# --- contract and errors --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "size", "other", "options"),
    [
        ((3,), (12,), (13,), dict(bias=True)),
        (
            (3,),
            (16,),
            (8,),
            dict(depth=3, groups=2, stride=2, gates=True, arch_bias=True),
        ),
        ((3, 3), (6, 8), (8, 6), dict(padding_mode="zeros")),
        ((1, 2, 3), (3, 4, 5), (4, 4, 4), dict(gates=True)),
    ],
)
def test_grid_layer_keeps_the_operator_contract(kernel, size, other, options):
    torch.manual_seed(0)
    layer = randomise(XD(4, 2, kernel, frame="grid", size=size, **options), 0.1)
    assert_operator(layer, size, other)
    assert layer.resolution == Fixed(size)


def test_one_number_is_the_size_of_every_axis():
    assert XD(1, 1, (3, 3), frame="grid", size=8).resolution == Fixed((8, 8))


@pytest.mark.parametrize("shape", [(1, 2, 15), (1, 2, 17), (1, 2, 32)], ids=str)
def test_another_size_is_refused_with_a_remedy(shape):
    layer = XD(2, 2, 3, frame="grid", size=16)
    with pytest.raises(ValueError, match=r"built for size=\(16,\).*resample.*frame='band'"):
        layer(torch.zeros(shape))


def test_grid_frame_asks_for_its_size():
    with pytest.raises(ValueError, match=r"give its size=, or use frame='band'"):
        XD(1, 1, 3, frame="grid")


def test_kernel_larger_than_the_grid_is_refused():
    with pytest.raises(
        ValueError, match="spans 5 points, larger than the grid of 4; use a smaller kernel"
    ):
        XD(1, 1, 5, frame="grid", size=4)
    with pytest.raises(ValueError, match="dilation 3 spans 7 points, larger than the grid of 6"):
        XD(1, 1, (1, 3), frame="grid", size=(8, 6), dilation=3)


def test_grid_frame_needs_depth():
    with pytest.raises(ValueError, match="whole numbers ≥ 1 in the grid frame"):
        XD(1, 1, 3, frame="grid", size=8, depth=(1, 0, 1))


def test_coordinates_have_no_meaning_on_a_fixed_grid():
    layer = XD(1, 1, 3, frame="grid", size=8)
    with pytest.raises(ValueError, match="in frame='band' only; leave them out"):
        layer(torch.zeros(1, 1, 8), coords=(torch.linspace(0, 0.9, 8),))
