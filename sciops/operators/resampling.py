"""Fewer points for fewer frequencies: filters that end on a coarser grid, and the way back.

On a periodic axis the modes are cosines and sines of f = 0 … ⌊n/2⌋ waves per period; on an axis
with ends they are cos πkx/E, k = 0 … n−1, on its extent E, which goes on evenly beyond both ends
(no jump, and the end points of all grids coincide).  So frequencies are physical: f, or k/2E, in
waves per unit of length, whatever the grid.

    coarse = S_c diag(w) A x          A: analysis on the fine grid, S_c: synthesis on the coarse one
    fine   = S A_c coarse             trigonometric interpolation

with one matrix for each axis, or fast transforms where axes are long.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from . import transforms
from .butterfly import constant

LONGEST_DENSE = 512  # points of an axis up to which a matrix is faster than a transform


class Cropped(NamedTuple):
    """An axis of n points whose modes 0 … highest are kept on `points` points."""

    n: int
    highest: int
    points: int
    periodic: bool

    def frequencies(self, extent: float) -> Tensor:
        """Of the modes kept, in waves per unit of length; extent: period, or between the ends."""
        return torch.arange(self.highest + 1) / (extent if self.periodic else 2 * extent)


def cropped(n: int, extent: float, highest: float, periodic: bool) -> Cropped:
    """The axis with modes up to a frequency, and no more points than they need, but three.

    >>> cropped(64, 1.0, 10.5, True)
    Cropped(n=64, highest=10, points=21, periodic=True)
    >>> cropped(65, 1.0, 10.5, False)
    Cropped(n=65, highest=21, points=22, periodic=False)
    """
    mode = max(1 if periodic else 2, math.floor(highest * extent * (1 if periodic else 2) + 1e-6))
    points = 2 * mode + 1 if periodic else mode + 1
    if points >= n:
        return Cropped(n, n // 2 if periodic else n - 1, n, periodic)
    return Cropped(n, mode, points, periodic)


def low_passed(x: Tensor, axes: Sequence[Cropped], weights: Sequence[Tensor]) -> Tensor:
    """(batch, channel, *n) -> (batch, channel, *points), each mode times its weight.

    weights: (highest + 1,) of each axis
    """
    if max(axis.n for axis in axes) > LONGEST_DENSE:
        for number, (axis, w) in enumerate(zip(axes, weights, strict=True)):
            x = _transformed(x, 2 + number, axis.points, w, axis.periodic)
        return x
    like = (x.dtype, x.device)
    pairs = [(axis.highest, axis.periodic, *like) for axis in axes]
    inward = [_analysis(axis.n, *pair) for axis, pair in zip(axes, pairs, strict=True)]
    outward = [_synthesis(axis.points, *pair) for axis, pair in zip(axes, pairs, strict=True)]
    modes = transforms.analyse(x, inward)
    for number, (axis, w) in enumerate(zip(axes, weights, strict=True)):
        both = torch.cat([w, w[1:]]) if axis.periodic else w  # cosines and sines
        modes = modes * both.view(-1, *[1] * (len(axes) - 1 - number))
    return transforms.synthesise(modes, outward)


def refined(x: Tensor, axes: Sequence[Cropped]) -> Tensor:
    """(batch, channel, *points) -> (batch, channel, *n), the same function on the fine grid."""
    if all(axis.points == axis.n for axis in axes):
        return x
    if max(axis.n for axis in axes) > LONGEST_DENSE:
        for number, axis in enumerate(axes):
            modes = axis.points // 2 + 1 if axis.periodic else axis.points
            x = _transformed(x, 2 + number, axis.n, x.new_ones(modes), axis.periodic)
        return x
    return transforms.synthesise(x, [_interpolation(*axis, x.dtype, x.device) for axis in axes])


# --- matrices -------------------------------------------------------------------------------------


@constant
def _analysis(n: int, highest: int, periodic: bool, dtype, device) -> Tensor:
    """(modes, n): coefficients of cosines 0 … highest, and of sines 1 … highest if periodic."""
    waves = _waves(n, highest, periodic)
    if periodic:
        weights = torch.full((highest + 1,), 2.0 / n, dtype=torch.float64)
        weights[0] /= 2
        if 2 * highest == n:
            weights[-1] /= 2
        weights = torch.cat([weights, weights[1:]])
        return (waves * weights).T.contiguous().to(device, dtype)
    weights = torch.full((highest + 1,), 2.0 / (n - 1), dtype=torch.float64)
    weights[0] /= 2
    if highest == n - 1:
        weights[-1] /= 2
    ends = torch.ones(n, dtype=torch.float64)
    ends[0] = ends[-1] = 0.5
    return (waves * weights * ends[:, None]).T.contiguous().to(device, dtype)


@constant
def _synthesis(n: int, highest: int, periodic: bool, dtype, device) -> Tensor:
    """(n, modes)."""
    return _waves(n, highest, periodic).to(device, dtype)


@constant
def _interpolation(n: int, highest: int, points: int, periodic: bool, dtype, device) -> Tensor:
    """(n, points): through the points of the coarse grid, on the fine one."""
    if points == n:
        return torch.eye(n, dtype=dtype, device=device)
    inward = _analysis(points, highest, periodic, torch.float64, torch.device("cpu"))
    return (_waves(n, highest, periodic) @ inward).to(device, dtype)


def _waves(n: int, highest: int, periodic: bool) -> Tensor:
    k = torch.arange(highest + 1, dtype=torch.float64)
    j = torch.arange(n, dtype=torch.float64)
    if not periodic:
        return torch.outer(j, k * (math.pi / (n - 1))).cos()
    angle = torch.outer(j, k * (2 * math.pi / n))
    sines = angle.sin()
    if 2 * highest == n:
        sines[:, -1] = 0  # as sampled, up to rounding
    return torch.cat([angle.cos(), sines[:, 1:]], 1)


# --- fast transforms ------------------------------------------------------------------------------


def _transformed(x: Tensor, axis: int, points: int, weights: Tensor, periodic: bool) -> Tensor:
    """The same along one axis, by transforms; an axis with ends is continued evenly."""
    x = x.movedim(axis, -1)
    if not periodic:
        x = torch.cat([x, x[..., 1:-1].flip(-1)], -1)
    before, after = x.shape[-1], points if periodic else 2 * (points - 1)
    modes = torch.arange(len(weights), device=x.device)
    factor = _times(modes, before) / _times(modes, after) * (after / before)
    spectrum = torch.fft.rfft(x)[..., : len(weights)] * (weights * factor.to(weights))
    return torch.fft.irfft(spectrum, after)[..., :points].movedim(-1, axis)


def _times(modes: Tensor, n: int) -> Tensor:
    """How often a mode is in a transform of n points: f and −f, which may be one."""
    return 2 - ((modes == 0) | (2 * modes == n)).double()
