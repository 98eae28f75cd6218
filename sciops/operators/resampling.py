"""Convolutions inside which the grid becomes coarser, and the way back.

    y = F⁻¹ crop( w · F x · F ψ )          w: weights of the frequencies, 0 beyond the highest

A band of frequencies needs no more points than it has modes, so F⁻¹ is one of fewer points, and
what follows is cheaper.  Frequencies are physical, f/P waves per unit of length on a circle of
length P, the period of an axis or, if it has ends, room for x and half a kernel of zeros: so a band
means the same on every grid.  Where nearly all modes are kept they are only weighted: the way back
from a grid of their own would cost more than it saves.  It is interpolation, by a matrix for each
axis: by the trigonometric polynomial of a period, or by cosines, which go on evenly beyond ends.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from . import transforms
from .butterfly import constant
from .depthwise import around, fast_length
from .size_masks import product_of

WORTH = 0.75  # of the modes of an axis: if more are kept, the way back costs more than is saved
LONGEST_DENSE = 512  # points of a period up to which a matrix is faster than a transform


class Band(NamedTuple):
    """An axis of n points in a convolution that keeps some of its frequencies.

    circle: points of the transform on the fine grid
    modes:  of both signs that are kept, and points of the transform on the coarse grid
    points: of the coarse grid; those beyond them are not between the ends of the axis
    """

    n: int
    circle: int
    modes: int
    points: int
    periodic: bool

    def spacing(self, fine: float) -> float:
        """Of the coarse grid."""
        return fine * self.circle / self.modes

    def frequencies(self, fine: float, *, one_sided: bool) -> Tensor:
        """|f|/P of the modes, in the order of transforms; fine: spacing of the fine grid."""
        period = self.circle * fine
        if one_sided:
            return torch.arange(self.modes // 2 + 1) / period
        return torch.fft.fftfreq(self.modes, 1 / self.modes).abs() / period


def band_of(n: int, spacing: float, highest: float, reach: float, periodic: bool) -> Band:
    """The axis with frequencies up to `highest`.

    reach: of the kernel in both directions, in units of the axis' length as the spacing

    >>> band_of(64, 1 / 64, 10.5, 0.5, True)
    Band(n=64, circle=64, modes=21, points=21, periodic=True)
    >>> band_of(65, 1 / 64, 10.5, 0.1, False)
    Band(n=65, circle=72, modes=24, points=23, periodic=False)
    """
    circle = n if periodic else fast_length(n + math.ceil(reach / spacing + 0.5))
    most = max(1, math.floor(highest * circle * spacing + 1e-6))
    modes = fast_length(2 * most + 1)
    if modes > WORTH * circle:
        return Band(n, circle, circle, n, periodic)
    points = modes if periodic else min(modes, math.ceil((n - 1) * modes / circle) + 1)
    return Band(n, circle, modes, points, periodic)


def banded_convolution(
    x: Tensor, kernel: Tensor, bands: Sequence[Band], filters: Sequence[Tensor]
) -> Tensor:
    """(batch, channel, *n) -> (batch, channel, *points), each channel with a kernel of its own.

    kernel:  (channel, *taps) on the coarse grid, y[p] = Σⱼ k[j] x[p + j]
    filters: weights of the modes of each axis, those of the last axis of f ≥ 0 only
    """
    *others, last = bands
    first = x.ndim - len(bands)
    z = torch.fft.rfft(x, last.circle).narrow(-1, 0, last.modes // 2 + 1)
    for axis, band in reversed(list(enumerate(others, first))):
        z = _cropped(torch.fft.fft(z, band.circle, axis), band, axis)
    z = z * _multiplier(kernel, bands, filters)
    for axis, band in enumerate(others, first):
        z = torch.fft.ifft(z, dim=axis).narrow(axis, 0, band.points)
    return torch.fft.irfft(z, last.modes).narrow(-1, 0, last.points)


def _cropped(z: Tensor, band: Band, axis: int) -> Tensor:
    if band.modes == band.circle:
        return z
    low = z.narrow(axis, 0, (band.modes + 1) // 2)
    return torch.cat([low, z.narrow(axis, band.circle - band.modes // 2, band.modes // 2)], axis)


def _multiplier(kernel: Tensor, bands: Sequence[Band], filters: Sequence[Tensor]) -> Tensor:
    """(channel, *modes), complex; with the mean over fewer points that the coarse transform has."""
    axes = tuple(range(-len(bands), 0))
    for axis, band in zip(axes, bands, strict=True):
        kernel = around(kernel, band.modes, axis)
    fewer = math.prod(band.modes / band.circle for band in bands)
    return torch.fft.rfftn(kernel, dim=axes).conj() * (fewer * product_of(list(filters)))


def refined(x: Tensor, bands: Sequence[Band]) -> Tensor:
    """(batch, channel, *points) -> (batch, channel, *n), the same function on the fine grid."""
    if all(band.points == band.n for band in bands):
        return x
    long = [band.periodic and band.n > LONGEST_DENSE for band in bands]
    for axis, band in enumerate(bands):
        if long[axis]:
            z = torch.fft.rfft(x, dim=2 + axis)
            z = z.narrow(2 + axis, 0, (band.points + 1) // 2) * (band.n / band.points)
            x = torch.fft.irfft(z, band.n, dim=2 + axis)
    kind = (x.dtype, x.device)
    matrices = [
        _identity(band.n, *kind) if by_transform else _interpolation(*band, *kind)
        for band, by_transform in zip(bands, long, strict=True)
    ]
    return x if all(long) else transforms.synthesise(x, matrices)


@constant
def _identity(n: int, dtype, device) -> Tensor:
    return torch.eye(n, dtype=dtype, device=device)


@constant
def _interpolation(n: int, circle: int, modes: int, points: int, periodic: bool, dtype, device):
    """(n, points): what cosines, or cosines and sines, through the coarse points are at the fine.

    Of an even number of points of a period the fastest wave is left out: it has no sine.
    """
    if points == n:
        return _identity(n, dtype, device)
    at = torch.arange(n, dtype=torch.float64) * (modes / circle)  # in coarse steps
    own = torch.arange(points, dtype=torch.float64)
    if periodic:
        f = torch.arange(1, (points + 1) // 2, dtype=torch.float64)
        angle = torch.outer(at, f * (2 * math.pi / points))
        base = torch.outer(own, f * (2 * math.pi / points))
        waves = angle.cos() @ base.cos().T + angle.sin() @ base.sin().T
        return ((1 + 2 * waves) / points).to(device, dtype)
    k = torch.arange(points, dtype=torch.float64) * (math.pi / (points - 1))
    weights = torch.full((points,), 2.0 / (points - 1), dtype=torch.float64)
    weights[0] = weights[-1] = 1.0 / (points - 1)
    ends = torch.ones(points, dtype=torch.float64)
    ends[0] = ends[-1] = 0.5
    waves = (torch.outer(at, k).cos() * weights) @ torch.outer(k, own).cos()
    return (waves * ends).to(device, dtype)
