"""Metrics and losses: functions (prediction, target, …) -> (batch,), one number per sample.

Fields are tensors (batch, channel, *space) in physical units.  What a metric must know of the axes
are its keyword-only arguments, named the same everywhere:

    periodic   for each axis, whether it is a whole period (the end point left out) or closed (both
               end points are in the grid)
    lengths    for each axis, its period or the distance of its end points

All scores are 0 for a perfect prediction and differentiable, so each may serve as a loss.  NaN in a
prediction gives NaN.  A relative score of a target that is exactly 0 is huge, not NaN: see
`sciops.metrics.field`.
"""

from .field import boundary_error, max_absolute_error, max_error, relative_h1, relative_l2
from .spectrum import band_errors, energy_above, energy_spectrum, nyquist

METRICS = {
    "relative_l2": relative_l2,
    "relative_h1": relative_h1,
    "max_error": max_error,
    "max_absolute_error": max_absolute_error,
    "boundary_error": boundary_error,
}

__all__ = [
    "METRICS",
    "band_errors",
    "boundary_error",
    "energy_above",
    "energy_spectrum",
    "max_absolute_error",
    "max_error",
    "nyquist",
    "relative_h1",
    "relative_l2",
]
