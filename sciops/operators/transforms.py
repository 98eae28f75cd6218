"""Analysis of sampled functions into Fourier modes, and synthesis, in physical coordinates.

On an axis with points xⱼ, quadrature weights qⱼ and period P,

    A[f, j] = qⱼ exp(−2πi f xⱼ / P) / P          S[j, f] = exp(+2πi f xⱼ / P),

so a mode means the same function on every grid.  Both are factored through the real basis of
cosines and sines of 0 … h = max |f|,

    A = T R,   S = B Tᴴ,      R = w_f q [cos; sin] / P   (2h+2, n),      B = [cos, sin]   (n, 2h+2)

because R and B are real and fixed (their products with the data are real GEMMs that need no
gradient), while T, 2h+2 entries of 1 and ∓i, melts into the small learned matrices.

Frequencies: the last axis keeps f = 0 … m−1 only, with weight 2 for f > 0, since the output is a
real part; the others keep −m/2 … m/2−1.  Modes above a grid's Nyquist frequency are masked.  At the
Nyquist frequency itself +f and −f are one sampled function, which is therefore counted once.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .butterfly import constant
from .scratch import lend

GRIDS = ("periodic", "closed")


def frequencies(modes: int, *, one_sided: bool) -> Tensor:
    """The integer frequencies an axis keeps.

    >>> frequencies(4, one_sided=False).tolist(), frequencies(4, one_sided=True).tolist()
    ([-2, -1, 0, 1], [0, 1, 2, 3])
    """
    return torch.arange(modes) if one_sided else torch.arange(-modes // 2, modes - modes // 2)


def highest(modes: int, *, one_sided: bool) -> int:
    """The highest |f| an axis keeps."""
    return modes - 1 if one_sided else modes // 2


def modes_from_basis(modes: int, *, one_sided: bool) -> Tensor:
    """T (m, 2h+2): mode f = cosine coefficient of |f| − i·sign(f)·sine coefficient of |f|."""
    f, h = frequencies(modes, one_sided=one_sided), highest(modes, one_sided=one_sided)
    t = torch.zeros(modes, 2 * (h + 1), dtype=torch.complex128)
    t[torch.arange(modes), f.abs()] = 1
    t[torch.arange(modes), f.abs() + h + 1] = -1j * f.sign().double()
    return t


def tap_phases(
    modes: int, one_sided: bool, kernel: int, dilation: int, period: float, spacing: Tensor
) -> Tensor:
    """exp(−2πi f τⱼ / P), (modes, kernel): tap j is ⌊d(k−1)/2⌋ − d·j spacings away."""
    f = frequencies(modes, one_sided=one_sided)
    steps = dilation * (kernel - 1) // 2 - dilation * torch.arange(kernel)
    angle = torch.outer(f, steps).to(spacing) * (-2 * math.pi / period) * spacing
    return torch.complex(angle.cos(), angle.sin())


@constant
def fixed_tap_phases(
    modes: int,
    one_sided: bool,
    kernel: int,
    dilation: int,
    period: float,
    spacing: float,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    """`tap_phases` of a spacing that is not learned."""
    spacing = torch.tensor(spacing, dtype=torch.float64)
    return tap_phases(modes, one_sided, kernel, dilation, period, spacing).to(device, dtype)


def default_points(n: int, *, grid: str, period: float) -> Tensor:
    """Points of a uniform grid: one whole period, or [0, 1] with both ends.

    >>> default_points(4, grid="periodic", period=1.0).tolist()
    [0.0, 0.25, 0.5, 0.75]
    >>> default_points(5, grid="closed", period=1.25).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if grid == "periodic":
        return torch.arange(n, dtype=torch.float64) * (period / n)
    if period < 1:
        raise ValueError(
            f"the points of a closed grid span [0, 1], more than the period {period:g}; "
            "give XD a period ≥ 1, or the points as coords="
        )
    if n < 2:
        raise ValueError(f"a closed grid has both end points and needs n ≥ 2, got n={n}")
    return torch.linspace(0, 1, n, dtype=torch.float64)


def quadrature(points: Tensor, *, grid: str, period: float) -> tuple[Tensor, Tensor]:
    """Trapezoid weights (n,), over the period or between the end points, and the widest gap."""
    gaps = points.diff()
    if grid == "periodic":
        gaps = torch.cat([gaps, points[:1] + period - points[-1:]])  # gap after each point
        weights = (gaps + gaps.roll(1)) / 2
    else:
        weights = torch.zeros_like(points)
        weights[:-1] += gaps / 2
        weights[1:] += gaps / 2
    return weights, gaps.max()


