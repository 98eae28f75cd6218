"""Two-dimensional turbulence: vorticity on the unit torus, stirred by a fixed shear.

    w_t + u·∇w = ν Δw + f,    u = (∂_y ψ, −∂_x ψ),    −Δψ = w,    f = a (sin 2π(x+y) + cos 2π(x+y))

The initial vorticity is Gaussian with modes of standard deviation √2 τ^(α−1) (4π²|k|² + τ²)^(−α/2).
That is the field of the generator behind the well-known data sets: it takes the real part of
Σ_k s_k (ξ_k + i η_k) exp(2πi k·x) with this s_k, whose variance is Σ_k s_k², as is that of
Σ_k s_k ξ_k φ_k with orthonormal real φ_k here.  (Its later versions use complex numbers of variance
one, which halves the variance.)

Sample number, seed and parameters fix the function; `resolution` only says on how many points its
low frequencies are stored.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.task import Field

from . import random_fields
from .domain import Domain, Variable, positive, whole_number
from .vorticity import (
    Unstable,
    continuation_defects,
    highest,
    relative_norm,
    solve_vorticity,
    stable_step,
    velocity,
)

if TYPE_CHECKING:
    import xarray as xr

# Points a side that resolve the flow down to a viscosity: at time 20 the solution on 1.5 times the
# points differs in relative L² by 7e-5 at 1e-4 and by 1.1e-4 at 1e-5; at 1e-3 less than 1e-9 of the
# field lies beyond the highest frequency.
RESOLUTIONS = {1e-3: 64, 1e-4: 128, 1e-5: 256}

PILOT_SEED, PILOT_DRAWN, PILOT_SOLVED = 20, 256, 3
PILOT_RESOLUTION, PILOT_TIMES = 64, 8


def initial_vorticity(
    samples: Sequence[int], n: int, *, seed: int, alpha: float, tau: float, modes: int
) -> np.ndarray:
    """(len(samples), n, n) of the frequencies |k| ≤ modes."""

    def spectrum(squares: np.ndarray) -> np.ndarray:
        deviation = (
            math.sqrt(2) * tau ** (alpha - 1) * (4 * np.pi**2 * squares + tau**2) ** (-alpha / 2)
        )
        return np.where(squares <= modes**2, deviation, 0.0)

    return random_fields.periodic(samples, n, spectrum, seed=seed, modes=2 * modes + 1)


def shear_forcing(x: np.ndarray, y: np.ndarray, amplitude: float) -> np.ndarray:
    """a (sin 2π(x+y) + cos 2π(x+y)) on the grid x × y."""
    phase = 2 * np.pi * (x[:, None] + y)
    return amplitude * (np.sin(phase) + np.cos(phase))


def solver_resolution(viscosity: float) -> int:
    """Points a side that resolve the flow."""
    for least, points in RESOLUTIONS.items():
        if viscosity >= least:
            return points
    raise ValueError(
        f"viscosity={viscosity:g} is below {min(RESOLUTIONS):g}, for which no grid is known to "
        "resolve the flow; give solver_resolution"
    )


def _resolved(viscosity: float) -> int:
    """Points a side on which data is checked."""
    return solver_resolution(max(viscosity, min(RESOLUTIONS)))


@lru_cache(maxsize=64)
def pilot(
    n: int,
    viscosity: float,
    duration: float,
    forcing: float,
    error: float,
    alpha: float,
    tau: float,
) -> tuple[int, int]:
    """Time steps that pilot flows need on n points: for the error, and for stability alone.

    The pilots are those of PILOT_DRAWN initial fields that begin fastest.  Steps are added until
    the Courant number stays below its limit and twice as many change no frame by more than `error`
    in relative L².
    """
    solve = _pilot_solver(n, viscosity, duration, forcing, alpha, tau)
    steps, least, change = PILOT_TIMES, PILOT_TIMES, math.inf
    while steps <= 100 * least:
        try:
            coarse = solve(steps)
        except Unstable:
            least = steps = 2 * steps
            continue
        least = max(least, math.ceil(duration / stable_step(coarse, n)))
        if steps >= least:
            fine = solve(2 * steps)
            change = relative_norm(coarse - fine, fine).max()
            if change <= error:
                return steps, least
            steps *= 1.1 * (change / error) ** 0.25  # the scheme is of order four
        steps = PILOT_TIMES * math.ceil(max(steps, least) / PILOT_TIMES)
    raise ValueError(f"error={error:g} is out of reach, {change:.1e} is not; ask for a larger one")


def _pilot_solver(
    n: int, viscosity: float, duration: float, forcing: float, alpha: float, tau: float
) -> Callable[[int], np.ndarray]:
    """steps ↦ the pilot flows, PILOT_TIMES frames of them."""
    grid = np.arange(n) / n
    w0 = initial_vorticity(
        range(PILOT_DRAWN), n, seed=PILOT_SEED, alpha=alpha, tau=tau, modes=highest(n)
    )
    fastest = np.argsort(np.hypot(*velocity(w0)).max((1, 2)))[-PILOT_SOLVED:]
    times = duration / PILOT_TIMES * np.arange(1, PILOT_TIMES + 1)
    f = shear_forcing(grid, grid, forcing)
    return lambda steps: solve_vorticity(
        w0[fastest], viscosity, times, max_step=duration / steps, forcing=f
    )


def complete(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with the solver's grid and the number of time steps on it.

    The steps are those of the pilots, which are solved on at most PILOT_RESOLUTION points.  On a
    finer grid stability needs more, in proportion to its highest frequency; accuracy does not,
    since the scales it adds are damped by viscosity.
    """
    p = dict(parameters)
    for name in ("viscosity", "duration", "error", "alpha", "tau"):
        p[name] = positive(p[name], name)
    p["forcing"] = positive(p["forcing"], "forcing", or_zero=True)
    p["frames"] = whole_number(p["frames"], "frames", least=1)
    if p["solver_resolution"] is None:
        p["solver_resolution"] = solver_resolution(p["viscosity"])
    n = p["solver_resolution"] = whole_number(p["solver_resolution"], "solver_resolution", least=8)
    if p["steps"] is None:
        coarse = min(n, PILOT_RESOLUTION)
        names = ("viscosity", "duration", "forcing", "error", "alpha", "tau")
        accurate, stable = pilot(coarse, *(p[name] for name in names))
        steps = max(accurate, stable * highest(n) / highest(coarse))
        p["steps"] = p["frames"] * math.ceil(steps / p["frames"])
    p["steps"] = whole_number(p["steps"], "steps", least=1)
    return p


