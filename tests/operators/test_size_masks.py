"""Masks, their inversion and their sizes against values worked out by hand."""

import math

import pytest
import torch

from sciops.operators import size_masks as masks


def test_gaussian_by_hand():
    """σ = 0.5: e^(−1/2) at σ, e^(−2) at 2σ, and 2.146 σ = 1.073 is where it ends."""
    x = torch.tensor([0.0, 0.5, 1.0, 1.072, 1.074])
    expected = torch.tensor([1.0, 0.60653, 0.13534, 0.10040, 0.0])
    found = masks.gaussian_mask(x, torch.tensor(0.5))
    torch.testing.assert_close(found, expected, atol=2e-4, rtol=0)
    assert masks.gaussian_cutoff(0.5) == pytest.approx(1.07298, abs=1e-5)
    assert masks.sigma_of(masks.gaussian_cutoff(0.3)) == pytest.approx(0.3)


def test_sigmoid_by_hand():
    """τ = 8, μ = 0.25: ½ at μ, 0.9 at μ − ln 9/8, 0.1 at μ + ln 9/8, then nothing."""
    end = math.log(9) / 8
    x = torch.tensor([0.25 - end, 0.25, 0.25 + end - 1e-6, 0.25 + end + 1e-4])
    found = masks.sigmoid_mask(x, torch.tensor(0.25), 8)
    torch.testing.assert_close(found, torch.tensor([0.9, 0.5, 0.1, 0.0]), atol=1e-5, rtol=0)
    assert masks.sigmoid_cutoff(0.25, 8) == pytest.approx(0.25 + 2.1972 / 8, abs=1e-5)
    assert masks.mu_of(masks.sigmoid_cutoff(0.1, 25), 25) == pytest.approx(0.1)


@pytest.mark.parametrize(("tau", "share"), [(25, 0.1028), (50, 0.0514), (100, 0.0257)])
def test_least_share_of_a_dimension(tau, share):
    """(ln 19 + ln 9) / 2τ, published as 10, 5 and 2.5 %."""
    assert masks.least_share(tau) == pytest.approx(share, abs=5e-5)
    low, high = masks.mu_bounds(tau)
    ends = masks.sigmoid_mask(torch.tensor([-1.0, 1.0]), torch.tensor([low, high]), tau)
    torch.testing.assert_close(ends, torch.tensor([0.95, 0.85]))


@pytest.mark.parametrize(("tau", "blocks"), [(8, 2.57), (16, 1.29)])
def test_least_number_of_blocks(tau, blocks):
    low = masks.mu_bounds(tau)[0]
    assert masks.sigmoid_size(low, tau, 0.0, 4) == pytest.approx(blocks, abs=5e-3)


def test_channels_of_the_published_network():
    """280 of them, 140 at the start, 29 at least; the mask says the same."""
    tau = 25
    for mu, number in [
        (masks.mu_of(0.0, tau), 140),
        (masks.mu_bounds(tau)[0], 29),
        (masks.mu_bounds(tau)[1], 280),
    ]:
        like = torch.zeros((), dtype=torch.float64)
        at = masks.elements_at(280, like)
        mask = masks.sigmoid_mask(at, like + mu, tau)
        assert int((mask > 0).sum()) == masks.kept(mu, tau, 280) == number
    assert masks.sigmoid_size(masks.mu_of(0.0, tau), tau, 0.0, 140) == pytest.approx(140)
    assert masks.sigmoid_size(masks.mu_bounds(tau)[0], tau, 0.0, 140) == pytest.approx(
        28.8, abs=0.02
    )


@pytest.mark.parametrize(("points", "taps"), [(32, 2.2), (128, 8.9), (2048, 142.8)])
def test_size_of_a_new_kernel(points, taps):
    """7 % of the largest one."""
    assert masks.gaussian_size(0.0325, 1.0, points) == pytest.approx(taps, abs=0.05)


def test_sizes_have_gradients():
    value = torch.tensor([0.3, 0.4], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: masks.gaussian_size(s, 1.0, 64), value)
    assert torch.autograd.gradcheck(lambda m: masks.sigmoid_size(m, 25, 0.0, 140), value)
    x = torch.linspace(-0.5, 0.5, 7, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda s: masks.gaussian_mask(x, s[0]), value)
    assert torch.autograd.gradcheck(lambda m: masks.sigmoid_mask(x, m[0], 2.0), value)


def test_a_limit_lets_gradients_through():
    value = torch.tensor([3.0, 5.0], requires_grad=True)
    limited = masks.at_most(value, 4.0)
    assert limited.tolist() == [3.0, 4.0]
    (limited * torch.tensor([1.0, 2.0])).sum().backward()
    assert value.grad.tolist() == [1.0, 2.0]


def test_masks_of_several_axes_are_products():
    rows, columns, depth = torch.rand(2), torch.rand(3), torch.rand(4)
    whole = masks.product_of([rows, columns, depth])
    torch.testing.assert_close(whole, torch.einsum("i,j,k->ijk", rows, columns, depth))
