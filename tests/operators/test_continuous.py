"""Continuous kernels: rendered inside their cut-off only, and the same function on every grid."""

import math

import pytest
import torch

from sciops.operators.continuous import (
    ContinuousConv,
    KernelNet,
    gain_of,
    least_sigma,
    rendered,
    spacings_of,
    taps_of,
)
from sciops.operators.size_masks import gaussian_cutoff
from tests.contracts import assert_operator, random_tensor

LIKE = torch.zeros((), dtype=torch.float64)


@pytest.mark.parametrize("learn_size", [False, True])
@pytest.mark.parametrize(
    ("size", "periodic"), [((9,), (True,)), ((6, 7), (True, False)), ((4, 3, 5), (False,) * 3)]
)
def test_contract(size, periodic, learn_size):
    torch.manual_seed(0)
    layer = ContinuousConv(2, size, periodic=periodic, learn_size=learn_size, hidden=8)
    assert_operator(layer, size, tuple(n + 3 for n in size))
    assert len(list(layer.arch_parameters())) == learn_size


@pytest.mark.parametrize("n", [7, 8, 31])
@pytest.mark.parametrize("sigma", [None, 0.01, 0.1, 0.2, 3.0])
def test_taps_fill_the_cutoff_and_no_more(n, sigma):
    width = None if sigma is None else LIKE + sigma
    c, weights = taps_of(1 / n, width, LIKE)
    cutoff = 1.0 if sigma is None else min(1.0, gaussian_cutoff(sigma))
    mask = 1.0 if sigma is None else torch.exp(-0.5 * (c / sigma).square())
    assert float((weights / mask).sum()) == pytest.approx(2 * cutoff)
    assert float(c.abs().max()) < cutoff + 1 / n  # half a step
    assert float(c.max()) + 2 / n > cutoff - 1 / n


def test_the_size_of_a_kernel_has_a_gradient():
    def norm(sigma):
        c, weights = taps_of(1 / 16, sigma, LIKE)
        return (weights * (1 + c.square())).sum()

    for sigma in (0.05, 0.081, 0.3):
        value = torch.tensor(sigma, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(norm, value)


def test_only_what_is_inside_is_rendered():
    torch.manual_seed(0)
    net = KernelNet(2, 5, (4.0, 4.0), hidden=8)
    taps = [taps_of(1 / 20, LIKE.float() + sigma, net.weight) for sigma in (0.1, 0.2)]
    features = net.features([axis.coordinates for axis in taps])
    assert len(features) == 5 * 9  # reaches 0.215 and 0.429 at steps of 0.1, to the half of one
    kernel = rendered(net, taps, 1, 3, 2.0, features)
    assert kernel.shape == (3, 5, 9)
    by_hand = net.weight[1, 2] @ features[2 * 9 + 6] + net.bias[1, 2]
    mask = taps[0].weights[2] * taps[1].weights[6]
    torch.testing.assert_close(kernel[2, 2, 6], 2.0 * by_hand * mask)


def wave(n: int, periodic: bool) -> torch.Tensor:
    x = torch.arange(n, dtype=torch.float64) / (n if periodic else n - 1)
    return ((2 * math.pi * x).sin() + (4 * math.pi * x + 1).cos())[None, None]


@pytest.mark.parametrize("learn_size", [False, True])
@pytest.mark.parametrize("periodic", [False, True])
def test_the_same_function_on_every_grid_to_second_order(periodic, learn_size):
    torch.manual_seed(0)
    layer = ContinuousConv(1, (20,), periodic=(periodic,), learn_size=learn_size).double()
    if learn_size:
        layer.sigma.data.fill_(0.1)
    grids = [40, 80, 160, 1280] if periodic else [41, 81, 161, 1281]
    with torch.no_grad():
        *outs, fine = (layer(wave(n, periodic)) for n in grids)
    apart = [(out[..., :: 2**k] - fine[..., ::32]).abs().flatten() for k, out in enumerate(outs)]
    if not periodic and not learn_size:  # where both ends of the kernel meet those of the axis
        apart = [torch.cat([a[:20], a[21:]]) for a in apart]
    errors = [float(a.max() / fine.abs().max()) for a in apart]
    assert errors[0] < 0.1 and errors[2] < errors[0] / 8  # 16, up to how cells meet the cut-off


@pytest.mark.parametrize("n", [24, 25])
def test_odd_and_even_grids_are_one(n):
    torch.manual_seed(0)
    layer = ContinuousConv(1, (24,), periodic=(True,), learn_size=False).double()
    with torch.no_grad():
        fine, coarse = layer(wave(600, True)), layer(wave(n, True))
    assert float((coarse - fine[..., :: 600 // n]).abs().max()) < 0.02 * float(fine.abs().max())


def test_white_noise_keeps_its_variance():
    torch.manual_seed(0)
    for learn_size in (False, True):
        layer = ContinuousConv(64, (32, 32), periodic=(True, True), learn_size=learn_size)
        out = layer(random_tensor(4, 64, 32, 32))
        assert 0.3 < float(out.detach().std()) < 3


def test_gain_by_hand():
    """Four points of a period: ½ (½ 1 1 1 ½), whose norm is ½ √3.5."""
    assert gain_of([1 / 4], None) == pytest.approx(2 / math.sqrt(3.5))


def test_projection_keeps_a_neighbour():
    layer = ContinuousConv(1, (11,), periodic=(False,))
    layer.sigma.data.fill_(1e-3)
    layer.project()
    assert layer.sigma.item() == pytest.approx(least_sigma(0.1))
    assert gaussian_cutoff(least_sigma(0.1)) == pytest.approx(0.2)


def test_a_grid_with_ends_has_two_points():
    with pytest.raises(ValueError, match="two points or more"):
        spacings_of((1,), (False,))
    with pytest.raises(ValueError, match="even"):
        KernelNet(1, 1, (1.0,), hidden=7)
