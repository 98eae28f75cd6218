"""The causal frame: XD for sequences, in which the future never reaches the past.

    y = K̃ · CausalConv( C ⊙ (L w + b) ) · M̃ x

K̃ and M̃ are real K-matrices of lower triangular blocks, hence lower triangular for every value of
their parameters; L maps the taps to lags ≥ 0 by a free real K-matrix.  All three start at the
identity, so the layer starts as a TCN's convolution, padded on the left.

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
    filters: Tensor  # (o, i, lags), latest lag last
    k: Tensor | None
    groups: int


class Causal(nn.Module):
    """Frame of one time axis."""

    def __init__(
        self, size: int, kernel: int, *, dilation: int, stride: int, depth: tuple[int, int, int]
    ):
        super().__init__()
        self.size, self.kernel, self.dilation, self.stride = size, kernel, dilation, stride
        order = next_power_of_two(size)
        self.lags = next_power_of_two(dilation * (kernel - 1) + 1)
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
        if self.l:  # tap j enters L at lag d·j
            lags = weight @ next(dense)[:, : self.dilation * self.kernel : self.dilation].mT
        else:
            lags = weight.new_zeros(*weight.shape[:2], self.lags)
            lags[..., : self.dilation * self.kernel : self.dilation] = weight
        lags = lags if arch_bias is None else lags + arch_bias
        lags = lags if gates is None else lags * gates[..., None]
        return Prepared(m, lags.flip(-1), k, groups)

    def apply(self, x: Tensor, prepared: Prepared, coords) -> Tensor:
        """(b, i, n) -> (b, o, ⌈n / stride⌉)."""
        x = x if prepared.m is None else _blockwise(prepared.m, x)
        y = F.conv1d(F.pad(x, (self.lags - 1, 0)), prepared.filters, groups=prepared.groups)
        y = y if prepared.k is None else _blockwise(prepared.k, y)
        return y[..., :: self.stride]

    def finish(self, prepared: Prepared) -> Prepared:
        return prepared

    def extra_repr(self) -> str:
        return f"size={self.size}, lags={self.lags}"


def _blockwise(matrix: Tensor, x: Tensor) -> Tensor:
    """Apply a lower triangular (N, N) matrix to consecutive blocks of N steps of (..., n)."""
    n, order = x.shape[-1], len(matrix)
    if n <= order:
        return x @ matrix[:n, :n].mT
    blocks = F.pad(x, (0, -n % order)).unflatten(-1, (-1, order))
    return (blocks @ matrix.mT).flatten(-2)[..., :n]


def causal_frame(kernel, size, stride, dilation, depth) -> Causal:
    """The frame that XD's options describe."""
    if len(kernel) != 1:
        raise ValueError(f"the causal frame has one axis, time; got kernel_size={kernel}")
    if size is None:
        raise ValueError("frame='causal' needs size=, the number of steps its K-matrices span")
    (size,) = whole_numbers(size, 1, "size")
    return Causal(size, kernel[0], dilation=dilation[0], stride=stride[0], depth=depth)
