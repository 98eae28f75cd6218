"""Which operator stands in a backbone, by name, sized from the Task.

    conv      a convolution; its taps are grid points
    fno       our Fourier layer, in physical coordinates
    xd        XD in the band frame, in physical coordinates, any grid; starts as a Fourier layer or,
              where its taps are chosen, as a convolution
    xd-grid   XD as published, on the grid of the Task only

Physical coordinates are relative to the length of each axis: the domain of a Task is the unit
interval, cube, … whatever its units.
"""

import math
from collections.abc import Callable

from sciops.operators import XD, AbstractOperator, FourierLayer
from sciops.operators.convolution import Convolution
from sciops.suggestions import did_you_mean, meant_option
from sciops.task import Task

CLOSED_PERIOD = 1.25  # room behind an axis with ends, so that they are not neighbours
FREQUENCIES = {1: 16, 2: 12, 3: 8}  # of each sign that a Fourier layer keeps, by dimension
XD_FREQUENCIES = {1: 16, 2: 16, 3: 8}  # of XD with taps, which cost no weights
TAPS = {1: 17, 2: 13, 3: 9}  # as published: one more than the frequencies
NEAR_TAPS = 5  # of XD, beside weights on the modes


def _periods(task: Task) -> tuple[float, ...]:
    return tuple(1.0 if axis.periodic else CLOSED_PERIOD for axis in task.axes)


def _grids(task: Task) -> tuple[str, ...]:
    return tuple("periodic" if axis.periodic else "closed" for axis in task.axes)


def _modes(task: Task, frequencies: int) -> tuple[int, ...]:
    """Both signs on all axes but the last."""
    return (2 * frequencies,) * (len(task.axes) - 1) + (frequencies,)


def _conv(channels: int, task: Task, *, taps: int | None = None) -> AbstractOperator:
    taps = TAPS[len(task.axes)] if taps is None else taps
    periodic = tuple(axis.periodic for axis in task.axes)
    return Convolution(channels, channels, (taps,) * len(task.axes), periodic=periodic)


def _fno(channels: int, task: Task, *, frequencies: int | None = None) -> AbstractOperator:
    frequencies = FREQUENCIES[len(task.axes)] if frequencies is None else frequencies
    place = dict(grid=_grids(task), period=_periods(task))
    return FourierLayer(channels, channels, _modes(task, frequencies), **place)


def _xd(
    channels: int,
    task: Task,
    *,
    frequencies: int | None = None,
    taps: int | None = None,
    depth=1,
    spacing=None,
    weights: str | None = None,
    tilt: float = 0.0,
) -> AbstractOperator:
    """Starts as a Fourier layer, or as a convolution where something is said about its taps.

    Weights on the modes could become L w by themselves, but with a learned L they learn faster: at
    equal epochs the error on Darcy was 3 to 5 % lower, for a sixth more time on 43² points.
    """
    ndim = len(task.axes)
    if weights is None:
        weights = "modes" if starts_on_modes(taps, spacing) else "taps"
    usual = XD_FREQUENCIES if weights == "taps" else FREQUENCIES
    frequencies = usual[ndim] if frequencies is None else frequencies
    if taps is None:
        taps = NEAR_TAPS if weights == "both" else TAPS[ndim]
    return XD(
        channels,
        channels,
        (taps,) * ndim,
        modes=_modes(task, frequencies),
        grid=_grids(task),
        period=_periods(task),
        depth=depth,
        spacing=spacing,
        weights=weights,
        tilt=tilt,
    )


def starts_on_modes(taps=None, spacing=None, weights: str | None = None, **_) -> bool:
    """Whether XD with these options starts as a Fourier layer."""
    if weights is None:
        return taps is None and spacing is None
    return weights != "taps"


def _xd_grid(channels: int, task: Task, *, taps: int | None = None, depth=1) -> AbstractOperator:
    taps = TAPS[len(task.axes)] if taps is None else taps
    size = tuple(axis.size for axis in task.axes)
    mode = "circular" if all(axis.periodic for axis in task.axes) else "zeros"
    options = dict(frame="grid", size=size, depth=depth, padding_mode=mode)
    return XD(channels, channels, (taps,) * len(size), **options)


def taps_of(operator: AbstractOperator) -> int:
    """How many weights of a channel pair act on one Fourier mode: taps, or the mode's own."""
    kernel = getattr(operator, "kernel_size", None)
    return math.prod(kernel) if kernel == tuple(operator.weight.shape[2:]) else 1


OPERATORS: dict[str, Callable[..., AbstractOperator]] = {
    "conv": _conv,
    "fno": _fno,
    "xd": _xd,
    "xd-grid": _xd_grid,
}


def make_operator(op: str, channels: int, task: Task, **options) -> AbstractOperator:
    """An operator from `channels` to as many channels on the axes of a task.

    options: taps (conv, xd, xd-grid), frequencies of each sign (fno, xd), depth (xd, xd-grid),
             spacing and weights of xd: "modes", its start being a Fourier layer, "taps", its start
             being a convolution, or "both", its start being a Fourier layer with a few taps beside
             its modes; taps=, spacing= alone imply "taps"
    """
    if op not in OPERATORS:
        raise ValueError(
            f"there is no operator {op!r}; there are {', '.join(OPERATORS)}"
            f"{did_you_mean(op, OPERATORS)}"
        )
    try:
        return OPERATORS[op](channels, task, **options)
    except TypeError as error:
        hint = meant_option(error, OPERATORS[op])
        raise ValueError(f"op={op!r} does not take these options: {error}{hint}") from None
