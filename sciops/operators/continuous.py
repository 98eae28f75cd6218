"""Kernels that are functions of position, and convolutions with them on any grid.

    ψ(c) = g · MLP(c) · m(c),       y(x) = ∫ ψ(2(x′ − x)) f(x′) dx′

c are coordinates in [−1, 1], ±1 being half the length of an axis away, and m is a Gaussian mask
(`size_masks`), or 1.  Taps stand where the grid has points; each counts with the part of its cell
inside the cut-off, so that the sum is the integral up to the second order of the spacing and goes
smoothly from one number of taps to the next.  Nothing is evaluated outside.  Likewise the points at
the ends of an axis count half.

The MLP begins with Fourier features cos, sin(2π s W c), W ~ N(0, 1).  Published scales s are in
the tens of thousands and mean nothing without the initial W, which is not published.  Here s is
`FREQUENCY` of the Nyquist frequency of the grid that is trained on: high enough to tell taps beside
each other apart, low enough that kernels are resolved there and mean the same on finer grids.

The constant g lets convolutions keep the variance of white noise at the start, on that grid.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .depthwise import depthwise, ends_halved
from .operator import AbstractOperator, check_input, full_precision
from .size_masks import gaussian, gaussian_cutoff, product_of, sigma_of

FREQUENCY = 0.25
START = 0.0325  # σ of a new mask, as published
WHOLE = 1.0  # cut-off of a kernel without a mask: half an axis in both directions


class KernelNet(nn.Module):
    """One coordinate network for the kernels of several blocks, each of several channels.

    frequencies: standard deviation of the waves per unit of c, of each axis
    hidden, layers: of the network; the first is that of the Fourier features
    """

    def __init__(
        self, blocks: int, channels: int, frequencies: Sequence[float], hidden=32, layers=3
    ):
        super().__init__()
        if hidden < 2 or hidden % 2 or layers < 2:
            raise ValueError(f"expected hidden={hidden} even, layers={layers} ≥ 2")
        self.frequencies = tuple(frequencies)
        self.waves = nn.Parameter(torch.randn(hidden // 2, len(self.frequencies)))
        self.inner = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(layers - 2))
        self.weight = nn.Parameter(torch.randn(blocks, channels, hidden) / math.sqrt(hidden))
        self.bias = nn.Parameter(torch.zeros(blocks, channels))
        for layer in self.inner:
            nn.init.kaiming_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def features(self, axes: Sequence[Tensor]) -> Tensor:
        """(taps, hidden) of the coordinates of each axis."""
        mesh = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).flatten(0, -2)
        scale = mesh.new_tensor(self.frequencies) * (2 * math.pi)
        angle = (mesh * scale) @ self.waves.mT
        h = torch.cat([angle.cos(), angle.sin()], -1) * math.sqrt(2)
        for layer in self.inner:
            h = F.gelu(layer(h))
        return h

    def kernels(self, features: Tensor, block: int, channels: int) -> Tensor:
        """(channels, taps) of a block, of its first channels only."""
        weight, bias = self.weight[block, :channels], self.bias[block, :channels]
        return torch.addmm(bias[:, None], weight, features.mT)


class Taps(NamedTuple):
    """Of one axis: coordinates, and what each counts in the integral, mask included."""

    coordinates: Tensor
    weights: Tensor


def taps_of(spacing: float, sigma: Tensor | None, like: Tensor) -> Taps:
    """Taps on a grid of this spacing, in units of the axis' length; σ=None is no mask.

    >>> taps_of(1 / 4, None, torch.zeros(())).weights  # both ends of a period are half of it
    tensor([0.2500, 0.5000, 0.5000, 0.5000, 0.2500])
    """
    step = 2 * spacing
    cutoff = like.new_tensor(WHOLE) if sigma is None else gaussian_cutoff(sigma).clamp(max=WHOLE)
    reach = max(0, math.ceil(cutoff.item() / step + 0.5 - 1e-6) - 1)
    c = torch.arange(-reach, reach + 1, dtype=like.dtype, device=like.device) * step
    inside = torch.minimum(c + step / 2, cutoff) - torch.maximum(c - step / 2, -cutoff)
    return Taps(c, inside if sigma is None else inside * gaussian(c, sigma))


def gain_of(spacings: Sequence[float], sigma: float | None) -> float:
    """g: 1 / ‖weights of the taps‖ on a grid."""
    like = torch.zeros((), dtype=torch.float64)
    width = None if sigma is None else torch.tensor(sigma, dtype=torch.float64)
    return 1 / math.prod(float(taps_of(h, width, like).weights.norm()) for h in spacings)


def rendered(
    net: KernelNet, taps: Sequence[Taps], block: int, channels: int, gain: float, features: Tensor
) -> Tensor:
    """The kernel of a block on a grid, (channels, *taps)."""
    mask = product_of([axis.weights for axis in taps])
    values = net.kernels(features, block, channels)
    return values.view(channels, *mask.shape) * (gain * mask)


def least_sigma(spacing: float) -> float:
    """Whose kernel reaches the next tap."""
    return sigma_of(2 * spacing)


def frequencies_of(spacings: Sequence[float]) -> tuple[float, ...]:
    """`FREQUENCY` of the Nyquist frequency, in waves per unit of c."""
    return tuple(FREQUENCY / (4 * h) for h in spacings)


class ContinuousConv(AbstractOperator):
    """Each channel with a continuous kernel of its own, on `(batch, channel, *space)`.

    size:     points of each axis of the grid that it is trained on; it works on any other
    periodic: of each axis; others have ends, at points 0 and 1
    learn_size: whether kernels have a mask whose size is learned

    >>> ContinuousConv(3, (16, 16), periodic=(True, False))(torch.zeros(1, 3, 20, 31)).shape
    torch.Size([1, 3, 20, 31])
    """

    def __init__(
        self,
        channels: int,
        size: tuple[int, ...],
        *,
        periodic: tuple[bool, ...],
        learn_size: bool = True,
        hidden: int = 32,
        layers: int = 3,
    ):
        super().__init__()
        self.in_channels = self.out_channels = channels
        self.periodic = periodic
        spacings = spacings_of(size, periodic)
        self.net = KernelNet(1, channels, frequencies_of(spacings), hidden, layers)
        start = [max(START, least_sigma(h)) for h in spacings]
        self.sigma = nn.Parameter(torch.tensor(start)) if learn_size else None
        self.least = tuple(least_sigma(h) for h in spacings)
        pairs = zip(spacings, start, strict=True)
        self.gain = math.prod(gain_of([h], s if learn_size else None) for h, s in pairs)

    @property
    def weight(self) -> nn.Parameter:
        return self.net.weight

    def arch_parameters(self):
        if self.sigma is not None:
            yield self.sigma

    def project(self) -> None:
        """Kernels reach the next tap of the grid that is trained on, at least."""
        if self.sigma is not None:
            self.sigma.data.copy_(torch.maximum(self.sigma, self.sigma.new_tensor(self.least)))

    def kernel(self, size: tuple[int, ...]) -> Tensor:
        """(channels, *taps) on a grid of this size."""
        sigmas = [None] * len(size) if self.sigma is None else self.sigma.unbind()
        pairs = zip(spacings_of(size, self.periodic), sigmas, strict=True)
        taps = [taps_of(h, s, self.weight) for h, s in pairs]
        features = self.net.features([axis.coordinates for axis in taps])
        return rendered(self.net, taps, 0, self.in_channels, self.gain, features)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, *n) -> (batch, channels, *n)."""
        check_input(x, self.in_channels, len(self.periodic), self.weight.dtype)
        with full_precision(x):
            kernel = self.kernel(tuple(x.shape[2:]))
            x_in = ends_halved(x.to(kernel.dtype), self.periodic)
            return depthwise(x_in, kernel, self.periodic).to(x.dtype)


def spacings_of(size: Sequence[int], periodic: Sequence[bool]) -> tuple[float, ...]:
    """Of uniform grids, in units of the length of each axis.

    >>> spacings_of((4, 5), (True, False))
    (0.25, 0.25)
    """
    if any(n < (1 if circular else 2) for n, circular in zip(size, periodic, strict=True)):
        raise ValueError(f"an axis with ends has two points or more, got a grid of {tuple(size)}")
    return tuple(1 / (n if p else n - 1) for n, p in zip(size, periodic, strict=True))
