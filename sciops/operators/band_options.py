"""Options of the band frame: what they may be, their defaults, and the frame that they give."""

import math

from torch import Tensor, nn

from . import transforms
from .band import Band, default_spacing
from .operator import as_tuple

DEFAULT_FREQUENCIES = 16  # of each sign; 32 × 16 modes in two dimensions
CLOSED_PERIOD = 1.25  # a quarter of room behind [0, 1], so that its two ends are not neighbours
NEAR = 0.25  # of the default spacing: taps beside weights on the modes, which reach far themselves


def band_frame(
    kernel,
    modes,
    grid,
    period,
    spacing,
    padding,
    padding_mode,
    stride,
    dilation,
    depth,
    tilt,
    weights,
) -> Band:
    """The frame that XD's options describe."""
    ndim = len(kernel)
    if padding != "same":
        raise ValueError(f"the band frame keeps the grid: padding must be 'same', got {padding!r}")
    modes = band_modes(modes, ndim)
    grid = band_grid(grid, ndim)
    if padding_mode == "zeros" and "periodic" in grid:
        raise ValueError(
            "a periodic band continues the function periodically; for padding_mode='zeros' use "
            "grid='closed' with period > 1"
        )
    period = band_period(period, grid)
    if weights == "modes":
        place = dict(period=period, grid=grid, stride=stride)
        return Band(modes, None, **place, depth=depth, tilt=_tilt(tilt))
    learn = isinstance(spacing, nn.Parameter) or (isinstance(spacing, str) and spacing == "learned")
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    if spacing is None or (isinstance(spacing, str) and learn):
        near = weights == "both"
        distances = default_spacing(modes, (1,) * ndim if near else reach, period)
        distances = tuple(NEAR * h for h in distances) if near else distances
    else:
        spacing = spacing.detach().tolist() if isinstance(spacing, Tensor) else spacing
        distances = as_tuple(spacing, ndim, "spacing")
        if any(not isinstance(h, int | float) for h in distances):
            raise ValueError(f"spacing={spacing!r} must be numbers, 'learned' or an nn.Parameter")
    _check_reach(kernel, dilation, distances, period)
    return Band(
        modes,
        kernel,
        period=period,
        grid=grid,
        spacing=distances,
        learn_spacing=learn,
        stride=stride,
        dilation=dilation,
        depth=depth,
        tilt=_tilt(tilt),
        on_modes=weights == "both",
    )


def _tilt(tilt) -> float:
    if not isinstance(tilt, int | float) or not 0 <= tilt < math.inf:
        raise ValueError(f"tilt={tilt!r} must be a number ≥ 0")
    return float(tilt)


def _check_reach(kernel, dilation, distances, period) -> None:
    per_axis = zip(kernel, dilation, distances, period, strict=True)
    for axis, (k, d, h, p) in enumerate(per_axis):
        span = d * (k - 1)
        if not h > 0 or span * h > p * (1 + 1e-9):
            raise ValueError(
                f"axis {axis}: {k} taps of dilation {d} at spacing {h:g} make a kernel larger than "
                f"the grid's period {p:g}; use a positive spacing ≤ {p / max(span, 1):g}, fewer "
                "taps or less dilation"
            )


def band_modes(modes, ndim: int) -> tuple[int, ...]:
    """Numbers of modes per axis.

    >>> band_modes(16, 3), band_modes((32, 16), 2)
    ((32, 32, 16), (32, 16))
    """
    modes = DEFAULT_FREQUENCIES if modes is None else modes
    wanted = as_tuple(modes, ndim, "modes")
    if any(not isinstance(m, int) or m < 2 or m % 2 for m in wanted):
        raise ValueError(
            f"modes={modes} must be even numbers ≥ 2 (frequencies come in pairs ±f); "
            "for an odd number take the next even one"
        )
    return wanted if isinstance(modes, tuple | list) else (2 * modes,) * (ndim - 1) + (modes,)


def band_grid(grid, ndim: int) -> tuple[str, ...]:
    grid = as_tuple(grid, ndim, "grid")
    if any(g not in transforms.GRIDS for g in grid):
        raise ValueError(f"grid={grid} is not known; choose 'periodic' or 'closed' for each axis")
    return grid


def band_period(period, grid: tuple[str, ...]) -> tuple[float, ...]:
    default = tuple(CLOSED_PERIOD if g == "closed" else 1.0 for g in grid)
    period = default if period is None else as_tuple(period, len(grid), "period")
    if any(not isinstance(p, int | float) or not 0 < p < math.inf for p in period):
        raise ValueError(f"period={period} must be positive and finite")
    return tuple(float(p) for p in period)


def check_coords(coords, ndim: int) -> None:
    """Raise unless coords are None or a tuple of one thing per axis."""
    if coords is not None and (not isinstance(coords, tuple | list) or len(coords) != ndim):
        raise ValueError(
            f"coords must be a tuple of {ndim} tensors, one per axis, got {type(coords).__name__}"
        )
