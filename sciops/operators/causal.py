"""The causal frame: XD for sequences, in which the future never reaches the past.

    y = K̃ · CausalConv( C ⊙ (L w + b) ) · M̃ x

K̃ and M̃ are real K-matrices of lower triangular blocks, hence lower triangular for every value of
their parameters; L maps the taps to lags ≥ 0 by a free real K-matrix.  All three start at the
identity, so the layer starts as a TCN's convolution, padded on the left.

L may have more lags than the taps reach, and learn to look that far back.  All pairs of channels
share its columns, so many lags cost little.  With the Toeplitz matrix T(c) of a column c, which
mixes times and commutes with what mixes channels,

    y = Σ_j (C ⊙ wⱼ) Gⱼ x + C G x,        Gⱼ = K̃ T(L[:, j]) M̃,   G = K̃ T(b) M̃.

K̃ and M̃ have an order N (`size`).  A sequence of n < N steps uses their leading n × n parts, which
are causal too; a longer one is treated in consecutive blocks of N, the convolution running across.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .butterfly import next_power_of_two
from .kaleidoscope import Kaleidoscope, dense_matrices, identity_blocks, triangular_blocks
from .operator import whole_numbers


class Prepared(NamedTuple):
    """Everything a forward pass needs besides its input."""

    m: Tensor | None  # (N, N)
    filters: Tensor  # (o, i, lags), latest lag last; where columns are shared, (o, i · columns)
    k: Tensor | None
    groups: int
    toeplitz: Tensor | None = None  # (columns, N, 2N), of the block before and of this one


class Causal(nn.Module):
    """Frame of one time axis."""

    def __init__(
        self,
        size: int,
        kernel: int,
        *,
        dilation: int,
        stride: int,
        depth: tuple[int, int, int],
        lags: int,
    ):
        super().__init__()
        self.size, self.kernel, self.dilation, self.stride = size, kernel, dilation, stride
        self.order = order = next_power_of_two(size)
        self.lags = next_power_of_two(lags)
        depth_k, depth_l, depth_m = depth
        real = torch.get_default_dtype()
        self.k, self.m = (
            nn.ModuleList(
                [Kaleidoscope(triangular_blocks(order, d, dtype=real), triangular=True)]
                if d
                else []
            )
            for d in (depth_k, depth_m)
        )
        mixing = identity_blocks(self.lags, depth_l, dtype=real)
        self.l = nn.ModuleList([Kaleidoscope(mixing)] if depth_l else [])

    @property
    def arch_bias_shape(self) -> tuple[int, ...]:
        return (self.lags,)

    def gates_at_one(self, out_channels: int, in_channels: int) -> Tensor:
        return torch.ones(out_channels, in_channels)

    def check_size(self, size: tuple[int, ...]) -> None:
        """Every length is welcome."""

    def prepare(self, weight: Tensor, arch_bias: Tensor | None, gates: Tensor | None, groups: int):
        dense = iter(dense_matrices([*self.k, *self.m, *self.l]))
        k, m = (next(dense) if maps else None for maps in (self.k, self.m))
        taps = slice(None, self.dilation * self.kernel, self.dilation)  # lag d·j
        columns = next(dense)[:, taps].mT.flip(0) if self.l else None  # (taps, lags), as in weight
        if columns is not None and groups == 1 and 2 * (self.kernel + 1) < self.lags <= self.order:
            return Prepared(m, *_shared(weight, arch_bias, gates, columns, k, self.order))
        if columns is None:
            lags = weight.new_zeros(*weight.shape[:2], self.lags)
            lags[..., taps] = weight.flip(-1)
        else:
            lags = weight @ columns
        lags = lags if arch_bias is None else lags + arch_bias
        lags = lags if gates is None else lags * gates[..., None]
        return Prepared(m, lags.flip(-1), k, groups)

    def apply(self, x: Tensor, prepared: Prepared, coords) -> Tensor:
        """(b, i, n) -> (b, o, ⌈n / stride⌉)."""
        if prepared.toeplitz is not None:
            return _mixed(x, prepared)[..., :: self.stride]
        x = x if prepared.m is None else _blockwise(prepared.m, x)
        y = F.conv1d(F.pad(x, (self.lags - 1, 0)), prepared.filters, groups=prepared.groups)
        y = y if prepared.k is None else _blockwise(prepared.k, y)
        return y[..., :: self.stride]

    def finish(self, prepared: Prepared) -> Prepared:
        return prepared

    def extra_repr(self) -> str:
        return f"size={self.size}, lags={self.lags}"


def _shared(weight: Tensor, arch_bias, gates, columns: Tensor, k, order: int) -> tuple:
    """What mixes channels, K, groups, and the Toeplitz matrices of the columns."""
    weight = weight if gates is None else weight * gates[..., None]
    if arch_bias is not None:
        alone = torch.ones_like(weight[..., :1]) if gates is None else gates[..., None]
        weight, columns = torch.cat([weight, alone], -1), torch.cat([columns, arch_bias[None]])
    return weight.flatten(1), k, 1, _toeplitz(columns, order)


def _toeplitz(columns: Tensor, order: int) -> Tensor:
    """(c, lags) -> (c, N, 2N), of which [t, s] is that of lag N + t − s, or zero.

    Each row is that above it, shifted by one: a line of 3N numbers, repeated N times and cut into
    pieces that are shorter by one.
    """
    lags, length = columns.shape[-1], 3 * order - 1
    line = F.pad(columns.flip(-1), (order + 1 - lags, 2 * order - 1))
    repeated = line[:, None].expand(-1, order, -1).flatten(1)[:, : order * length]
    return repeated.unflatten(-1, (order, length))[..., : 2 * order]


def _mixed(x: Tensor, prepared: Prepared) -> Tensor:
    """Σ_j wⱼ Gⱼ x, (b, i, n) -> (b, o, n): time first, then channels, all pieces at once.

    Channels come first in memory, so that both are one product of matrices each, and the next layer
    finds them so.
    """
    toeplitz, m, k = prepared.toeplitz, prepared.m, prepared.k
    batch, _, n = x.shape
    order = toeplitz.shape[1]
    x = x.transpose(0, 1)
    if n <= order:  # one block, and nothing before it
        x = x[..., None, :]
        toeplitz = toeplitz[:, :n, order : order + n]
    else:
        blocks = F.pad(x, (order, -n % order)).unflatten(-1, (-1, order))
        x = torch.cat([blocks[..., :-1, :], blocks[..., 1:, :]], -1)  # (i, b, blocks, 2N)
    g = toeplitz.unflatten(-1, (-1, min(n, order)))  # (columns, N, blocks, N)
    g = g if m is None else g @ m[:n, :n]
    g = g.flatten(-2)
    g = g if k is None else k[:n, :n] @ g
    y = x @ g.flatten(0, 1).mT  # (i, b, blocks, columns · N)
    y = y.unflatten(-1, (len(g), -1)).movedim(-2, 1)  # (i, columns, b, blocks, N)
    y = y.flatten(-2)[..., :n].flatten(0, 1).flatten(1)  # (i · columns, b · n)
    return (prepared.filters @ y).unflatten(-1, (batch, n)).transpose(0, 1)


def _blockwise(matrix: Tensor, x: Tensor) -> Tensor:
    """Apply a lower triangular (N, N) matrix to consecutive blocks of N steps of (..., n)."""
    n, order = x.shape[-1], len(matrix)
    if n <= order:
        return x @ matrix[:n, :n].mT
    blocks = F.pad(x, (0, -n % order)).unflatten(-1, (-1, order))
    return (blocks @ matrix.mT).flatten(-2)[..., :n]


def causal_frame(kernel, size, stride, dilation, depth, lags) -> Causal:
    """The frame that XD's options describe."""
    if len(kernel) != 1:
        raise ValueError(f"the causal frame has one axis, time; got kernel_size={kernel}")
    if size is None:
        raise ValueError("frame='causal' needs size=, the number of steps its K-matrices span")
    (size,) = whole_numbers(size, 1, "size")
    reach = dilation[0] * (kernel[0] - 1) + 1
    (lags,) = (reach,) if lags is None else whole_numbers(lags, 1, "lags")
    if lags < reach:
        raise ValueError(f"lags={lags} must be at least {reach}, as many as the taps reach")
    options = dict(dilation=dilation[0], stride=stride[0], depth=depth, lags=lags)
    return Causal(size, kernel[0], **options)
