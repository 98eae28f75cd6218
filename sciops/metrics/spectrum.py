"""Where in the spectrum a field has its energy, and a prediction its error.

The wave number κ of a mode counts waves per length of the axis: a periodic axis has the modes
exp(2πi k x/P) with κ = |k|; a closed axis is continued evenly beyond its ends (DCT-I), which gives
cos(πm x/L) with κ = m/2.  So κ is a property of the mode, never of the grid.  In more dimensions
κ² is the sum over the axes; on axes of unequal `lengths` all are counted in waves per longest axis.

Parseval holds exactly, the mean being by the trapezoid rule on closed axes:

    Σ |cₖ|² = (1/|Ω|) ∫ u² dx.

The even continuation of a function with a slope at an end has a kink there, so its energy falls off
like κ⁻⁴ and not faster, however smooth it is inside.  A grid folds the tail beyond its Nyquist wave
number back below it: the energies of low modes are right to second order in the spacing, those near
Nyquist only in magnitude.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .field import (
    check_axes,
    checked,
    error_and_target,
    norm,
    ratio,
    root_of_multiplicity,
    scale_of,
)


def band_errors(
    prediction: Tensor,
    target: Tensor,
    *,
    periodic: Sequence[bool],
    lengths: Sequence[float] | None = None,
    edges: Sequence[float] = (4, 12),
    relative_to: str = "total",
) -> Tensor:
    """Relative error in bands of wave numbers, (batch, len(edges) + 1).

    Band b holds the modes with edgesᵇ⁻¹ ≤ κ < edgesᵇ, the first from 0 and the last without end:
    low [0, 4), middle [4, 12), high [12, ∞) by default.  With P_b the projection on a band it is

        ‖P_b (p − y)‖ / ‖y‖         relative_to="total":  the squares add up to that of all bands
        ‖P_b (p − y)‖ / ‖P_b y‖     relative_to="band":   1 if the band is predicted as zero

    The second is large where the target has next to nothing in a band, and in the last band, which
    ends at the Nyquist wave number, it depends on the grid: compare resolutions by the first.
    √tiny stands for a norm of 0 as in the other metrics; a band beyond the grid has no error, 0.

    >>> x = torch.arange(64, dtype=torch.float64) / 64 * 2 * math.pi
    >>> y = (torch.sin(x) + 0.1 * torch.sin(20 * x))[None, None]
    >>> p = (0.99 * torch.sin(x))[None, None]
    >>> band_errors(p, y, periodic=(True,), edges=(4,), relative_to="band").round(decimals=9)
    tensor([[0.0100, 1.0000]], dtype=torch.float64)
    """
    error, target = error_and_target(prediction, target)
    check_axes(target, periodic, lengths, least=2)
    if list(edges) != sorted(set(edges)) or not all(0 < edge < math.inf for edge in edges):
        raise ValueError(f"edges must be positive, finite and increasing, got {edges!r}")
    if relative_to not in ("band", "total"):
        raise ValueError(f"relative_to must be 'band' or 'total', got {relative_to!r}")
    kappa = radial_wave_numbers(target, periodic, lengths)
    band_of = torch.bucketize(kappa, kappa.new_tensor(list(edges)), right=True).flatten()
    parts = [modes(u, periodic).flatten(2) for u in (error, target)]
    bands = [[norm(c[..., band_of == b]) for b in range(len(edges) + 1)] for c in parts]
    errors, targets = (torch.stack(norms, 1) for norms in bands)
    return ratio(errors, targets if relative_to == "band" else norm(targets)[:, None])


def energy_spectrum(
    field: Tensor, *, periodic: Sequence[bool], lengths: Sequence[float] | None = None
) -> Tensor:
    """E (batch, channel, k): the energy Σ |c|² of the modes with k − ½ ≤ κ < k + ½.

    Every mode is in one shell, so Σₖ E is the mean square of the field.  Shells above the Nyquist
    wave number of an axis are only partly filled: they hold what is in the corners of the spectrum.

    >>> x = torch.arange(8, dtype=torch.float64) / 8 * 2 * math.pi
    >>> u = (3 + 2 * torch.cos(2 * x))[None, None]
    >>> (energy_spectrum(u, periodic=(True,)) + 0).round(decimals=9).tolist()
    [[[9.0, 0.0, 2.0, 0.0, 0.0]]]
    """
    field = checked(field)
    check_axes(field, periodic, lengths, least=2)
    shell = (radial_wave_numbers(field, periodic, lengths) + 0.5).floor().long().flatten()
    energy = _energy(modes(field, periodic)).flatten(2)
    empty = energy.new_zeros(*energy.shape[:2], int(shell.max()) + 1)
    return empty.index_add(2, shell, energy)


def energy_above(
    field: Tensor, cutoff: float | Sequence[float], *, periodic: Sequence[bool]
) -> Tensor:
    """The share of a sample's energy, mean included, in modes above the cutoff, (batch,).

    A mode is above if its wave number along any axis is above the cutoff of that axis, in waves per
    length of that axis: with `nyquist` of another grid, what that grid cannot resolve.  A field
    that is 0 has the share 0.

    >>> x = torch.arange(32, dtype=torch.float64) / 32 * 2 * math.pi
    >>> u = (torch.sin(3 * x) + 0.5 * torch.sin(10 * x))[None, None]
    >>> energy_above(u, nyquist((16,), (True,)), periodic=(True,)).round(decimals=9).tolist()
    [0.2]
    """
    field = checked(field)
    check_axes(field, periodic, least=2)
    cutoffs = cutoff if isinstance(cutoff, Sequence) else [cutoff] * (field.ndim - 2)
    if len(cutoffs) != field.ndim - 2 or not all(c >= 0 for c in cutoffs):
        raise ValueError(
            f"cutoff must be a non-negative number, or one for each of the {field.ndim - 2} axes "
            f"of space, got {cutoff!r}"
        )
    energy = _energy(modes(field / scale_of(field), periodic)).flatten(2)
    wave_numbers = axis_wave_numbers(field, periodic)
    above = [k > c for k, c in zip(wave_numbers, cutoffs, strict=True)]
    outside = torch.stack(torch.broadcast_tensors(*above)).any(0).flatten()
    return ratio(energy[..., outside].sum((1, 2)), energy.sum((1, 2)))


def nyquist(shape: Sequence[int], periodic: Sequence[bool]) -> tuple[float, ...]:
    """The highest wave number that a grid resolves along each axis, in waves per length.

    >>> nyquist((64, 65), (True, False))
    (32.0, 32.0)
    """
    return tuple((n if p else n - 1) / 2 for n, p in zip(shape, periodic, strict=True))


# --- modes ----------------------------------------------------------------------------------------


def modes(field: Tensor, periodic: Sequence[bool]) -> Tensor:
    """Coefficients c (batch, channel, *modes) with Σ |c|² = the mean square of the field.

    Modes that are equal by symmetry are kept once, times √2.
    """
    closed = [axis for axis, p in enumerate(periodic, start=2) if not p]
    whole = [axis for axis, p in enumerate(periodic, start=2) if p]
    for axis in closed:
        field = _even_modes(field, axis)
    if whole:
        n = field.shape[whole[-1]]
        root = root_of_multiplicity(n // 2 + 1, n % 2 == 0, field)
        field = torch.fft.rfftn(field, dim=whole, norm="forward") * _along(whole[-1], root, field)
    return field


def _even_modes(field: Tensor, axis: int) -> Tensor:
    """DCT-I along an axis: the Fourier modes 0 … n−1 of its even continuation of 2n−2 points."""
    n = field.shape[axis]
    mirrored = field.narrow(axis, 1, n - 2).flip(axis)
    coefficients = torch.fft.rfft(torch.cat([field, mirrored], axis), dim=axis, norm="forward").real
    return coefficients * _along(axis, root_of_multiplicity(n, True, field), field)


def _along(axis: int, values: Tensor, field: Tensor) -> Tensor:
    """Values along an axis of the field, shaped to broadcast over it."""
    return values.view(-1, *[1] * (field.ndim - 1 - axis))


def axis_wave_numbers(field: Tensor, periodic: Sequence[bool]) -> list[Tensor]:
    """κ along each axis of `modes`, in waves per its length, shaped to broadcast over (*modes)."""
    last = max((axis for axis, p in enumerate(periodic) if p), default=None)
    numbers = []
    for axis, (n, is_periodic) in enumerate(zip(field.shape[2:], periodic, strict=True)):
        if not is_periodic:
            kappa = torch.arange(n, dtype=torch.float64) / 2
        elif axis == last:
            kappa = torch.arange(n // 2 + 1, dtype=torch.float64)
        else:
            kappa = (torch.fft.fftfreq(n, dtype=torch.float64) * n).round().abs()
        numbers.append(kappa.to(field.device).view(-1, *[1] * (len(periodic) - 1 - axis)))
    return numbers


def radial_wave_numbers(
    field: Tensor, periodic: Sequence[bool], lengths: Sequence[float] | None
) -> Tensor:
    """√Σκ² (*modes), in waves per longest axis; without `lengths` all are equally long."""
    lengths = lengths or [1.0] * len(periodic)
    numbers = axis_wave_numbers(field, periodic)
    scaled = [k * (max(lengths) / length) for k, length in zip(numbers, lengths, strict=True)]
    return sum(k.square() for k in scaled).sqrt()


def _energy(coefficients: Tensor) -> Tensor:
    if coefficients.is_complex():
        return torch.view_as_real(coefficients).square().sum(-1)
    return coefficients.square()