def basis(points: Tensor, modes: int, *, one_sided: bool, grid: str, period: float):
    """The real analysis R (2h+2, n) and synthesis B (n, 2h+2) on the given points."""
    h = highest(modes, one_sided=one_sided)
    f_abs = torch.arange(h + 1, dtype=torch.float64)
    weights, gap = quadrature(points, grid=grid, period=period)
    relative = f_abs * (2 * gap / period)  # 1 at the Nyquist frequency
    kept = (relative <= 1 + 1e-9).double()
    at_nyquist = (relative - 1).abs() <= 1e-9
    if one_sided:
        once = torch.where((f_abs > 0) & ~at_nyquist, 2.0, 1.0).double()
    else:  # both signs are in the band, except of the last frequency of an even band
        both = (f_abs > 0) & (f_abs <= (modes - 1) // 2)
        once = torch.where(at_nyquist & both, 0.5, 1.0).double()
    angle = torch.outer(points, f_abs) * (2 * math.pi / period)
    trig = torch.cat([angle.cos() * kept, angle.sin() * kept], 1)
    return (trig * weights[:, None] * once.repeat(2) / period).T.contiguous(), trig


@constant
def uniform_basis(n: int, modes: int, one_sided: bool, grid: str, period: float, dtype, device):
    """`basis` on the default points, kept for the next call."""
    points = default_points(n, grid=grid, period=period)
    r, b = basis(points, modes, one_sided=one_sided, grid=grid, period=period)
    return r.to(device, dtype), b.to(device, dtype)


def check_points(points, n: int, axis: int, *, grid: str, period: float) -> Tensor:
    """The coordinates of one axis in float64, or a ValueError that says what is wrong with them."""
    name = f"coords[{axis}]"
    if not isinstance(points, Tensor) or points.ndim != 1 or not points.is_floating_point():
        got = tuple(points.shape) if isinstance(points, Tensor) else type(points).__name__
        raise ValueError(
            f"{name} must be a 1-dimensional floating-point torch.Tensor (the points of one axis "
            f"of a tensor grid), got {got}; use torch.as_tensor(values), not a mesh"
        )
    if len(points) != n:
        raise ValueError(f"{name} has {len(points)} points, but axis {axis} of the input has {n}")
    points = points.detach().double().cpu()
    if torch.compiler.is_compiling():  # values are not known yet
        return points
    if not bool(torch.isfinite(points).all()) or bool((points.diff() <= 0).any()):
        raise ValueError(f"{name} must be finite and strictly increasing; sort the axis first")
    extent = float(points[-1] - points[0])
    if (grid == "periodic" and extent >= period) or extent > period * (1 + 1e-9):
        raise ValueError(
            f"{name} spans {extent:g}, more than the layer's period {period:g} on a {grid} grid; "
            "give XD a larger period= or rescale the coordinates"
        )
    return points


# --- applying the fixed matrices ------------------------------------------------------------------


def analyse(x: Tensor, bases: Sequence[Tensor]) -> Tensor:
    """(b, c, *n) -> (b, c, *r) by one real matrix (r, n) per axis."""
    return _Analyse.apply(x, *bases)


def synthesise(c: Tensor, bases: Sequence[Tensor]) -> Tensor:
    """(b, c, *r) -> (b, c, *n) by one real matrix (n, r) per axis."""
    return _Synthesise.apply(c, *bases)


class _Analyse(torch.autograd.Function):
    """Keeps the (small, fixed) matrices for the gradient, not the data."""

    @staticmethod
    def forward(ctx, x, *bases):
        ctx.save_for_backward(*bases)
        return _inward(x, bases)

    @staticmethod
    def backward(ctx, gradient):
        bases = [b.mT for b in ctx.saved_tensors]
        return _outward(gradient, bases), *[None] * len(bases)


class _Synthesise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, c, *bases):
        ctx.save_for_backward(*bases)
        return _outward(c, bases)

    @staticmethod
    def backward(ctx, gradient):
        bases = [b.mT for b in ctx.saved_tensors]
        return _inward(gradient, bases), *[None] * len(bases)


def _inward(x: Tensor, bases: Sequence[Tensor]) -> Tensor:  # the last axis first
    x = x.contiguous()
    for axis in reversed(range(len(bases))):
        x = _along(bases[axis], x, axis + 2)
    return x


def _outward(c: Tensor, bases: Sequence[Tensor]) -> Tensor:  # the last axis last
    c = c.contiguous()
    for axis in range(len(bases)):
        c = _along(bases[axis], c, axis + 2)
    return c


def _along(matrix: Tensor, x: Tensor, axis: int) -> Tensor:
    """Apply a matrix (r, n) along one axis of a contiguous x, as one batched GEMM."""
    shape = (*x.shape[:axis], len(matrix), *x.shape[axis + 1 :])
    if axis < x.ndim - 1:
        x = x.view(-1, x.shape[axis], math.prod(shape[axis + 1 :]))
        pair = matrix.expand(len(x), -1, -1), x
    else:  # not one large GEMM over all rows: on odd sizes that took a third longer
        x = x.view(-1, *x.shape[-2:])
        pair = x, matrix.mT.expand(len(x), -1, -1)
    out = lend((len(x), pair[0].shape[1], pair[1].shape[2]), x)
    return torch.bmm(*pair, out=out).view(shape)
