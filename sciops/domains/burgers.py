"""Burgers' equation: the state at a later time from a random initial one.

    u_t + (u²/2)_x = ν u_xx,        u(·, 0) = a ~ N(0, 625 (−Δ + 25)⁻²) on [0, 1), periodic

The square root of the covariance, 25 (−Δ + 25)⁻¹, gives mode k the amplitude 25 / (4π²k² + 25); the
mean, which is conserved and only moves the frame, is left out.

The solver's grid and its number of time steps follow from the parameters alone.  The resolution
only says at how many points the result is written, so a sample is the same function at every
resolution.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.task import Field

from . import random_fields
from .burgers_solver import converge, grid_for, modes_of, norm, solve_burgers, values_of
from .domain import Domain, Variable, positive, whole_number

if TYPE_CHECKING:
    import xarray as xr

PILOTS = range(3 * 10**9, 3 * 10**9 + 8)  # samples of no split, for choosing the time step


def spectrum(squares: np.ndarray) -> np.ndarray:
    """Amplitude of a mode of |k|² = squares."""
    return 25 / (4 * np.pi**2 * squares + 25)


def initial(samples: Sequence[int], grid: int, seed: int) -> np.ndarray:
    """The random initial conditions, of all modes that the solver's grid holds."""
    return random_fields.periodic(samples, grid, spectrum, seed=seed, ndim=1)


def output_times(parameters: Mapping[str, Any]) -> tuple[float, ...]:
    """When the solution is written: the snapshots, or only the end."""
    count = parameters["snapshots"] or 1
    return tuple((parameters["time"] * np.arange(1, count + 1) / count).tolist())


@lru_cache(maxsize=64)
def _pilot_steps(viscosity: float, times: tuple[float, ...], error: float, grid: int) -> int:
    return converge(modes_of(initial(PILOTS, grid, seed=0), grid), viscosity, times, error)[1]


