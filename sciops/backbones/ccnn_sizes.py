"""The sizes of a continuous CNN, learned by gradients: kernels, resolutions, widths, depth.

Letters say what is learned, each with its masks (`operators.size_masks`):

    K   σ of the kernel of each block and axis
    R   highest frequency of each block and axis, on its residual branch only
    W   channels of each block: read from the stream, in the middle, written to the stream
    D   number of blocks

A network that learns W or D has room for twice its base width or depth, and starts at the base.
Frequencies are in units of the Nyquist frequency of the grid that is trained on, −1 being 0 and 1
being it; so on any other grid a block sees the same functions.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sciops.operators.continuous import START, least_sigma
from sciops.operators.operator import AbstractSearchable
from sciops.operators.resampling import Band, band_of
from sciops.operators.size_masks import (
    at_most,
    elements_at,
    gaussian_cutoff,
    kept,
    mu_bounds,
    mu_of,
    share_of,
    sigmoid_cutoff,
    sigmoid_mask,
    sigmoid_size,
)

from .complexity import BlockSize, network_complexity

LETTERS = "KRWD"
ROOM = 2  # times the base width and depth, where they are learned
VARIANTS = {"CCNN": "", "DNArch_K": "K", "DNArch_KR": "KR", "DNArch_KRWD": "KRWD"}


class Grid(NamedTuple):
    """Of each axis: points, whether it is periodic, their spacing in units of its length."""

    size: tuple[int, ...]
    periodic: tuple[bool, ...]
    spacings: tuple[float, ...]


class Temperatures(NamedTuple):
    """τ of the sigmoid masks."""

    resolution: float = 25.0
    width: float = 25.0
    depth: float = 8.0


class Sizes(AbstractSearchable):
    """The masks of a network, and what it costs.

    learn:  letters of KRWD
    width, blocks: of the base network
    grid:   that is trained on
    ends:   channels of input and output, and whether the output is a field
    sigma:  of all kernels at the start
    cost:   λ, weight of (C/C_target − 1)² in the loss of networks that learn W or D
    target: in units of the complexity of the base network
    """

    def __init__(
        self,
        learn: str,
        width: int,
        blocks: int,
        grid: Grid,
        ends: tuple[int, int, bool],
        *,
        tau: Temperatures,
        sigma: float = START,
        cost: float = 1.0,
        target: float = 1.0,
    ):
        super().__init__()
        _check(learn, width, blocks, sigma, cost, target)
        self.learn, self.grid, self.ends, self.tau = learn, grid, ends, tau
        self.base = (blocks, width)
        self.cost, self.target = cost, target
        self.max_width = width * (ROOM if "W" in learn else 1)
        self.max_blocks = blocks * (ROOM if "D" in learn else 1)
        n, axes = self.max_blocks, len(grid.size)
        start = torch.tensor([max(sigma, least_sigma(h)) for h in grid.spacings])
        self.kernel = nn.Parameter(start.repeat(n, 1)) if "K" in learn else None
        self.resolution = self.width = self.depth = None
        if "R" in learn:
            self.resolution = nn.Parameter(torch.full((n, axes), mu_bounds(tau.resolution)[1]))
        if "W" in learn:
            self.width = nn.Parameter(torch.full((n, 3), mu_of(0.0, tau.width)))
        if "D" in learn:
            self.depth = nn.Parameter(torch.tensor(mu_of(0.0, tau.depth)))
        self.base_complexity = self._base_complexity()

    # --- the architecture ---

    def arch_parameters(self) -> Iterator[nn.Parameter]:
        found = (self.kernel, self.resolution, self.width, self.depth)
        yield from (p for p in found if p is not None)

    def project(self) -> None:
        """Clamp all parameters to where their masks are neither empty nor flat."""
        with torch.no_grad():
            if self.kernel is not None:
                least = self.kernel.new_tensor([least_sigma(h) for h in self.grid.spacings])
                self.kernel.copy_(torch.maximum(self.kernel, least))
            for name in ("resolution", "width", "depth"):
                parameter = getattr(self, name)
                if parameter is not None:
                    parameter.clamp_(*mu_bounds(getattr(self.tau, name)))

    # --- what is kept ---

    def blocks(self) -> int:
        """How many are computed."""
        if self.depth is None:
            return self.max_blocks
        return kept(self.depth.item(), self.tau.depth, self.max_blocks)

    def channels(self, block: int) -> tuple[int, int, int]:
        """Of a block: in, mid and out."""
        if self.width is None:
            return (self.max_width,) * 3
        found = self.width[block].tolist()
        return tuple(kept(mu, self.tau.width, self.max_width) for mu in found)

    def channel_masks(self, block: int) -> list[Tensor | None]:
        """Of the channels that are kept: in, mid and out."""
        if self.width is None:
            return [None] * 3
        at = elements_at(self.max_width, self.width)
        pairs = zip(self.width[block], self.channels(block), strict=True)
        return [sigmoid_mask(at[:n], mu, self.tau.width) for mu, n in pairs]

    def depth_mask(self, block: int) -> Tensor | None:
        """By which the residual branch of a block is multiplied."""
        if self.depth is None:
            return None
        return sigmoid_mask(
            elements_at(self.max_blocks, self.depth)[block], self.depth, self.tau.depth
        )

    def sigmas(self, block: int) -> Sequence[Tensor | None]:
        """Of the kernel of a block on each axis."""
        return [None] * len(self.grid.size) if self.kernel is None else self.kernel[block].unbind()

    def cut(self, block: int, grid: Grid) -> tuple[list[Band], list[Tensor]] | None:
        """The band of a block on a grid, and the weights of its modes; None if none is learned.

        Frequencies are in units of those of the grid that is trained on, whatever the grid.
        """
        if self.resolution is None:
            return None
        tau, bands, filters = self.tau.resolution, [], []
        reach = [r / 2 for r in kernel_reach(self, block)]
        for axis, (n, periodic, h) in enumerate(zip(*grid, strict=True)):
            mu, nyquist = self.resolution[block, axis], 1 / (2 * self.grid.spacings[axis])
            highest = share_of(sigmoid_cutoff(mu.item(), tau)) * nyquist
            band = band_of(n, h, highest, max(reach[axis], h), periodic)
            waves = band.frequencies(h, one_sided=axis == len(grid.size) - 1)
            bands.append(band)
            filters.append(sigmoid_mask(2 * waves.to(mu) / nyquist - 1, mu, tau))
        return bands, filters

    # --- what it costs ---

    def block_size(self, block: int) -> BlockSize:
        """The sizes of the masks of a block, with gradients, no larger than what there is."""
        like = next(self.arch_parameters(), torch.zeros(()))
        points = [like.new_tensor(float(n)) for n in self.grid.size]
        coarse, channels = points, [like.new_tensor(float(self.max_width))] * 3
        if self.resolution is not None:
            mus = self.resolution[block].unbind()
            sizes = zip(mus, self.grid.size, strict=True)
            tau = self.tau.resolution
            coarse = [at_most(sigmoid_size(mu, tau, 1.0, n), n) for mu, n in sizes]
        if self.width is not None:
            found = sigmoid_size(self.width[block], self.tau.width, 1.0, self.max_width)
            channels = at_most(found, self.max_width).unbind()
        return BlockSize(points, coarse, channels)

    def depth_size(self) -> Tensor:
        """The number of blocks, with a gradient."""
        if self.depth is None:
            return torch.tensor(float(self.max_blocks))
        size = sigmoid_size(self.depth, self.tau.depth, 1.0, self.max_blocks)
        return at_most(size, self.max_blocks)

    def complexity(self) -> Tensor:
        """C / C_base, by the published count of operations."""
        blocks = [self.block_size(block) for block in range(self.blocks())]
        whole = network_complexity(blocks, self.depth_size(), self.max_width, *self.ends)
        return whole / self.base_complexity

    def _base_complexity(self) -> float:
        blocks, width = self.base
        points = [torch.tensor(float(n), dtype=torch.float64) for n in self.grid.size]
        channels = [torch.tensor(float(width), dtype=torch.float64)] * 3
        depth = torch.tensor(float(blocks), dtype=torch.float64)
        one = BlockSize(points, points, channels)
        return network_complexity([one], depth, width, *self.ends).item()

    def penalty(self) -> Tensor | None:
        """λ (C/C_target − 1)²; none where nothing could cost more than the base network."""
        if not set(self.learn) & {"W", "D"} or not self.cost:
            return None
        return self.cost * (self.complexity() / self.target - 1).square()

    def notes(self) -> dict[str, float]:
        with torch.no_grad():
            return {"complexity": self.complexity().item()} if self.learn else {}


def kernel_reach(sizes: Sizes, block: int) -> list[float]:
    """Half-widths of the kernel of a block, as shares of half an axis."""
    found = sizes.sigmas(block)
    return [1.0 if s is None else min(1.0, gaussian_cutoff(s.item())) for s in found]


def _check(learn: str, width: int, blocks: int, sigma: float, cost: float, target: float) -> None:
    if not isinstance(learn, str) or len(set(learn)) != len(learn) or set(learn) - set(LETTERS):
        raise ValueError(
            f"learn={learn!r} must be letters of {LETTERS}: kernels, resolutions, widths, depth; "
            "'' learns none of them"
        )
    for name, value in (("width", width), ("blocks", blocks)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name}={value!r} must be a whole number ≥ 1")
    if not 0 < sigma <= 1:
        raise ValueError(f"sigma={sigma!r} must be above 0, and at most 1, which is half an axis")
    if not cost >= 0 or not target > 0:
        raise ValueError(f"cost={cost!r} must not be negative, target={target!r} above 0")
