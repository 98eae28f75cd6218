"""Self-calibration: attention and dynamic convolution (Neural Operator Search, Appendix A.1).

    spatial attention   σ( W₃ ∗ ReLU( norm( W₁ x )))         (batch, 1, *n)      c → c/16 → 1
    channel attention   σ( V₂ ReLU( V₁ mean x ))             (batch, c, 1, …)    c → c/16 → c
    dynamic kernel      softmaxₜ( U₂ Σₙ ReLU( norm( U₁ x ))ₙ softmaxₙ( U x )ₙₜ )
                                                             (batch, c, k, …)    c → c/8 → c

n runs over all points and t over the taps of the kernel: each tap attends to the points in its own
way.  Kernels are positive with sum 1, one for each sample and channel.  Features F are calibrated
by the sum A of all attentions and the set D of all kernels,

    F + F ⊙ A + Σ_D F ⊛ D.

⊛ is a convolution of each channel of each sample by itself.  It is linear in D, so kernels are
added first, small ones in the middle of large ones, and one convolution does for all of them.

Each operation works in one to three dimensions.  A bottleneck has at least one channel, that of
channel attention, which has no norm, at least four: a single one is switched off by ReLU for half
of all starts, and never learns.
"""

import math
from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from .boundaries import SameConvolution, batch_norm, same_convolution

ATTENTION_REDUCTION = 16
KERNEL_REDUCTION = 8
LEAST_WITHOUT_NORM = 4
Boundaries = tuple[bool, ...]  # whether each axis is periodic


class SpatialAttention(nn.Module):
    """How much each point counts: (batch, channels, *n) -> (batch, 1, *⌈n/stride⌉) in (0, 1)."""

    def __init__(self, channels: int, periodic: Boundaries, *, stride: int, affine: bool):
        super().__init__()
        inner = max(1, channels // ATTENTION_REDUCTION)
        self.reduce = SameConvolution(channels, inner, 1, periodic=periodic, stride=stride)
        self.norm = batch_norm(inner, len(periodic), affine=affine)
        self.score = SameConvolution(inner, 1, 3, periodic=periodic)

    def forward(self, x: Tensor) -> Tensor:
        return self.score(F.relu(self.norm(self.reduce(x)))).sigmoid()


class ChannelAttention(nn.Module):
    """How much each channel counts: (batch, channels, *n) -> (batch, channels, 1, …) in (0, 1).

    It sees the mean over all points, whatever the stride of its edge, and has no batch norm.
    """

    def __init__(self, channels: int, periodic: Boundaries, *, stride: int, affine: bool):
        super().__init__()
        inner = max(LEAST_WITHOUT_NORM, channels // ATTENTION_REDUCTION)
        self.reduce = nn.Linear(channels, inner, bias=False)
        self.expand = nn.Linear(inner, channels, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        mean = x.flatten(2).mean(2)
        score = self.expand(F.relu(self.reduce(mean))).sigmoid()
        return score.view(*score.shape, *[1] * (x.ndim - 2))


class DynamicKernel(nn.Module):
    """A kernel of `kernel` taps an axis for each sample and channel, (batch, channels, k, …).

    It is as large on an edge that halves the grid.
    """

    def __init__(
        self, channels: int, periodic: Boundaries, *, kernel: int, stride: int, affine: bool
    ):
        super().__init__()
        inner, n_axes = max(1, channels // KERNEL_REDUCTION), len(periodic)
        self.size = (kernel,) * n_axes
        self.reduce = SameConvolution(channels, inner, 1, periodic=periodic)
        self.norm = batch_norm(inner, n_axes, affine=affine)
        self.look = SameConvolution(channels, math.prod(self.size), 1, periodic=periodic)
        self.decode = nn.Linear(inner, channels, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        features = F.relu(self.norm(self.reduce(x))).flatten(2)  # (batch, inner, points)
        where = self.look(x).flatten(2).softmax(2)  # (batch, taps, points)
        seen = where @ features.mT  # (batch, taps, inner)
        return self.decode(seen).mT.softmax(2).unflatten(2, self.size)


def add_kernels(a: Tensor, b: Tensor) -> Tensor:
    """The kernel that does what both do together; the smaller one is in the middle."""
    small, large = sorted((a, b), key=lambda kernel: kernel.shape[-1])
    border = (large.shape[-1] - small.shape[-1]) // 2
    return large + F.pad(small, [border] * (2 * (small.ndim - 2)))


def dynamic_convolution(x: Tensor, kernel: Tensor, periodic: Boundaries) -> Tensor:
    """x ⊛ kernel: (batch, c, *n) with (batch, c, k, …) -> (batch, c, *n)."""
    together = x.flatten(0, 1)[None]  # (1, batch · c, *n)
    weight = kernel.flatten(0, 1)[:, None]
    return same_convolution(together, weight, periodic, groups=len(weight)).view_as(x)


def calibrated(
    features: Tensor, attention: Tensor | None, kernel: Tensor | None, periodic: Boundaries
) -> Tensor:
    """F + F ⊙ A + F ⊛ D, without the terms that are None."""
    terms = [features]
    if attention is not None:
        terms.append(features * attention)
    if kernel is not None:
        terms.append(dynamic_convolution(features, kernel, periodic))
    return sum(terms[1:], terms[0])


ATTENTIONS: dict[str, Callable[..., nn.Module]] = {
    "spatial_attention": SpatialAttention,
    "channel_attention": ChannelAttention,
}
KERNELS: dict[str, Callable[..., nn.Module]] = {
    "dynamic_conv_3": partial(DynamicKernel, kernel=3),
    "dynamic_conv_5": partial(DynamicKernel, kernel=5),
}
