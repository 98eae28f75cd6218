"""The continuous CNN: masks decide what is computed, and functions mean the same on all grids."""

import pytest
import torch

from sciops.backbones.ccnn import Ccnn, point_norm, residual
from sciops.backbones.ccnn_grids import trained_grid
from sciops.backbones.ccnn_sizes import kernel_reach
from sciops.backbones.complexity import measured_flops
from sciops.operators import arch_parameters, weight_parameters
from tests.backbones.test_backbones import difference, make_task, wave
from tests.contracts import random_tensor

VARIANTS = ("", "K", "KR", "KRWD")


def made(
    learn: str, ndim: int = 2, n: int = 16, *, closed: bool = True, width=6, **options
) -> Ccnn:
    torch.manual_seed(0)
    return Ccnn(make_task(ndim, n, closed=closed), learn=learn, width=width, hidden=8, **options)


@pytest.mark.parametrize("learn", VARIANTS)
@pytest.mark.parametrize(("ndim", "closed"), [(1, False), (1, True), (2, False), (2, True), (3, 0)])
def test_gradients_reach_all_that_is_kept(learn, ndim, closed):
    net = made(learn, ndim, 10, closed=bool(closed))
    x = random_tensor(3, 2, *[10] * ndim)
    net(x).square().sum().backward()
    assert net(x).shape == (3, 3, *x.shape[2:])
    assert all(p.grad is not None for p in net.parameters())
    assert all(bool(p.grad.abs().sum() > 0) for p in arch_parameters(net))
    assert {id(p) for p in arch_parameters(net)} == {id(p) for p in net.sizes.parameters()}
    assert len(weight_parameters(net)) + len(arch_parameters(net)) == len(list(net.parameters()))


def narrowed(net: Ccnn, letter: str) -> Ccnn:
    """The network with less of one of its sizes."""
    with torch.no_grad():
        if letter == "K":
            net.sizes.kernel /= 4
        if letter == "R":
            net.sizes.resolution -= 1.0
        if letter == "W":
            net.sizes.width -= 0.5
        if letter == "D":
            net.sizes.depth -= 0.4
    net.sizes.project()
    return net


@pytest.mark.parametrize("letter", "KRWD")
def test_less_is_computed(letter):
    """Operations of a forward pass fall with every mask."""
    net = made("KRWD", n=32, width=16)
    net.sizes.kernel.data.fill_(0.2)
    x = random_tensor(2, 2, 32, 32)
    before = measured_flops(net, x)
    assert measured_flops(narrowed(net, letter), x) < 0.97 * before


def test_what_is_outside_has_no_say():
    """Weights of channels and blocks that masks leave out may be anything."""
    net = narrowed(made("KRWD", width=8), "W").eval()
    x = random_tensor(2, 2, 16, 16)
    y = net(x)
    (n_in, n_mid, n_out), blocks = net.sizes.channels(0), net.sizes.blocks()
    with torch.no_grad():
        net.mixer_weight[blocks:] = torch.nan
        net.mixer_weight[:, n_mid:] = torch.nan
        net.mixer_weight[:, :, n_in:] = torch.nan
        net.linear_weight[:, n_out:] = torch.nan
        net.linear_weight[:, :, n_mid:] = torch.nan
        net.kernels.weight[:, n_in:] = torch.nan
        net.norm_weight[:, n_in:] = torch.nan
    assert torch.equal(net(x), y)


@pytest.mark.parametrize("learn", VARIANTS)
@pytest.mark.parametrize(("closed", "limit"), [(False, 1e-2), (True, 4e-2)])
def test_the_same_function_on_every_grid(learn, closed, limit):
    """Up to quadrature, and to what GELU adds above the band."""
    net = made(learn, n=25 if closed else 24, closed=closed).double()
    if "K" in learn:
        net.sizes.kernel.data.fill_(0.15)
    if "R" in learn:
        net.sizes.resolution.data[1:] -= 0.8
    with torch.no_grad():
        coarse, fine = (net(wave(net.task, n)) for n in ((48, 96) if not closed else (49, 97)))
    assert difference(coarse, fine) < limit


