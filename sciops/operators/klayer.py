"""K-layers: a learnable K-matrix for every pair of channels, and nothing that they share.

    y_o = Σ_i Re( K[o, i] x_i ) + bias,        K[o, i] a Kronecker product over the axes

All of it is weights: a K-layer is an operation that a search compares with, not one it finds
(Dao et al. 2020, arXiv:2012.14966).  An axis lies at the beginning of n = 2ᵐ points; the first
points of the product are the output.
"""

import math

import torch
from torch import Tensor, nn

from .butterfly import butterfly_matrix, haar_twiddle, next_power_of_two
from .operator import AbstractOperator, Fixed, check_input


class KLayer(AbstractOperator):
    """K-matrices from `(batch, in_channels, *size)` to `(batch, out_channels, *out_size)`.

    They start as random unitary matrices, scaled such that the energy of the input is kept.

    >>> KLayer(2, 3, (6, 5), (3, 5))(torch.zeros(4, 2, 6, 5)).shape
    torch.Size([4, 3, 3, 5])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        size: tuple[int, ...],
        out_size: tuple[int, ...] | None = None,
        *,
        depth: int = 1,
        bias: bool = True,
    ):
        super().__init__()
        self.in_channels, self.out_channels, self.depth = in_channels, out_channels, depth
        self.size, self.out_size = tuple(size), tuple(size if out_size is None else out_size)
        self.resolution = Fixed(self.size)
        orders = [next_power_of_two(max(pair)) for pair in zip(size, self.out_size, strict=True)]
        shapes = [(n.bit_length() - 1, n // 2, 2, 2, 2) for n in orders]
        pairs = (out_channels, in_channels, depth)
        self.values = nn.ParameterList(torch.empty(*pairs, *shape) for shape in shapes)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        scale = math.sqrt(2 / self.in_channels)  # Re takes half the energy
        with torch.no_grad():
            for values in self.values:
                n = 2 * values.shape[-4]
                for blocks in values.flatten(0, 2):
                    blocks.copy_(torch.view_as_real(haar_twiddle(max(n, 1))))
            if self.values[0].numel():
                self.values[0][:, :, 0, 0] *= scale
            if self.bias is not None:
                self.bias.zero_()

    def matrices(self) -> list[Tensor]:
        """K of every axis, (out, in, points out, points in), complex."""
        dense = []
        for values, n, n_out in zip(self.values, self.size, self.out_size, strict=True):
            blocks = torch.view_as_complex(values)
            product = butterfly_matrix(blocks[:, :, 0])
            for j in range(1, self.depth):
                product = butterfly_matrix(blocks[:, :, j], decreasing=bool(j % 2)) @ product
            dense.append(product[..., :n_out, :n])
        return dense

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *size) -> (batch, out_channels, *out_size)."""
        check_input(x, self.in_channels, len(self.size), self.values[0].dtype)
        if tuple(x.shape[2:]) != self.size:
            raise ValueError(
                f"this K-layer was built for size={self.size}, got {tuple(x.shape[2:])}; "
                "resample the input or build a layer for that size"
            )
        maps = self.matrices()
        z = x.to(maps[0].dtype)
        y = torch.stack([_kronecker(z, [m[o] for m in maps]) for o in range(self.out_channels)], 1)
        return y if self.bias is None else y + self.bias.view(-1, *[1] * len(self.size))

    def extra_repr(self) -> str:
        channels = f"{self.in_channels}, {self.out_channels}"
        return f"{channels}, size={self.size}, out_size={self.out_size}, depth={self.depth}"


def _kronecker(z: Tensor, maps: list[Tensor]) -> Tensor:
    """Σ_i Re(⊗ K_i z_i): (batch, i, *n) and a (i, n_out, n) for each axis -> (batch, *n_out)."""
    for axis, k in enumerate(maps):
        moved = z.movedim(axis + 2, -1)
        flat = moved.flatten(2, -2) if moved.ndim > 3 else moved.unsqueeze(2)
        z = (flat @ k.mT).view(*moved.shape[:-1], k.shape[-2]).movedim(-1, axis + 2)
    return z.real.sum(1)
