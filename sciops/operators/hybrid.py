"""A convolution with a band-limited XD operation beside it, for images and maps.

    y = conv(x) + E · XD(R x)         R: i → c channels,  XD: c → c in the band frame,  E: c → o

Sharp local structure is not band-limited, and what lies far away is not within reach of a few taps:
the convolution sees the one, the few modes of XD the other.  R and E act on channels only and keep
it cheap.

E starts at zero, so the layer starts as the convolution, to the last bit.  Some factor of a product
that starts at zero must be zero, and has no gradient for the others until it moves.  E is the last:
what it is offered at the first step, XD(R x) of random R and XD, is worth combining, so it moves at
once, and from the second step on all of them learn (as in low-rank adaptation).
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from .axes import padding_pairs
from .operator import AbstractOperator, as_tuple, check_input
from .torch_layers import check_convolution
from .xd import XD


class Hybrid(AbstractOperator):
    """Starts as `conv` (Conv1d, Conv2d or Conv3d), which must keep the grid and becomes part of it.

    channels:    c, of the XD operation
    frequencies: of each sign that it keeps
    taps:        of its kernel, on each axis; None puts its weights on the modes
    length:      points to a unit of length, one number or one per axis: where x has no `coords`,
                 point j lies at j/length, so that windows of every size mean the same positions.
                 None: the grid is the whole domain, however many points it has
    period:      of the band; 1.25 beside zero padding, room for 1.25·length points
    depth:       of the K-matrices

    Resolution: "any", as of a convolution: it runs on every grid that the period has room for, but
    the convolution's taps are points and mean something else on a finer one.

    >>> layer = Hybrid(nn.Conv2d(8, 8, 3, padding=1), channels=4, length=64)
    >>> x = torch.randn(1, 8, 64, 50)
    >>> torch.equal(layer(x), layer.conv(x))
    True
    """

    def __init__(
        self,
        conv: nn.Module,
        *,
        channels: int = 16,
        frequencies: int = 8,
        taps: int | None = 7,
        length=None,
        period=None,
        depth=1,
    ):
        super().__init__()
        check_convolution(conv)
        _check_keeps_the_grid(conv)
        ndim = len(conv.kernel_size)
        self.in_channels, self.out_channels = conv.in_channels, conv.out_channels
        self.length = None if length is None else as_tuple(length, ndim, "length")
        self.conv = conv
        self.reduce = type(conv)(self.in_channels, channels, 1, bias=False)
        self.band = XD(
            channels,
            channels,
            (1 if taps is None else taps,) * ndim,
            modes=frequencies,
            weights="modes" if taps is None else "taps",
            grid="periodic" if conv.padding_mode == "circular" else "closed",
            period=period,
            depth=depth,
        )
        self.expand = type(conv)(channels, self.out_channels, 1, bias=False)
        nn.init.zeros_(self.expand.weight)
        self.to(conv.weight.device, conv.weight.dtype)

    @property
    def weight(self) -> nn.Parameter:
        return self.conv.weight

    def arch_parameters(self) -> Iterator[nn.Parameter]:
        """Those of XD."""
        return self.band.arch_parameters()

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *n) -> (batch, out_channels, *n).

        coords: the points of each axis in units of length; the convolution does not see them
        """
        check_input(x, self.in_channels, len(self.conv.kernel_size), self.weight.dtype)
        if coords is None and self.length is not None:
            coords = self._points(tuple(x.shape[2:]))
        return self.conv(x) + self.expand(self.band(self.reduce(x), coords))

    def _points(self, size: tuple[int, ...]) -> tuple[Tensor, ...]:
        """Point j at j/length, on each axis."""
        per_axis = zip(size, self.length, self.band.frame.period, strict=True)
        for axis, (n, unit, period) in enumerate(per_axis):
            largest = int(unit * period) + 1
            if not 2 <= n <= largest:
                raise ValueError(
                    f"axis {axis} of x has {n} points; a layer of length={unit} and period "
                    f"{period:g} takes 2 to {largest}: cut x into windows of {unit}, or build the "
                    "layer with a larger period"
                )
        units = zip(size, self.length, strict=True)
        return tuple(torch.arange(n, dtype=torch.float64) / unit for n, unit in units)


def _check_keeps_the_grid(conv: nn.Module) -> None:
    kernel, dilation = conv.kernel_size, conv.dilation
    same = padding_pairs("same", kernel, dilation)
    if padding_pairs(conv.padding, kernel, dilation) != same or any(s != 1 for s in conv.stride):
        raise ValueError(
            f"expected a convolution that keeps the grid, got {conv}; use stride=1, padding='same'"
        )