def test_odd_and_even_grids():
    net = made("KR", 1, 24, closed=False).double()
    net.sizes.resolution.data -= 0.6
    one = lambda n: torch.arange(n, dtype=torch.float64) / n
    waves = lambda n: torch.stack(
        [(6.2831853071796 * one(n)).sin(), (6.2831853071796 * one(n)).cos()]
    )
    with torch.no_grad():
        odd, even, fine = (net(waves(n)[None]) for n in (45, 46, 45 * 46))
    assert float((odd - fine[..., ::46]).norm() / odd.norm()) < 1e-2
    assert float((even - fine[..., ::45]).norm() / even.norm()) < 1e-2


def test_classes_have_one_answer():
    from sciops.task import Axis, Field, Task

    axes = tuple(Axis(name, tuple(range(8)), False, 7.0) for name in "yx")
    task = Task("images", (Field("pixel"),), (Field("class"),), axes, ("a", "b", "c"))
    torch.manual_seed(0)
    net = Ccnn(task, width=4, hidden=8, positions=False, cells=True, dropout=0.5)
    x = random_tensor(5, 1, 8, 8)
    assert net(x).shape == (5, 3) and not torch.equal(net(x), net(x))
    assert torch.equal(net.eval()(x), net(x))


def test_normalisation_has_the_statistics_of_the_batch_in_evaluation_too():
    net = made("K").eval()
    x = random_tensor(4, 2, 16, 16)
    assert not torch.allclose(net(x)[:1], net(x[:1]), atol=1e-3)
    assert not any("running" in name for name in net.state_dict())


def test_modern_networks_see_each_sample_by_itself():
    net = made("KRWD", style="modern").eval()
    x = random_tensor(4, 2, 16, 16)
    torch.testing.assert_close(net(x)[:1], net(x[:1]))


def test_normalisation_of_points_is_that_of_layers():
    x, weight, bias = random_tensor(2, 5, 4, 3), random_tensor(5, seed=1), random_tensor(5, seed=2)
    last = torch.nn.functional.layer_norm(x.movedim(1, -1), (5,), weight, bias)
    torch.testing.assert_close(point_norm(x, weight, bias), last.movedim(-1, 1))


def test_residuals_of_modern_networks_have_both_signs():
    """A published one ends with a GELU, which is above −0.17."""
    lowest = {}
    for style in ("paper", "modern"):
        net = made("K", style=style)
        h = random_tensor(2, 6, 16, 16)
        parts = net.all_parts(trained_grid(net.task))[0]
        added = residual(h, parts, net.periodic, style=style, cells=False, dropout=0.0) - h
        lowest[style] = added.min().item()
    assert lowest["paper"] > -0.18 and lowest["modern"] < -0.5


def test_kernels_start_as_wide_as_asked():
    wide, usual = (made("K", n=64, **options).sizes for options in ({"sigma": 0.2}, {}))
    assert kernel_reach(wide, 0) == pytest.approx([0.2 * 2.146] * 2, abs=1e-3)
    assert kernel_reach(usual, 0) == pytest.approx([0.0325 * 2.146] * 2, abs=1e-3)


def test_points_must_be_evenly_spaced():
    net = made("K", 1)
    x = random_tensor(2, 2, 16)
    even = (torch.linspace(0.1, 0.9, 16, dtype=torch.float64),)
    assert not torch.allclose(net(x, even), net(x), atol=1e-4)  # another spacing, other taps
    usual = (torch.linspace(0, 1, 16, dtype=torch.float64),)
    torch.testing.assert_close(net(x, usual), net(x))
    with pytest.raises(ValueError, match="not evenly spaced"):
        net(x, (torch.linspace(0, 1, 16, dtype=torch.float64).square(),))


def test_bad_requests():
    with pytest.raises(ValueError, match=r"dropout=1.0"):
        made("K", dropout=1.0)
    with pytest.raises(ValueError, match=r"style='modrn' is not known.*did you mean 'modern'"):
        made("K", style="modrn")
    for sigma in (0.0, 1.5):
        with pytest.raises(ValueError, match=f"sigma={sigma} must be above 0"):
            made("K", sigma=sigma)
