"""The hybrid operator: a convolution at its start, a second path that learns from then on."""

import pytest
import torch
from torch import nn

from sciops.operators import XD, Fixed, arch_parameters
from sciops.operators.hybrid import Hybrid
from tests.contracts import (
    assert_gradients_reach,
    assert_operator,
    random_tensor,
    randomise,
    relative_error,
)

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
SMALL = dict(channels=3, frequencies=2, taps=3)


def hybrid(channels=(4, 5), kernel=3, *, ndim=2, seed=0, conv=None, **options) -> Hybrid:
    torch.manual_seed(seed)
    kind = dict(padding="same") | (conv or {})
    return Hybrid(CONVOLUTIONS[ndim - 1](*channels, kernel, **kind), **SMALL | options)


@pytest.mark.parametrize(
    ("ndim", "kernel", "conv", "options"),
    [
        (1, 5, {}, {}),
        (2, 3, {}, dict(length=16)),
        (2, 3, dict(padding=4, dilation=4), dict(length=(16, 12))),
        (2, (1, 3), dict(padding_mode="circular", bias=False), {}),
        (2, 3, dict(groups=2, padding=(1, 1)), dict(taps=None)),
        (3, 3, {}, dict(depth=0)),
    ],
)
def test_starts_as_the_convolution_to_the_last_bit(ndim, kernel, conv, options):
    layer = hybrid((4, 6), kernel, ndim=ndim, conv=conv, **options)
    x = random_tensor(2, 4, *(12, 9, 5)[:ndim])
    assert torch.equal(layer(x), layer.conv(x))


@pytest.mark.parametrize("taps", [3, None])
def test_is_the_convolution_plus_a_band_operation_on_fewer_channels(taps):
    layer = randomise(hybrid(taps=taps, length=16)).double()
    x = random_tensor(2, 4, 16, 13, dtype=torch.float64)
    reduced = torch.einsum("ci,bixy->bcxy", layer.reduce.weight[..., 0, 0], x)
    points = (torch.arange(16) / 16.0, torch.arange(13) / 16.0)
    far = layer.band(reduced, points)
    far = torch.einsum("oc,bcxy->boxy", layer.expand.weight[..., 0, 0], far)
    assert relative_error(layer(x), layer.conv(x) + far) < 1e-12
    assert relative_error(far, layer.conv(x)) > 0.1  # and it is not small
    assert layer.band.weight.ndim == (4 if taps else 6)


def test_its_own_points_give_way_to_coordinates():
    layer = randomise(hybrid(length=16))
    x = random_tensor(1, 4, 16, 13)
    points = tuple(torch.arange(n, dtype=torch.float64) / 16 for n in (16, 13))
    assert torch.equal(layer(x, points), layer(x))
    moved = tuple(p + 0.1 for p in points)
    assert relative_error(layer(x, moved), layer(x)) > 1e-3


def test_without_a_length_the_grid_is_the_whole_domain():
    layer = randomise(hybrid())
    x = random_tensor(1, 4, 16, 13)
    points = tuple(torch.linspace(0, 1, n, dtype=torch.float64) for n in (16, 13))
    assert relative_error(layer(x), layer(x, points)) < 1e-6


def test_windows_of_every_size_mean_the_same_positions():
    """Something that is zero outside of 24 × 24 points looks the same in every larger window."""
    layer = randomise(hybrid(length=32)).double()
    x = torch.zeros(1, 4, 38, 30, dtype=torch.float64)
    x[:, :, 2:24, 2:24] = random_tensor(1, 4, 22, 22, dtype=torch.float64)
    small, large = layer(x[:, :, :26, :29]), layer(x)
    assert relative_error(small[:, :, :25, :28], large[:, :, :25, :28]) < 1e-12


def test_the_far_path_sees_what_the_convolution_does_not():
    layer = randomise(hybrid(length=32))
    x = random_tensor(1, 4, 32, 32)
    y = x.clone()
    y[..., -1, -1] += 1
    assert (layer.conv(y) - layer.conv(x))[..., :20, :20].abs().max() == 0
    assert (layer(y) - layer(x))[..., :20, :20].abs().max() > 1e-4