def complete(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Checked parameters with the solver's grid and the number of time steps."""
    p = dict(parameters)
    for name in ("viscosity", "time", "error"):
        p[name] = positive(p[name], name)
    p["snapshots"] = whole_number(p["snapshots"], "snapshots", least=0)
    if not 1e-10 <= p["error"] <= 0.1:
        raise ValueError(f"error={p['error']:g} must be between 1e-10 (rounding) and 0.1")
    if p["solver_resolution"] is None:
        p["solver_resolution"] = grid_for(p["viscosity"])
    p["solver_resolution"] = whole_number(p["solver_resolution"], "solver_resolution", least=2)
    if p["steps"] is None:
        times = output_times(p)
        p["steps"] = _pilot_steps(p["viscosity"], times, p["error"], p["solver_resolution"])
    p["steps"] = whole_number(p["steps"], "steps", least=1)
    return p


def coordinates(resolution: int, parameters: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """x, and the times of the snapshots if there are any."""
    n, p = whole_number(resolution, "resolution", least=2), {**DOMAIN.parameters, **parameters}
    times = {"time": np.array(output_times(p))} if p["snapshots"] else {}
    return {"x": np.arange(n) / n, **times}


def solve(
    samples: Sequence[int], resolution: int, seed: int, parameters: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """a and u, and the snapshots as `trajectory` if there are any."""
    p, n = DOMAIN.with_defaults(parameters), whole_number(resolution, "resolution", least=2)
    a = initial(samples, p["solver_resolution"], seed)
    frames = solve_burgers(a, p["viscosity"], output_times(p), p["steps"])
    a, frames = (values_of(modes_of(field, n), n) for field in (a, frames))
    return {"a": a, "u": frames[:, -1]} | ({"trajectory": frames} if p["snapshots"] else {})


def states(ds: "xr.Dataset") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a as (sample, x), what is known later as (sample, time, x), and when that is."""
    values = lambda name, *dims: ds[name].transpose("sample", *dims, "x").values.astype(float)
    later, times = values("u")[:, None], [positive(ds.attrs["parameters"].get("time"), "time")]
    if "trajectory" in ds:
        declared = ds.attrs["parameters"].get("snapshots", ds.sizes["time"])
        if declared != ds.sizes["time"]:
            raise ValueError(f"snapshots={declared} are declared, there are {ds.sizes['time']}")
        moved = ds["time"].values != 0  # a frame at time 0 is a itself
        later = np.concatenate([values("trajectory", "time")[:, moved], later], 1)
        times = [*ds["time"].values[moved], *times]
    return values("a"), later, np.array(times, float)


def period(x: np.ndarray) -> float:
    """Of evenly spaced points that leave out the right end."""
    gaps = np.diff(x)
    if len(x) < 3 or not np.allclose(gaps, gaps.mean(), rtol=1e-3):
        raise ValueError(f"x must be at least 3 evenly spaced points, got {x[:4]} …")
    return len(x) * float(gaps.mean())


def defects(ds: "xr.Dataset") -> np.ndarray:
    """‖u − ũ‖ / min(‖u‖, ‖u − a‖) per sample, ũ solved anew from a; the worst of all frames.

    Every frame is reached from a, not from the frame before: on a grid too coarse for the shocks
    neighbouring frames differ by less than what either of them lacks.  The norms are over the modes
    that the data's grid holds.  The mean is conserved; its drift relative to ‖a‖ counts if it is
    worse.
    """
    ds = ds.sortby("x")
    viscosity = positive(ds.attrs["parameters"].get("viscosity"), "viscosity")
    length, (a, later, times) = period(ds["x"].values.astype(float)), states(ds)
    n, (instants, frame) = a.shape[-1], np.unique(times, return_inverse=True)
    grid = grid_for(viscosity, speed=np.abs(a).max(), length=length, least=max(2 * n, 64))
    solved, _ = converge(modes_of(a, grid), viscosity, instants, 1e-5, length=length)
    start, given = modes_of(a, n)[:, None], modes_of(later, n)
    wrong = norm(given - solved[:, frame, : given.shape[-1]])
    size = norm(start) + np.finfo(float).tiny
    scale = np.minimum(norm(given), norm(given - start))
    drift = np.abs(given - start)[..., 0] / size
    return np.maximum(wrong / np.maximum(scale, 1e-4 * size), drift).max(1)


def tolerance(ds: "xr.Dataset") -> float:
    """0.001 + 0.4 ‖a above n/4‖ / √(‖a‖ ‖u − a‖) + 0.3 exp(−π²nν/UL), at most 0.3.

    What n points do not know: the modes of a above n/2, judged by those above n/4, and the tail of
    a shock of half jump U.  Largest defects of 12 samples | and of the same picked at every so many
    points of a fine grid, as others often do, which aliases their modes:

        ν        n = 16          32              64              128
        0.1      1e-5 | 0.06     9e-7 | 0.02     4e-7 | 0.003    3e-7 | 6e-4
        0.01     1e-3 | 0.10     1e-5 | 0.03     1e-7 | 0.005    6e-8 | 0.001
        0.003    9e-3 | 0.27     3e-4 | 0.09     1e-6 | 0.011    2e-8 | 0.002
    """
    ds = ds.sortby("x")
    a, later, _ = states(ds)
    n, modes = a.shape[-1], modes_of(a, a.shape[-1])
    change = norm(modes_of(later, n) - modes[:, None]).min(1)
    upper = norm(np.where(np.arange(modes.shape[-1]) < n / 4, 0, modes))
    size = norm(modes) + 1e-100  # not 0
    rough = (upper / np.sqrt(size * np.maximum(change, 1e-4 * size))).max()
    speed = np.abs(a - a.mean(-1, keepdims=True)).max()
    viscosity, length = ds.attrs["parameters"]["viscosity"], period(ds["x"].values.astype(float))
    shock = math.exp(-(np.pi**2) * n * viscosity / (length * max(speed, 1e-12)))
    return float(min(0.001 + 0.4 * rough + 0.3 * shock, 0.3))


DOMAIN = Domain(
    name="burgers",
    title="Burgers' equation: initial condition to later state",
    equation="u_t + (u²/2)_x = ν u_xx",
    boundary_conditions={"x": "periodic"},
    variables={
        "a": Variable(("x",), "velocity at time 0"),
        "u": Variable(("x",), "velocity at the final time"),
        "trajectory": Variable(("time", "x"), "velocity at the snapshots"),
    },
    inputs=(Field("a"),),
    targets=(Field("u"),),
    parameters=dict(
        viscosity=0.1, time=1.0, snapshots=0, error=1e-6, steps=None, solver_resolution=None
    ),
    coordinates=coordinates,
    solve=solve,
    defects=defects,
    tolerance=tolerance,
    declared=("viscosity", "time"),
    judged=16,
    complete=complete,
    symmetries=("roll", "odd_flip"),
)
