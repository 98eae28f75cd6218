"""The continuous CNN, and DNArch, which learns its sizes by backpropagation.

    h ← GELU(norm(linear(x)));      h ← h + residual(h)  for every block;      y = linear(norm(h))

    residual = up ∘ GELU ∘ linear ∘ dropout ∘ GELU ∘ linear ∘ conv ∘ norm

All linear maps act on channels; conv is depthwise with continuous kernels, all of one coordinate
network (`operators.continuous`).  Where a resolution is learned, conv ends on the grid that its
frequencies need, and up comes back (`operators.resampling`): all between is cheaper.  For classes
the mean over all points goes to the last linear map.  Two styles: in "paper" normalisation has the
statistics of the batch, always, because running means are of architectures that are no more; in
"modern" those of the channels of each point, so that a prediction does not depend on its batch, and
the last GELU of a residual is left out.

Of channels, taps, frequencies and blocks only those inside their masks (`ccnn_sizes`) are computed,
in training as in evaluation.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sciops.operators.continuous import (
    START,
    KernelNet,
    frequencies_of,
    gain_of,
    rendered,
    taps_of,
)
from sciops.operators.depthwise import depthwise, ends_halved
from sciops.operators.resampling import Band, banded_convolution, refined
from sciops.suggestions import did_you_mean
from sciops.task import Task

from .ccnn_grids import coarse_spacings, spacings_between, trained_grid
from .ccnn_sizes import Grid, Sizes, Temperatures
from .positions import position_channels, positions, unit_points


class Parts(NamedTuple):
    """All that the residual branch of a block computes with."""

    norm: tuple[Tensor, Tensor]  # (in,) scale and shift
    kernel: Tensor  # (in, *taps)
    mixer: tuple[Tensor, Tensor]  # (mid, in), (mid,)
    linear: tuple[Tensor, Tensor]  # (out, mid), (out,)
    scale: Tensor | None  # (out,)
    bands: Sequence[Band] | None  # None: the resolution stays
    filters: Sequence[Tensor] | None  # weights of the modes of each axis


def residual(
    h: Tensor,
    parts: Parts,
    periodic: tuple[bool, ...],
    *,
    style: str = "paper",
    cells: bool,
    dropout: float,
) -> Tensor:
    """h + residual(h), on the channels that are read and written."""
    z = NORMS[style](h[:, : len(parts.norm[0])], *parts.norm)
    z = z if cells else ends_halved(z, periodic)
    if parts.bands is None:
        z = depthwise(z, parts.kernel, periodic)
    else:
        z = banded_convolution(z, parts.kernel, parts.bands, parts.filters)
    z = F.gelu(pointwise(z, *parts.mixer))
    z = F.dropout(z, dropout) if dropout else z
    z = pointwise(z, *parts.linear)
    z = F.gelu(z) if style == "paper" else z
    if parts.scale is not None:
        z = z * parts.scale.view(-1, *[1] * len(periodic))
    if parts.bands is not None:
        z = refined(z, parts.bands)
    n = z.shape[1]
    return h + z if n == h.shape[1] else torch.cat([h[:, :n] + z, h[:, n:]], 1)


def batch_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """By the statistics of the batch."""
    return F.batch_norm(x, None, None, weight, bias, training=True)


def point_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """By the statistics of the channels of each point."""
    shape = (-1, *[1] * (x.ndim - 2))
    centred = x - x.mean(1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(1, keepdim=True) + 1e-5)
    return torch.addcmul(bias.view(shape), centred * scale, weight.view(shape))


NORMS = {"paper": batch_norm, "modern": point_norm}  # by style


def pointwise(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(batch, in, *n) -> (batch, out, *n)."""
    weight = weight.expand(len(x), -1, -1)  # twice as fast as torch's convolution of one tap
    return torch.baddbmm(bias[:, None], weight, x.flatten(2)).unflatten(2, x.shape[2:])