def test_one_factor_learns_from_the_first_step_on_and_all_from_the_second():
    layer, x = hybrid(length=16), random_tensor(2, 4, 16, 16)
    layer(x).square().sum().backward()
    stuck = {
        name for name, p in layer.named_parameters() if p.grad is None or not p.grad.abs().sum()
    }
    moving = {"conv.weight", "conv.bias", "expand.weight"}
    assert stuck == {name for name, _ in layer.named_parameters()} - moving
    torch.optim.SGD(layer.parameters(), 1e-3).step()
    assert_gradients_reach(layer, layer(x).square().sum())


@pytest.mark.parametrize(
    ("ndim", "size", "other", "conv", "options"),
    [
        (1, (12,), (17,), {}, dict(length=16)),
        (2, (6, 8), (9, 5), dict(dilation=2), dict(length=(8, 8), depth=2)),
        (2, (8, 8), (11, 6), dict(padding_mode="circular"), dict(taps=None)),
        (3, (3, 4, 5), (4, 4, 4), dict(bias=False), {}),
    ],
)
def test_keeps_the_operator_contract(ndim, size, other, conv, options):
    layer = randomise(hybrid(ndim=ndim, conv=conv, **options), 0.1)
    assert_operator(layer, size, other)
    assert layer.resolution == "any" and not isinstance(layer.resolution, Fixed)


def test_its_architecture_is_that_of_xd():
    layer = hybrid(depth=(1, 0, 2))
    assert [id(p) for p in arch_parameters(layer)] == [id(p) for p in layer.band.frame.parameters()]
    assert [k.depth for k in (*layer.band.frame.k, *layer.band.frame.m)] == [1, 1, 2, 2]
    assert layer.band.frame.modes == (4, 2)  # frequencies of both signs on all axes but the last


def test_circular_padding_means_a_periodic_band():
    assert set(hybrid(conv=dict(padding_mode="circular")).band.frame.grid) == {"periodic"}
    closed = hybrid(period=1.5).band.frame
    assert set(closed.grid) == {"closed"} and closed.period == (1.5, 1.5)
    assert hybrid().band.frame.period == (1.25, 1.25) and isinstance(hybrid().band, XD)


def test_it_has_the_precision_of_the_convolution():
    conv = nn.Conv2d(2, 2, 3, padding=1, dtype=torch.float64)
    layer = Hybrid(conv, **SMALL)
    assert {p.dtype for p in layer.parameters()} == {torch.float64}
    assert layer.conv is conv and layer.weight is conv.weight


@pytest.mark.parametrize(
    ("conv", "message"),
    [
        (dict(stride=2, padding=1), r"keeps the grid, got Conv2d.*use stride=1, padding='same'"),
        (dict(padding=0), "keeps the grid"),
        (dict(padding=(1, 0)), "keeps the grid"),
        (dict(padding="valid"), "keeps the grid"),
        (dict(padding=1, dilation=2), "keeps the grid"),
        (dict(padding=1, padding_mode="reflect"), "use 'zeros' or 'circular'"),
    ],
    ids=str,
)
def test_convolutions_it_cannot_start_as(conv, message):
    with pytest.raises(ValueError, match=message):
        Hybrid(nn.Conv2d(2, 2, 3, **conv), **SMALL)


def test_more_or_fewer_points_than_there_is_room_for():
    layer = hybrid(length=16)
    assert layer(torch.zeros(1, 4, 21, 2)).shape == (1, 5, 21, 2)
    message = r"axis 0 of x has 22 points.*takes 2 to 21: cut x into windows of 16.*larger period"
    with pytest.raises(ValueError, match=message):
        layer(torch.zeros(1, 4, 22, 16))
    with pytest.raises(ValueError, match="axis 1 of x has 1 points"):
        layer(torch.zeros(1, 4, 16, 1))
    with pytest.raises(ValueError, match=r"expected x of shape \(batch, 4, n0, n1\)"):
        layer(torch.zeros(1, 3, 16, 16))
    with pytest.raises(ValueError, match=r"length=\(1, 2, 3\) has 3 entries, expected 2"):
        hybrid(length=(1, 2, 3))
