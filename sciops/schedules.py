"""How learning rates change in the course of training."""

import math
from collections.abc import Sequence

from .config import Optimisation


def rate_factor(how: Optimisation, epoch: float, epochs: int, cuts: int = 0) -> float:
    """By which the rate of an optimiser is multiplied after so many epochs and parts of one.

    cuts: with schedule="plateau", how often the rate was divided by 10

    >>> how = Optimisation(1e-3, schedule="step", step_epochs=2, warmup=1)
    >>> [rate_factor(how, epoch, 5) for epoch in (0, 0.5, 1, 2, 3.5, 4)]
    [0.0, 0.0, 1.0, 0.5, 0.5, 0.25]
    >>> [rate_factor(Optimisation(1e-3, ramp=0.2), epoch, 5) for epoch in (0, 0.5, 1, 3, 5)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if how.schedule == "plateau":
        return 0.0 if epoch < how.warmup else 0.1**cuts
    if epoch < how.warmup:
        return 0.0
    rise = how.ramp * epochs
    if epoch < rise:
        return epoch / rise
    if how.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * (epoch - rise) / (epochs - rise)))
    return 0.5 ** (epoch // how.step_epochs) if how.schedule == "step" else 1.0


def plateau_cuts(errors: Sequence[float], least: int, begin: int = 0) -> int:
    """How often an epoch's validation error was above that of the three before it.

    least: epochs without a cut, at the beginning and after `begin`
    begin: epochs before the architecture learns; what came before is not compared with what follows

    >>> errors = [5, 4, 3, 3, 3.5, 3, 3, 3, 3.1, 3.2]
    >>> plateau_cuts(errors, 3), plateau_cuts(errors, 9), plateau_cuts(errors, 3, begin=7)
    (2, 1, 0)
    """
    cuts = 0
    for epoch in range(1, len(errors) + 1):
        start = begin if epoch > begin else 0
        before = errors[max(start, epoch - 4) : epoch - 1]
        cuts += epoch - start > least and bool(before) and errors[epoch - 1] > max(before)
    return cuts
