"""The causal frame: XD for sequences, in which the future never reaches the past.

    y = K̃ · CausalConv( C ⊙ (L w + b) ) · M̃ x

K̃ and M̃ are real K-matrices of lower triangular blocks, hence lower triangular for every value of
their parameters; L maps the taps to lags ≥ 0 by a free real K-matrix.  All three start at the
identity, so the layer starts as a TCN's convolution, padded on the left.

L may have more lags than the taps reach, and learn to look that far back.  All pairs of channels
share its columns, so many lags cost little: x is filtered by each column (and by b), then mixed,

    y = Σ_j (C ⊙ wⱼ) (L[:, j] ∗ x) + C (b ∗ x).

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
    filters: Tensor  # (o, i, lags), latest lag last; or, where columns are shared, (o, i · columns)
    k: Tensor | None
    groups: int
    columns: Tensor | None = None  # (columns, lags) of L, and b, latest lag last


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
        order = next_power_of_two(size)
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
        weight = weight.flip(-1)  # lag 0 first
        taps = slice(None, self.dilation * self.kernel, self.dilation)  # tap j is at lag d·j
        columns = next(dense)[:, taps].mT if self.l else None  # (kernel, lags)
        if columns is not None and groups == 1 and self.lags > 2 * (self.kernel + 1):
            return Prepared(m, *_mixing(weight, arch_bias, gates, columns, k))
        if columns is None:
            lags = weight.new_zeros(*weight.shape[:2], self.lags)
            lags[..., taps] = weight
        else:
            lags = weight @ columns
        lags = lags if arch_bias is None else lags + arch_bias
        lags = lags if gates is None else lags * gates[..., None]
        return Prepared(m, lags.flip(-1), k, groups)

    def apply(self, x: Tensor, prepared: Prepared, coords) -> Tensor:
        """(b, i, n) -> (b, o, ⌈n / stride⌉)."""
        x = x if prepared.m is None else _blockwise(prepared.m, x)
        if prepared.columns is None:
            y = F.conv1d(F.pad(x, (self.lags - 1, 0)), prepared.filters, groups=prepared.groups)
        else:
            y = prepared.filters @ _filtered(x, prepared.columns)
        y = y if prepared.k is None else _blockwise(prepared.k, y)
        return y[..., :: self.stride]

    def finish(self, prepared: Prepared) -> Prepared:
        return prepared

    def extra_repr(self) -> str:
        return f"size={self.size}, lags={self.lags}"


def _mixing(weight: Tensor, arch_bias, gates, columns: Tensor, k) -> tuple:
    """Weights of the filtered channels, K, groups and the columns they were filtered by."""
    weight = weight if gates is None else weight * gates[..., None]
    if arch_bias is not None:
        alone = torch.ones_like(weight[..., :1]) if gates is None else gates[..., None]
        weight, columns = torch.cat([weight, alone], -1), torch.cat([columns, arch_bias[None]])
    return weight.flatten(1), k, 1, columns.flip(-1)


def _filtered(x: Tensor, columns: Tensor) -> Tensor:
    """Each channel of (b, i, n) filtered by each column, (b, i · columns, n).

    By products with Toeplitz matrices: of the whole sequence, or of blocks as long as the filters.
    """
    n, lags = x.shape[-1], columns.shape[-1]
    whole = n <= 2 * lags
    block = n if whole else lags
    seen = block + lags - 1  # steps that a block depends on
    padded = F.pad(columns, (block - 1, block - 1))
    toeplitz = padded.unfold(-1, seen, 1).flip(1)  # (columns, block, seen)
    if whole:  # nothing comes before
        y = torch.einsum("bis,cts->bict", x, toeplitz[..., lags - 1 :])
    else:
        blocks = F.pad(x, (lags - 1, -n % block)).unfold(-1, seen, block)  # (b, i, blocks, seen)
        y = torch.einsum("bips,cts->bicpt", blocks, toeplitz).flatten(-2)[..., :n]
    return y.flatten(1, 2)


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
