"""Scores of predicted frames against true ones, all (batch, time, …) in double precision.

Of a field f the energy is ½⟨f²⟩, ⟨·⟩ being the mean over space.  Of a vorticity w on two periodic
axes that is the enstrophy, and the energy is that of the flow, ½⟨|u|²⟩ with |û_k| = |ŵ_k| / |k|.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sciops.metrics import energy_spectrum, relative_l2

from .grids import evenly_spaced

BLOWN_UP = 100.0  # times the largest value known
CONSTANT = 1e-6  # a field that varies by less of itself has no correlation with anything


def frame_scores(
    given: Tensor, truth: Tensor, prediction: Tensor, place: dict[str, Any], *, vorticity: bool
) -> dict[str, Tensor]:
    """Everything `rollout` says of a batch; frames without truth have NaN.

    given, truth, prediction: (b, H, *space), (b, known, *space), (b, steps, *space)
    place:   of `geometry`; without evenly spaced points there are no energies
    returns: relative_l2, correlation, blown_up (b, steps);
             energy, enstrophy (b, source, steps) and spectrum (b, source, steps, wavenumber)
    """
    given, truth, prediction = given.double(), truth.double(), prediction.double()
    blown_up = has_blown_up(prediction, torch.cat([given, truth], 1))
    unknown = torch.full_like(prediction[:, truth.shape[1] :], torch.nan)
    truth = torch.cat([truth, unknown], 1)
    found = {
        "relative_l2": _frame_by_frame(relative_l2, prediction, truth),
        "correlation": _frame_by_frame(correlation, prediction, truth),
        "blown_up": blown_up,
    }
    if not evenly_spaced(place):
        return found
    shells = dict(periodic=place["periodic"], lengths=place["lengths"])
    of_truth, of_prediction = (
        energies(f, **shells, vorticity=vorticity) for f in (truth, prediction)
    )
    for name, values in of_prediction.items():
        lost = blown_up.view(*blown_up.shape, *[1] * (values.ndim - 2))
        values = torch.where(lost, torch.nan, values)
        found[name] = torch.stack([of_truth[name], values], 1)
    return found


def _frame_by_frame(
    metric: Callable[[Tensor, Tensor], Tensor], prediction: Tensor, truth: Tensor
) -> Tensor:
    """A metric (n, 1, *space) -> (n,) of every frame, (b, steps); NaN if that is not finite."""
    frames = (field.flatten(0, 1).unsqueeze(1) for field in (prediction, truth))
    values = metric(*frames).unflatten(0, truth.shape[:2])
    return torch.where(torch.isfinite(values), values, torch.nan)


def correlation(prediction: Tensor, target: Tensor) -> Tensor:
    """⟨p′ y′⟩ / √(⟨p′²⟩ ⟨y′²⟩) of the deviations from the mean, (batch,); NaN if one is constant.

    >>> y = torch.tensor([[[1.0, 2.0, 3.0]]])
    >>> correlation(5 - 2 * y, y).round(decimals=5).item()
    -1.0
    >>> correlation(torch.ones_like(y), y).item()
    nan
    """
    p, y = (_unit_deviation(field.flatten(1)) for field in (prediction, target))
    return (p * y).sum(1)


def _unit_deviation(field: Tensor) -> Tensor:
    deviation = field - field.mean(1, keepdim=True)
    length, whole = (torch.linalg.vector_norm(u, dim=1, keepdim=True) for u in (deviation, field))
    return torch.where(length > CONSTANT * whole, deviation / length, torch.nan)


def has_blown_up(prediction: Tensor, known: Tensor) -> Tensor:
    """Whether a prediction was, at a time or before, not finite or far above all that is known.

    >>> has_blown_up(torch.tensor([[[1.0], [500.0], [1.0]]]), torch.ones(1, 1, 1)).tolist()
    [[False, True, True]]
    """
    limit = BLOWN_UP * known.abs().flatten(1).amax(1, keepdim=True)
    bounded = prediction.abs().flatten(2).amax(2) <= limit  # NaN is not
    return (~bounded).cumsum(1) > 0


def energies(
    field: Tensor, *, periodic: tuple[bool, ...], lengths: tuple[float, ...], vorticity: bool
) -> dict[str, Tensor]:
    """Energy and, of a vorticity, enstrophy (b, steps); spectrum (b, steps, wavenumber)."""
    shells = dict(periodic=periodic, lengths=lengths)
    whole = energy_spectrum(field, **shells) / 2
    if not vorticity:
        return {"energy": whole.sum(2), "spectrum": whole}
    flow = energy_spectrum(speed_like(field, lengths), **shells) / 2
    return {"energy": flow.sum(2), "enstrophy": whole.sum(2), "spectrum": flow}


def speed_like(vorticity: Tensor, lengths: tuple[float, ...]) -> Tensor:
    """The field with modes ŵ_k / |k|: each has the energy of that mode of the flow, |û_k|².

    >>> x = torch.arange(8, dtype=torch.float64) / 8 * 2 * math.pi
    >>> w = torch.sin(3 * x)[:, None].expand(8, 8)
    >>> torch.allclose(speed_like(w, (2 * math.pi, 2 * math.pi)), w / 3)
    True
    """
    size = vorticity.shape[-2:]
    k_x = torch.fft.fftfreq(size[0], lengths[0] / size[0], dtype=vorticity.dtype)
    k_y = torch.fft.rfftfreq(size[1], lengths[1] / size[1], dtype=vorticity.dtype)
    k = 2 * math.pi * torch.hypot(k_x[:, None], k_y)
    k[0, 0] = torch.inf  # a mean vorticity moves nothing
    return torch.fft.irfft2(torch.fft.rfft2(vorticity) / k, s=size)
