"""Masks whose width is learned: how much of a dimension a network uses, with a gradient.

    Gaussian   m(x) = exp(−x²/2σ²)         for kernels, centred at 0, σ learned
    sigmoid    m(x) = σ(τ (μ − x))         for channels, blocks and frequencies, μ learned, τ fixed

Both are 0 where they would be below a threshold T, so what lies beyond the cut-off x_T need not be
computed:

    Gaussian   x_T = σ √(−2 ln T)                     2.146 σ at T = 0.1
    sigmoid    x_T = μ + ln(1/T − 1) / τ              μ + 2.197/τ

Coordinates of every dimension are normalised to [−1, 1].  The size of a dimension that has N
elements where the cut-off is x⁰ is

    Gaussian   N x_T / x⁰            sigmoid   N (x_T + 1) / (x⁰ + 1)

a number with a gradient (Romero & Zeghidour 2023, DNArch, arXiv:2302.05400, eq. 9 and 10).
"""

import math

import torch
from torch import Tensor

THRESHOLD = 0.1  # T
LEAST = 0.95  # of the narrowest mask at the first element
MOST = 0.85  # of the widest mask at the last element
LOWEST = -1.0  # coordinate of the first element


def logit(p: float) -> float:
    """ln( p / (1 − p) )."""
    return math.log(p / (1 - p))


# --- Gaussian -------------------------------------------------------------------------------------


def gaussian(x: Tensor, sigma: Tensor) -> Tensor:
    """exp(−x²/2σ²), without a threshold."""
    return torch.exp(-0.5 * (x / sigma).square())


def gaussian_mask(x: Tensor, sigma: Tensor) -> Tensor:
    """exp(−x²/2σ²) where it is at least T, else 0."""
    return _above_threshold(gaussian(x, sigma))


def gaussian_cutoff(sigma):
    """x_T of a σ, a number or a tensor."""
    return sigma * math.sqrt(-2 * math.log(THRESHOLD))


def sigma_of(cutoff):
    """The σ whose mask ends at a cut-off."""
    return cutoff / math.sqrt(-2 * math.log(THRESHOLD))


# --- sigmoid --------------------------------------------------------------------------------------


def sigmoid_mask(x: Tensor, mu: Tensor, tau: float) -> Tensor:
    """σ(τ (μ − x)) where it is at least T, else 0."""
    return _above_threshold(torch.sigmoid(tau * (mu - x)))


def sigmoid_cutoff(mu, tau: float):
    """x_T of a μ, a number or a tensor."""
    return mu - logit(THRESHOLD) / tau


def mu_of(cutoff, tau: float):
    """The μ whose mask ends at a cut-off."""
    return cutoff + logit(THRESHOLD) / tau


def mu_bounds(tau: float) -> tuple[float, float]:
    """Where μ may be: the mask is 0.95 at the first element, or 0.85 at the last.

    >>> low, high = mu_bounds(25)
    >>> round(25 * (low + 1), 3), round(25 * (high - 1), 3)
    (2.944, 1.735)
    """
    return LOWEST + logit(LEAST) / tau, 1 + logit(MOST) / tau


def least_share(tau: float) -> float:
    """Of a dimension that is always kept: that at the lower bound of μ.

    >>> [round(100 * least_share(tau), 1) for tau in (25, 50, 100)]
    [10.3, 5.1, 2.6]
    """
    return share_of(sigmoid_cutoff(mu_bounds(tau)[0], tau))


def share_of(cutoff):
    """Of the interval [−1, 1] that lies below a cut-off; above 1 where it ends beyond it."""
    return (cutoff - LOWEST) / (1 - LOWEST)


# --- sizes ----------------------------------------------------------------------------------------


def gaussian_size(sigma, reference: float, elements: float):
    """N x_T / x⁰; reference: the cut-off x⁰ at which there are so many elements."""
    return gaussian_cutoff(sigma) / reference * elements


def sigmoid_size(mu, tau: float, reference: float, elements: float):
    """N (x_T + 1) / (x⁰ + 1)."""
    return share_of(sigmoid_cutoff(mu, tau)) / share_of(reference) * elements


def elements_at(n: int, like: Tensor) -> Tensor:
    """Coordinates of the n elements of a dimension, from −1 to 1; of a single one −1."""
    return torch.linspace(LOWEST, 1, n, dtype=like.dtype, device=like.device)


def kept(mu: float, tau: float, n: int) -> int:
    """How many of n elements a sigmoid mask does not set to 0, at least one.

    >>> kept(mu_of(0.0, 25), 25, 280), kept(mu_bounds(25)[0], 25, 280), kept(mu_of(0.0, 8), 8, 8)
    (140, 29, 4)
    """
    below = math.floor(share_of(sigmoid_cutoff(mu, tau)) * (n - 1) + 1e-6) + 1
    return max(1, min(n, below))


class _AtMost(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, limit):
        return value.clamp(max=limit)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def at_most(value: Tensor, limit: float) -> Tensor:
    """min(value, limit), straight through: the gradient is that of value everywhere.

    So a size beyond what there is counts as what there is, but can still become smaller.
    """
    return _AtMost.apply(value, limit)


def product_of(masks: list[Tensor]) -> Tensor:
    """The mask of several axes, (n₀, n₁, …), of those of each.

    >>> product_of([torch.tensor([1.0, 0.5]), torch.tensor([1.0, 0.2])])
    tensor([[1.0000, 0.2000],
            [0.5000, 0.1000]])
    """
    whole = masks[0]
    for mask in masks[1:]:
        whole = whole[..., None] * mask
    return whole


def _above_threshold(mask: Tensor) -> Tensor:
    return torch.where(mask >= THRESHOLD * (1 - 1e-6), mask, torch.zeros_like(mask))
