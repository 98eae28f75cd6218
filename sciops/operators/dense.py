"""A dense linear map between two grids: the layer that assumes nothing about its data."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .operator import AbstractOperator, Fixed, check_input


class Dense(AbstractOperator):
    """y = W x + bias from `(batch, in_channels, *size)` to `(batch, out_channels, *out_size)`.

    >>> Dense(1, 2, (8, 8), (4, 4))(torch.zeros(3, 1, 8, 8)).shape
    torch.Size([3, 2, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        size: tuple[int, ...],
        out_size: tuple[int, ...] | None = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.size, self.out_size = tuple(size), tuple(size if out_size is None else out_size)
        self.resolution = Fixed(self.size)
        rows, columns = out_channels * math.prod(self.out_size), in_channels * math.prod(size)
        self.weight = nn.Parameter(torch.empty(rows, columns))
        self.bias = nn.Parameter(torch.empty(rows)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As torch draws those of nn.Linear."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        check_input(x, self.in_channels, len(self.size), self.weight.dtype)
        if tuple(x.shape[2:]) != self.size:
            raise ValueError(
                f"this dense layer was built for size={self.size}, got {tuple(x.shape[2:])}; "
                "resample the input or build a layer for that size"
            )
        y = F.linear(x.flatten(1), self.weight, self.bias)
        return y.view(len(x), self.out_channels, *self.out_size)

    def extra_repr(self) -> str:
        channels = f"{self.in_channels}, {self.out_channels}"
        return f"{channels}, size={self.size}, out_size={self.out_size}"