def coordinates(resolution: int, parameters: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Times duration/frames, …, duration and the points 0, 1/n, … of both axes."""
    frames, grid = parameters["frames"], np.arange(resolution) / resolution
    return {
        "time": parameters["duration"] / frames * np.arange(1, frames + 1),
        "x": grid,
        "y": grid.copy(),
    }


def solve(
    samples: Sequence[int], resolution: int, seed: int, parameters: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Vorticity (len(samples), frames, resolution, resolution) of complete parameters.

    Products are formed on `solver_resolution` points, or `resolution` if that is more, with more
    steps in proportion.
    """
    p, base = parameters, parameters["solver_resolution"]
    n = max(base, resolution)
    points = coordinates(n, p)
    w0 = initial_vorticity(
        samples, n, seed=seed, alpha=p["alpha"], tau=p["tau"], modes=highest(base)
    )
    settings = {
        "max_step": p["duration"] / math.ceil(p["steps"] * n / base),
        "forcing": shear_forcing(points["x"], points["y"], p["forcing"]),
        "resolution": resolution,
    }
    size = max(1, 8 * 64**2 // n**2)  # as many at a time as the cache holds
    parts = [
        solve_vorticity(w0[i : i + size], p["viscosity"], points["time"], **settings)
        for i in range(0, len(samples), size)
    ]
    return {"vorticity": np.concatenate(parts)}


def defects(ds: "xr.Dataset") -> np.ndarray:
    """How far the solution from one frame misses the next, see `continuation_defects`."""
    w = ds["vorticity"].transpose("sample", "time", "x", "y").values.astype(float)
    times, x, y = (ds[name].values.astype(float) for name in ("time", "x", "y"))
    if len(times) < 2 or len(x) != len(y) or not (np.diff(times) > 0).all():
        raise ValueError(
            "the check needs two or more frames at increasing times and as many points in x as in "
            f"y; there are times {times.tolist()} and {len(x)} × {len(y)} points"
        )
    viscosity = positive(ds.attrs["parameters"].get("viscosity"), "viscosity")
    forcing = positive(ds.attrs["parameters"].get("forcing"), "forcing", or_zero=True)
    return continuation_defects(
        w,
        times,
        viscosity=viscosity,
        forcing=shear_forcing(x, y, forcing),
        lengths=tuple((axis[-1] - axis[0]) * len(axis) / (len(axis) - 1) for axis in (x, y)),
        solver_resolution=max(len(x), _resolved(viscosity)),
    )


def tolerance(ds: "xr.Dataset") -> float:
    """What frequencies missing from a grid coarser than the solver's do to the defect.

    With r the ratio of the grids, samples of this domain measure up to 0.0004 at r = 2, 0.0026 at 4
    and 0.014 at 8.  Fields of other solvers are often every r-th point of theirs: frequencies
    beyond the grid then appear as lower ones, which measures 0.0014, 0.028 and 0.079.
    """
    parameters = ds.attrs["parameters"]
    ratio = max(1.0, _resolved(float(parameters["viscosity"])) / ds.sizes["x"])
    limited = parameters.get("solver_resolution") is not None  # restricted to low frequencies here
    return 0.002 + (0.0005 if limited else 0.0025) * ratio**2


DOMAIN = Domain(
    name="navier_stokes",
    title="Two-dimensional incompressible flow, stirred, on the unit torus",
    equation="w_t + u·∇w = ν Δw + a (sin 2π(x+y) + cos 2π(x+y)), u = (∂_y ψ, −∂_x ψ), −Δψ = w",
    boundary_conditions={"x": "periodic", "y": "periodic"},
    variables={"vorticity": Variable(("time", "x", "y"), "vorticity")},
    inputs=(Field("vorticity", (0, 10)),),
    targets=(Field("vorticity", (10, 20)),),
    parameters={
        "viscosity": 1e-3,
        "duration": 20.0,
        "frames": 20,
        "forcing": 0.1,
        "error": 1e-3,  # of the time steps, in any frame, relative L²
        "steps": None,  # over the whole duration
        "solver_resolution": None,
        "alpha": 2.5,
        "tau": 7.0,
    },
    coordinates=coordinates,
    solve=solve,
    defects=defects,
    tolerance=tolerance,
    declared=("viscosity", "forcing"),
    complete=complete,
    symmetries=("slide", "half_turn", "odd_swap"),
)
