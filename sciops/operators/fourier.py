"""The Fourier layer of FNO (Li et al. 2021, arXiv:2010.08895), in physical coordinates.

    y = Re( S diag(W) A x ),        one complex c_out × c_in matrix W[f] per mode

It is the band frame's XD with its weights on the modes and K = L = M = id, built from the same
analysis A and synthesis S (`transforms`), so it is exact on odd and even, periodic, closed and
non-uniform grids.
"""

import math

import torch
from torch import Tensor, nn

from .band import Band
from .band_options import band_grid, band_modes, band_period, check_coords
from .operator import AbstractOperator, check_input, full_precision


class FourierLayer(AbstractOperator):
    """Fourier layer on `(batch, channel, *space)`.

    modes: a number per axis, (24, 12) keeping f₀ = −12 … 11 and f₁ = 0 … 11; in one dimension an
    int grid, period: as in `XD`

    >>> FourierLayer(3, 8, modes=(24, 12))(torch.zeros(1, 3, 64, 43)).shape
    torch.Size([1, 8, 64, 43])
    """

    def __init__(self, in_channels: int, out_channels: int, modes, *, grid="periodic", period=None):
        super().__init__()
        ndim = len(modes) if isinstance(modes, tuple | list) else 1
        self.in_channels, self.out_channels = in_channels, out_channels
        grid = band_grid(grid, ndim)
        modes = band_modes(modes, ndim)
        self.frame = Band(modes, None, period=band_period(period, grid), grid=grid, depth=(0, 0, 0))
        self.weight = nn.Parameter(torch.empty(*modes, 2, 1, out_channels, in_channels))
        nn.init.normal_(
            self.weight, std=math.sqrt(0.5 / in_channels)
        )  # the energy of every mode is kept

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *n) -> (batch, out_channels, *n)."""
        check_input(x, self.in_channels, len(self.frame.modes), self.weight.dtype)
        check_coords(coords, len(self.frame.modes))
        with full_precision(x):
            prepared = self.frame.prepare(self.weight, None, None, 1)
            y = self.frame.apply(x.to(self.weight.dtype), prepared, coords)
        return y.to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}"
