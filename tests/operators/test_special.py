"""Named operations are points of the XD family: each against torch's own."""

import copy
import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sciops.operators import special
from sciops.operators.xd import XD
from tests.contracts import (
    assert_gradients_reach,
    random_tensor,
    randomise,
    relative_error,
)

CONV = {1: F.conv1d, 2: F.conv2d}
CONV_TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d}
AVG_POOL = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def grid_xd(channels, kernel, size, depth, **options):
    torch.manual_seed(0)
    return XD(*channels, kernel, frame="grid", size=size, depth=depth, **options)


def install(layer, maps):
    """A layer that was somewhere else, now with these maps; in both precisions."""
    layer = randomise(layer).set_maps(maps)
    return layer, copy.deepcopy(layer).double()


def assert_is(layer, maps, expected, size):
    """The layer with these maps computes `expected(layer, x)`."""
    single, double = install(layer, maps)
    for member, dtype, tolerance in ((single, torch.float32, 2e-5), (double, torch.float64, 1e-10)):
        x = random_tensor(2, layer.in_channels, *size, dtype=dtype)
        assert relative_error(member(x), expected(member, x)) < tolerance


# --- convolutions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [(1, 1, 1), (3, 3, 3), (2, 4, 1)], ids=str)
def test_convolution_maps_bring_any_layer_back_to_its_convolution(depth):
    layer = grid_xd(
        (2, 3), (3, 2), (8, 11), depth, padding_mode="zeros", arch_bias=True, gates=True
    )
    maps = special.convolution(layer.frame.axes, depth)
    expected = lambda layer, x: F.conv2d(F.pad(x, (0, 1, 1, 1)), layer.weight)
    assert_is(layer, maps, expected, (8, 11))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_inactive_taps_do_not_enter_but_can_be_learned(depth):
    layer = grid_xd((2, 3), 5, 16, depth)
    active = torch.tensor([False, True, True, True, False])
    maps = special.convolution(layer.frame.axes, (depth,) * 3, active=[active])
    expected = lambda layer, x: F.conv1d(F.pad(x, (1, 1), mode="circular"), layer.weight[:, :, 1:4])
    assert_is(layer, maps, expected, (16,))
    layer.set_maps(maps)
    x = random_tensor(4, 2, 16)
    optimizer = torch.optim.SGD(layer.frame.l.parameters(), lr=0.1)
    before = layer.as_matrix().detach()
    layer(x).square().sum().backward()
    assert layer.weight.grad[:, :, 1:4].abs().min() > 0
    assert layer.weight.grad[:, :, [0, 4]].abs().max() < 1e-4  # L is blind to them
    optimizer.step()
    layer.zero_grad()
    layer(x).square().sum().backward()
    assert layer.weight.grad[:, :, [0, 4]].abs().max() > 1e-4  # now it sees them
    assert relative_error(layer.as_matrix(), before) > 1e-3


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize(("size", "padding_mode"), [(32, "circular"), (25, "zeros"), (20, "zeros")])
def test_dilated_convolution_spreads_plain_taps(kernel, dilation, size, padding_mode):
    depth = (1, 3, 1)
    layer = grid_xd((2, 3), kernel, size, depth, padding_mode=padding_mode)
    maps = special.dilated_convolution(layer.frame.axes, depth, dilation)
    span = dilation * (kernel - 1)
    pad = (span // 2, span - span // 2)
    mode = "circular" if padding_mode == "circular" else "constant"
    expected = lambda layer, x: F.conv1d(F.pad(x, pad, mode=mode), layer.weight, dilation=dilation)
    assert_is(layer, maps, expected, (size,))


def test_dilated_convolution_spreads_plain_taps_in_two_dimensions():
    depth = (1, 3, 1)
    layer = grid_xd((2, 2), (3, 5), (16, 32), depth)
    maps = special.dilated_convolution(layer.frame.axes, depth, 2)
    pad = (4, 4, 2, 2)
    expected = lambda layer, x: F.conv2d(F.pad(x, pad, mode="circular"), layer.weight, dilation=2)
    assert_is(layer, maps, expected, (16, 32))


def transposed_layer(kernel, size, stride, dilation, padding, *, output_padding=0, **options):
    """A layer padded as `transposed_convolution` asks, and its maps."""
    pairs = []
    for k, n, d, p in zip(kernel, size, dilation, padding, strict=True):
        span = d * (k - 1)
        pairs.append((span - p, (n - 1) * (stride - 1) + span - p + output_padding))
    depth = options.pop("depth", (1, 3, 3))
    options = dict(dilation=dilation, padding=tuple(pairs), padding_mode="zeros", **options)
    layer = grid_xd((4, 2), kernel, size, depth, **options)
    return layer, special.transposed_convolution(layer.frame.axes, depth, stride)


def conv_transpose(layer, x, stride, dilation, padding, output_padding=0):
    weight = (
        layer.weight.unflatten(0, (layer.groups, -1)).transpose(1, 2).flatten(0, 1)
    )  # (in, out/g, *k)
    kind = dict(stride=stride, padding=padding, output_padding=output_padding, dilation=dilation)
    return CONV_TRANSPOSE[x.ndim - 2](x, weight, groups=layer.groups, **kind)


@pytest.mark.parametrize("stride", [1, 2, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("padding", [0, 1, 2])
def test_transposed_convolution(stride, dilation, padding):
    for kernel, size in itertools.product((1, 2, 3, 4), (7, 8)):
        if padding > dilation * (kernel - 1):
            continue
        layer, maps = transposed_layer((kernel,), (size,), stride, (dilation,), (padding,))
        expected = lambda layer, x: conv_transpose(layer, x, stride, dilation, padding)
        assert_is(layer, maps, expected, (size,))


def test_transposed_convolution_of_channel_groups_with_output_padding():
    layer, maps = transposed_layer((3,), (9,), 2, (1,), (1,), output_padding=1, groups=2)
    expected = lambda layer, x: conv_transpose(layer, x, 2, 1, 1, output_padding=1)
    assert_is(layer, maps, expected, (9,))


def test_transposed_convolution_in_two_dimensions_and_deeper_maps():
    layer, maps = transposed_layer((3, 2), (5, 6), 2, (1, 2), (1, 0), depth=(2, 4, 5))
    expected = lambda layer, x: conv_transpose(layer, x, 2, (1, 2), (1, 0))
    assert_is(layer, maps, expected, (5, 6))


# --- permutations ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "padding_mode"), [(16, "circular"), (32, "circular"), (11, "zeros"), (16, "zeros")]
)
@pytest.mark.parametrize("depth", [(1, 1, 3), (3, 3, 3), (1, 2, 5)], ids=str)
def test_permutation_then_convolution(size, padding_mode, depth):
    layer = grid_xd((2, 3), 3, size, depth, padding_mode=padding_mode)
    v = torch.randperm(size, generator=torch.Generator().manual_seed(size))
    maps = special.permuted_convolution(layer.frame.axes, depth, [v])
    mode = "circular" if padding_mode == "circular" else "constant"
    expected = lambda layer, x: F.conv1d(F.pad(x[..., v], (1, 1), mode=mode), layer.weight)
    assert_is(layer, maps, expected, (size,))


def test_permutation_then_convolution_in_two_dimensions():
    depth = (1, 1, 3)
    layer = grid_xd((3, 4), (3, 3), (16, 8), depth)
    generator = torch.Generator().manual_seed(0)
    rows, columns = (torch.randperm(n, generator=generator) for n in (16, 8))
    maps = special.permuted_convolution(layer.frame.axes, depth, [rows, columns.tolist()])
    expected = lambda layer, x: F.conv2d(
        F.pad(x[:, :, rows][..., columns], (1, 1, 1, 1), mode="circular"), layer.weight
    )
    assert_is(layer, maps, expected, (16, 8))


def best_convolution_error(x, y, kernel):
    """The least squares error of the best circular kernel of this size, in closed form."""
    columns = [x.roll(-(j - (kernel - 1) // 2), -1).flatten() for j in range(kernel)]
    design = torch.stack(columns, 1)
    solution = torch.linalg.lstsq(design, y.flatten()[:, None]).solution
    return float((design @ solution - y.flatten()[:, None]).square().mean())


def test_gradient_descent_learns_a_permuted_signal_better_than_any_convolution():
    n, kernel = 16, 3
    generator = torch.Generator().manual_seed(3)
    v = torch.randperm(n, generator=generator)
    x = torch.randn(256, 1, n, generator=generator)
    taps = torch.tensor([[[0.5, 1.0, -0.7]]])
    y = F.conv1d(F.pad(x[..., v], (1, 1), mode="circular"), taps)
    bound = best_convolution_error(x, y, kernel)
    layer = grid_xd((1, 1), kernel, n, 3)
    start = float((layer(x) - y).square().mean().detach())
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    for _ in range(400):
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        learned = float((layer.eval()(x) - y).square().mean())
    assert start >= bound - 1e-5, "the start is a convolution and cannot beat the best one"
    assert learned < 0.2 * bound, f"{learned:.3g} against {bound:.3g} for the best convolution"
    with torch.no_grad():
        layer.weight.copy_(taps)
    layer.set_maps(special.permuted_convolution(layer.frame.axes, (3, 3, 3), [v]))
    with torch.no_grad():
        assert relative_error(layer(x), y) < 1e-5  # the exact solution is in the family


# --- pooling, identity, zero ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "size", "stride", "padding"),
    [
        ((2,), (16,), 2, 0),
        ((3,), (13,), 1, 1),
        ((4,), (11,), 3, 2),
        ((2, 2), (8, 12), 2, 0),
        ((3, 5), (9, 10), (2, 3), (1, 2)),
        ((2, 3, 2), (4, 5, 6), 2, (0, 1, 1)),
    ],
)
def test_average_pooling(kernel, size, stride, padding):
    options = dict(stride=stride, padding=padding, padding_mode="zeros", arch_bias=True, gates=True)
    layer = grid_xd((3, 3), kernel, size, 1, **options)
    maps = special.average_pooling(layer.frame.axes, (1, 1, 1), (3, 3))
    pool = AVG_POOL[len(kernel)]
    single, double = install(layer, maps)
    for member, dtype in ((single, torch.float32), (double, torch.float64)):
        x = random_tensor(2, 3, *size, dtype=dtype)
        assert relative_error(member(x), pool(x, kernel, stride, padding)) < 1e-5


def test_average_pooling_wraps_on_circular_axes():
    layer = grid_xd((2, 2), 3, 12, (1, 3, 1), arch_bias=True, gates=True)
    layer.set_maps(special.average_pooling(layer.frame.axes, (1, 3, 1), (2, 2)))
    x = random_tensor(2, 2, 12)
    assert relative_error(layer(x), (x + x.roll(1, -1) + x.roll(-1, -1)) / 3) < 1e-5


@pytest.mark.parametrize("depth", [(1, 1, 1), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("padding_mode", ["circular", "zeros"])
def test_identity_ignores_the_weights(depth, padding_mode):
    for kernel, size in [((3,), (8,)), ((2,), (13,)), ((3, 3), (6, 8))]:
        options = dict(padding_mode=padding_mode, arch_bias=True, gates=True)
        layer = grid_xd((3, 3), kernel, size, depth, **options)
        maps = special.identity(layer.frame.axes, depth, (3, 3))
        assert_is(layer, maps, lambda layer, x: x, size)


def test_identity_between_different_channels_keeps_the_common_ones():
    layer = grid_xd((2, 3), 3, 8, 1, arch_bias=True, gates=True)
    layer.set_maps(special.identity(layer.frame.axes, (1, 1, 1), (3, 2)))
    x = random_tensor(2, 2, 8)
    assert relative_error(layer(x), torch.cat([x, torch.zeros(2, 1, 8)], 1)) < 1e-6


@pytest.mark.parametrize("depth", [(1, 1, 1), (1, 2, 1), (3, 3, 3)], ids=str)
@pytest.mark.parametrize(("kernel", "size"), [((3,), (8,)), ((3, 2), (6, 8))], ids=["1d", "2d"])
def test_zero_ignores_the_weights(depth, kernel, size):
    layer = randomise(grid_xd((2, 3), kernel, size, depth))
    layer.set_maps(special.zero(layer.frame.axes, depth))
    assert layer(random_tensor(2, 2, *size)).abs().max() == 0


@pytest.mark.parametrize(
    ("kernel", "size"), [((3,), (8,)), ((3, 2), (6, 8)), ((2, 2, 2), (4, 4, 3))], ids=str
)
def test_zero_can_learn_to_see_the_weights(kernel, size):
    layer = randomise(grid_xd((2, 3), kernel, size, 1))
    layer.set_maps(special.zero(layer.frame.axes, (1, 1, 1)))
    layer(random_tensor(2, 2, *size)).sum().backward()
    gradients = [k.values.grad for k in layer.frame.l]
    assert all(torch.isfinite(g).all() for g in gradients)
    assert any(g.abs().sum() > 0 for g in gradients)


def test_fourier_layer_is_the_start_of_the_band_frame():
    torch.manual_seed(0)
    for depth in ((1, 1, 1), (2, 0, 3)):
        layer = XD(2, 3, (1, 1), modes=(8, 6), weights="modes", depth=depth)
        x = random_tensor(2, 2, 20, 19)
        before = layer(x).detach()
        weight = layer.weight.detach().clone()
        randomise(layer)
        with torch.no_grad():
            layer.weight.copy_(weight)
        assert relative_error(layer(x), before) > 1e-2
        layer.set_maps(special.fourier_layer(layer.frame.modes, depth))
        assert torch.equal(layer(x), before)


def test_set_maps_gives_a_layer_that_learns():
    depth = (3, 3, 3)
    layer = grid_xd((2, 2), 3, 8, depth, arch_bias=True, gates=True)
    v = torch.arange(8).flip(0)
    assert layer.set_maps(special.permuted_convolution(layer.frame.axes, depth, [v])) is layer
    assert all(isinstance(p, nn.Parameter) for p in layer.parameters())
    assert_gradients_reach(layer, layer(random_tensor(2, 2, 8)).square().sum())


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2])
def test_permutations_need_three_blocks(depth):
    layer = grid_xd((1, 1), 3, 16, depth, padding_mode="zeros", padding=((2, 40),))
    axes, triple = layer.frame.axes, (depth,) * 3
    for make in (
        lambda: special.permuted_convolution(axes, triple, [torch.arange(16)]),
        lambda: special.dilated_convolution(axes, triple, 2),
        lambda: special.transposed_convolution(axes, triple, 2),
    ):
        with pytest.raises(ValueError, match=f"need depth ≥ 3, got depth {depth}"):
            make()


@pytest.mark.parametrize(("has", "lacks"), [("gates", "arch_bias"), ("arch_bias", "gates")])
def test_pooling_and_identity_need_bias_and_gates(has, lacks):
    layer = grid_xd((1, 1), 3, 8, 1, **{has: True})
    for make in (special.average_pooling, special.identity):
        with pytest.raises(
            ValueError, match=rf"needs {lacks}: build the layer with XD\(…, {lacks}=True\)"
        ):
            layer.set_maps(make(layer.frame.axes, (1, 1, 1), (1, 1)))


def test_refused_maps_leave_the_layer_as_it_was():
    layer = randomise(grid_xd((1, 1), 3, 8, 1))
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    with pytest.raises(ValueError, match="of another size or depth"):
        layer.set_maps(special.convolution(layer.frame.axes, (1, 1, 3)))
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())


def test_maps_of_another_size_are_refused():
    small, large = (grid_xd((1, 1), 3, n, 1) for n in (8, 16))
    with pytest.raises(ValueError, match="of another size or depth"):
        large.set_maps(special.convolution(small.frame.axes, (1, 1, 1)))


def test_dilation_beyond_the_circle_is_refused():
    for size, mode in ((12, "circular"), (15, "zeros")):
        layer = grid_xd((1, 1), 3, size, 3, padding_mode=mode)
        with pytest.raises(ValueError, match=r"reaches beyond the .* points.*use XD\(dilation=…\)"):
            special.dilated_convolution(layer.frame.axes, (1, 3, 1), 3)


def test_transposed_convolution_says_which_padding_it_needs():
    for options in (dict(padding_mode="circular"), dict(padding_mode="zeros")):
        layer = grid_xd((1, 1), 3, 8, 3, **options)
        with pytest.raises(
            ValueError,
            match=r"padding_mode='zeros' and \(left, right\) padding of \(2 − p, 9 − p\)",
        ):
            special.transposed_convolution(layer.frame.axes, (3, 3, 3), 2)


def test_wrapped_axes_cannot_be_permuted():
    layer = grid_xd((1, 1), 3, 12, 3)
    with pytest.raises(ValueError, match="use a power-of-two size or padding_mode='zeros'"):
        special.permuted_convolution(layer.frame.axes, (3, 3, 3), [torch.arange(12)])