class AbstractCcnn(nn.Module):
    """Encoder, blocks and decoder; what the blocks compute with is a matter of the members."""

    def __init__(
        self, task: Task, width: int, *, style: str, positions: bool, cells: bool, dropout: float
    ):
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout={dropout!r} must be from 0 to below 1")
        if style not in NORMS:
            raise ValueError(
                f"style={style!r} is not known; choose one of {', '.join(NORMS)}"
                f"{did_you_mean(style, NORMS)}"
            )
        self.task, self.style, self.cells, self.dropout = task, style, cells, dropout
        self.positions = positions
        self.periodic = tuple(axis.periodic for axis in task.axes)
        inputs = task.in_channels + (position_channels(task) if positions else 0)
        self.encoder = nn.Linear(inputs, width)
        self.encoder_norm = nn.ParameterList([torch.ones(width), torch.zeros(width)])
        self.decoder_norm = nn.ParameterList([torch.ones(width), torch.zeros(width)])
        self.decoder = nn.Linear(width, task.out_channels)

    def all_parts(self, grid: Grid) -> list[Parts]:
        """Of each block on a grid."""
        raise TypeError(f"{type(self).__name__} must define all_parts()")

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *n) -> (batch, out_channels, *n), or (batch, classes).

        coords: points of each axis in units of its length, evenly spaced; None is the whole domain
        """
        size = tuple(x.shape[2:])
        points = unit_points(self.task, size) if coords is None else coords
        grid = Grid(size, self.periodic, spacings_between(points, self.periodic))
        if self.positions:
            where = positions(self.task, points, x).expand(len(x), *[-1] * (x.ndim - 1))
            x = torch.cat([x, where], 1)
        norm = NORMS[self.style]
        h = F.gelu(norm(pointwise(x, *_of(self.encoder)), *self.encoder_norm))
        dropout = self.dropout if self.training else 0.0
        how = dict(style=self.style, cells=self.cells, dropout=dropout)
        for parts in self.all_parts(grid):
            h = residual(h, parts, self.periodic, **how)
        h = norm(h, *self.decoder_norm)
        if self.task.classes:
            return self.decoder(h.flatten(2).mean(2))
        return pointwise(h, *_of(self.decoder))


class Ccnn(AbstractCcnn):
    """A continuous CNN whose sizes are learned, or not.

    learn:   letters of KRWD (see `ccnn_sizes`); "" is the CCNN with kernels as long as the axes
    width, blocks: of the base network; with W or D there is room for twice as much
    style:   "paper" or "modern"
    hidden, layers: of the coordinate network
    sigma:   of the kernels at the start, where K is learned, 0.0325 as published; half a kernel is
             2.1 of it long in units of half an axis
    tau_resolution, tau_width, tau_depth: steepness of the masks
    cost:    weight of (C/C_target − 1)² in the loss, where W or D is learned; published are 0.1 and
             5, but short trainings end nearer to the target with more than 0.1
    target:  C_target in units of the complexity of the base network
    positions: whether the coordinates of the points are inputs
    cells:   whether points stand for cells of the same size, as pixels do; otherwise those at the
             ends of an axis count half, as in the trapezoidal rule
    """

    def __init__(
        self,
        task: Task,
        *,
        learn: str = "KRWD",
        width: int = 32,
        blocks: int = 4,
        dropout: float = 0.0,
        style: str = "paper",
        hidden: int = 32,
        layers: int = 3,
        sigma: float = START,
        tau_resolution: float = 25.0,
        tau_width: float = 25.0,
        tau_depth: float = 8.0,
        cost: float = 1.0,
        target: float = 1.0,
        positions: bool = True,
        cells: bool = False,
    ):
        grid = trained_grid(task)
        inputs = task.in_channels + (position_channels(task) if positions else 0)
        ends = inputs, task.out_channels, not task.classes
        tau = Temperatures(tau_resolution, tau_width, tau_depth)
        goal = dict(cost=cost, target=target)
        sizes = Sizes(learn, width, blocks, grid, ends, tau=tau, sigma=sigma, **goal)
        w, d = sizes.max_width, sizes.max_blocks
        options = dict(style=style, positions=positions, cells=cells, dropout=dropout)
        super().__init__(task, w, **options)
        self.sizes = sizes
        self.kernels = KernelNet(d, w, frequencies_of(grid.spacings), hidden, layers)
        sigmas = [None if s is None else s.item() for s in sizes.sigmas(0)]
        pairs = zip(grid.spacings, sigmas, strict=True)
        self.gain = math.prod(gain_of([h], s) for h, s in pairs)
        self.norm_weight = nn.Parameter(torch.ones(d, w))
        self.norm_bias = nn.Parameter(torch.zeros(d, w))
        for name in ("mixer", "linear"):
            self.register_parameter(
                f"{name}_weight", nn.Parameter(torch.randn(d, w, w) / math.sqrt(width))
            )
            self.register_parameter(f"{name}_bias", nn.Parameter(torch.zeros(d, w)))

    def all_parts(self, grid: Grid) -> list[Parts]:
        stacked = zip(
            *(getattr(self, f"{layer}_{kind}").unbind() for layer, kind in _STACKED), strict=True
        )
        kept, seen = range(self.sizes.blocks()), {}
        return [self._parts(b, grid, w, seen) for b, w in zip(kept, stacked, strict=False)]

    def _parts(self, block: int, grid: Grid, weights: Sequence[Tensor], seen: dict) -> Parts:
        """Cut out of the weights of a block, and rendered; masks are multiplied in."""
        sizes, (n_in, n_mid, n_out) = self.sizes, self.sizes.channels(block)
        m_in, m_mid, m_out = sizes.channel_masks(block)
        gamma, beta, mixer, mixer_bias, linear, linear_bias = weights
        bands, filters = sizes.cut(block, grid) or (None, None)
        return Parts(
            norm=(_times(gamma[:n_in], m_in), _times(beta[:n_in], m_in)),
            kernel=self._kernel(block, n_in, coarse_spacings(grid, bands), seen),
            mixer=(mixer[:n_mid, :n_in], mixer_bias[:n_mid]),
            linear=(_times(linear[:n_out, :n_mid], m_mid), linear_bias[:n_out]),
            scale=_times(m_out, sizes.depth_mask(block), n_out),
            bands=bands,
            filters=filters,
        )

    def _kernel(self, block: int, channels: int, spacings: Sequence[float], seen: dict) -> Tensor:
        """(channels, *taps); features of the same taps are computed once for all blocks."""
        pairs = zip(spacings, self.sizes.sigmas(block), strict=True)
        taps = [taps_of(h, sigma, self.kernels.weight) for h, sigma in pairs]
        key = tuple(zip(spacings, (len(t.weights) for t in taps), strict=True))
        if key not in seen:
            seen[key] = self.kernels.features([t.coordinates for t in taps])
        return rendered(self.kernels, taps, block, channels, self.gain, seen[key])


_STACKED = [(layer, kind) for layer in ("norm", "mixer", "linear") for kind in ("weight", "bias")]


def _of(layer: nn.Linear) -> tuple[Tensor, Tensor]:
    return layer.weight, layer.bias


def _times(values: Tensor | None, mask: Tensor | None, channels: int = 1) -> Tensor | None:
    """values · mask, where there are both."""
    if values is None and mask is not None:
        return mask.expand(channels)
    return values if mask is None else values * mask
