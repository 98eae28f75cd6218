"""An ordinary convolution that keeps the grid, with each axis continued as its boundary says.

Its taps are a fixed number of points apart, not a physical distance: it runs on every grid, but
means something else on each.  It is the baseline that XD starts from.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .operator import AbstractOperator, check_input, whole_numbers

CONVOLUTIONS = (F.conv1d, F.conv2d, F.conv3d)


class Convolution(AbstractOperator):
    """Convolution on `(batch, channel, *space)`, circular on periodic axes, zeros beyond others.

    >>> Convolution(3, 8, (5, 5), periodic=(True, False))(torch.zeros(1, 3, 20, 31)).shape
    torch.Size([1, 8, 20, 31])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        *,
        periodic: tuple[bool, ...],
        bias: bool = False,
    ):
        super().__init__()
        self.kernel_size = whole_numbers(kernel_size, len(periodic), "kernel_size")
        self.in_channels, self.out_channels, self.periodic = in_channels, out_channels, periodic
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels, *self.kernel_size))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *n) -> (batch, out_channels, *n); coordinates are ignored."""
        check_input(x, self.in_channels, len(self.kernel_size), self.weight.dtype)
        too_small = [k for k, n in zip(self.kernel_size, x.shape[2:], strict=True) if k - 1 > n]
        if too_small:
            raise ValueError(
                f"a kernel of {self.kernel_size} points is larger than the grid of "
                f"{tuple(x.shape[2:])}; use a smaller kernel or a finer grid"
            )
        for axis, (k, periodic) in enumerate(zip(self.kernel_size, self.periodic, strict=True)):
            pad = [0, 0] * len(self.kernel_size)
            place = 2 * (len(self.kernel_size) - 1 - axis)  # F.pad counts from the last axis
            pad[place : place + 2] = (k - 1) // 2, k // 2
            x = F.pad(x, pad, mode="circular" if periodic else "constant")
        return CONVOLUTIONS[len(self.kernel_size) - 1](x, self.weight, self.bias)

    def as_torch(self) -> nn.Module:
        """The same layer as torch has it, with the same parameters."""
        if len(set(self.periodic)) > 1:
            raise ValueError("torch has no convolution that is periodic on some axes only")
        mode = "circular" if self.periodic[0] else "zeros"
        kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[len(self.kernel_size) - 1]
        channels, bias = (self.in_channels, self.out_channels), self.bias is not None
        how = dict(padding="same", padding_mode=mode, bias=bias, device="meta")
        conv = kind(*channels, self.kernel_size, **how)
        conv.weight, conv.bias = self.weight, self.bias
        return conv.train(self.training)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
