"""Functions from one grid to another: Fourier on periodic axes, cubic splines on closed ones.

Both are linear, so along each axis they are a matrix.  On a period, from n points sᵢ to n′ points
s′ⱼ in units of the period,

    W[j, i] = 1/n Σₖ wₖ cos 2πk(s′ⱼ − sᵢ),     |k| ≤ n/2 and |k| < n′/2,

which is the only trigonometric polynomial through the values, without the frequencies that the new
grid cannot tell apart.  wₖ is 1, but ½ for k = ±n/2, which are one sampled function.  On a closed
axis a cubic spline (not-a-knot) goes through the values; it is exact for cubic polynomials, and
continued where the new grid reaches further.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .grids import same_points

COLUMNS = 256  # splines made at a time; each has four numbers a point


def resampler(
    old: Sequence[Tensor], new: Sequence[Tensor], periodic: Sequence[bool]
) -> Callable[[Tensor], Tensor]:
    """A function that takes fields (batch, channel, *old) to (batch, channel, *new).

    old, new: the points of each axis in units of its length; where they agree, nothing is changed

    >>> four, eight = (torch.arange(n, dtype=torch.float64) / n for n in (4, 8))
    >>> wave = lambda s: (2 * torch.pi * s).cos()[None, None]
    >>> torch.allclose(resampler([four], [eight], [True])(wave(four)), wave(eight))
    True
    """
    matrices = {
        axis: (fourier_matrix if is_periodic else spline_matrix)(before, after)
        for axis, (before, after, is_periodic) in enumerate(
            zip(old, new, periodic, strict=True), start=2
        )
        if not same_points([before], [after])
    }

    def resample(field: Tensor) -> Tensor:
        for axis, matrix in matrices.items():
            along = field.movedim(axis, -1).to(matrix.dtype)
            field = (along @ matrix.to(field.device).mT).movedim(-1, axis).to(field.dtype)
        return field.contiguous()

    return resample


def fourier_matrix(old: Tensor, new: Tensor) -> Tensor:
    """W (n′, n) of a period."""
    n = len(old)
    k = torch.arange(min(n // 2 + 1, (len(new) + 1) // 2), dtype=torch.float64)
    both_signs = torch.where((k == 0) | (2 * k == n), 1.0, 2.0).double()
    at_old, at_new = (2 * torch.pi * torch.outer(s.double(), k) for s in (old, new))
    cosines = (at_new.cos() * both_signs) @ at_old.cos().mT
    return (cosines + (at_new.sin() * both_signs) @ at_old.sin().mT) / n


def spline_matrix(old: Tensor, new: Tensor) -> Tensor:
    """The values at the new points of the splines through the unit vectors, (n′, n)."""
    from scipy.interpolate import CubicSpline

    units = torch.eye(len(old), dtype=torch.float64).split(COLUMNS, dim=1)
    before, after = old.double().numpy(), new.double().numpy()
    return torch.cat([torch.as_tensor(CubicSpline(before, some)(after)) for some in units], 1)
