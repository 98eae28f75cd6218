"""The classical solvers from coarse to fine: how cheap can a solution be that is good enough?

A rung is a solver with one setting and the interface of a network: it takes the inputs of the task
on the data's grid, (batch, in_channels, *space), and gives the targets on the same grid.  So it
knows no more than a network does: what the coefficient or the initial state is between the points
of the data, it has to guess as well.

`LADDERS` has a function for each domain that is generated: data ↦ its rungs, cheapest first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.data.samples import task_of
from sciops.task import Task

from . import domain_named
from .burgers_solver import solve_burgers
from .diffusion import solve_darcy
from .navier_stokes import shear_forcing
from .vorticity import solve_vorticity

if TYPE_CHECKING:
    import xarray as xr

CALLS = 1000  # what it costs to call numpy once for each step, in points
DARCY_GRIDS = (1 / 4, 1 / 3, 1 / 2, 2 / 3, 1)  # intervals, in those of the data
DARCY_RESIDUALS = (0.9, 0.3, 0.1, 1e-2, 1e-4)
BURGERS_LEAST_POINTS = 16
FLOW_GRIDS = (1 / 4, 3 / 8, 1 / 2, 3 / 4, 1)  # in the points of the generator's grid


@dataclass(frozen=True)
class Rung:
    """A solver with one setting; `work` is an estimate of its time, to compare rungs with."""

    setting: Mapping[str, float]
    work: float
    solve: Callable[[np.ndarray], np.ndarray]  # (batch, in_channels, *space) -> targets

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:g}" for name, value in self.setting.items())


def ladder(ds: "xr.Dataset") -> list[Rung]:
    """The rungs for a data set of a known domain, the least work first."""
    name = ds.attrs.get("name")
    if name not in LADDERS:
        raise ValueError(
            f"there is no classical solver for {name!r} data; there are for {', '.join(LADDERS)}"
        )
    domain, task = domain_named(name), task_of(ds)
    declared = ds.attrs.get("parameters", {})
    missing = [p for p in domain.declared if p not in declared]
    if missing:
        raise ValueError(
            f"the equation cannot be solved: attrs['parameters'] do not say {', '.join(missing)}"
        )
    for role in ("inputs", "targets"):
        have = [field.variable for field in getattr(task, role)]
        want = [field.variable for field in getattr(domain, role)]
        if have != want:
            raise ValueError(f"the classical solver needs the {role} {want}, the data have {have}")
    known = {p: value for p, value in declared.items() if p in domain.parameters}
    rungs = LADDERS[name](ds, task, domain.with_defaults(known))
    return sorted(rungs, key=lambda rung: rung.work)


# --- Darcy ----------------------------------------------------------------------------------------


def hat_weights(n: int, m: int) -> np.ndarray:
    """(m, n) weights of means around m ≤ n points of [0, 1], ends included, in the form of hats.

    >>> hat_weights(5, 3)[1].tolist()
    [0.0, 0.25, 0.5, 0.25, 0.0]
    """
    distance = np.abs(np.linspace(0, 1, m)[:, None] - np.linspace(0, 1, n))
    weights = np.maximum(0, 1 - distance * (m - 1))
    return weights / weights.sum(1, keepdims=True)


def spline_weights(m: int, n: int) -> np.ndarray:
    """(n, m) cubic spline interpolation from m to n points of [0, 1], ends included."""
    from scipy.interpolate import make_interp_spline

    return make_interp_spline(np.linspace(0, 1, m), np.eye(m), k=3)(np.linspace(0, 1, n))


def _darcy(ds: "xr.Dataset", task: Task, p: Mapping[str, Any]) -> list[Rung]:
    """Residuals, and grids up to that of the data.

    On a coarser grid the coefficient is the geometric mean around each node, which measured best:
    with every second node of 85² the error is 0.005, and 0.015 with arithmetic or harmonic means.
    Finer grids than the data's do not help, as nobody knows the coefficient between its nodes: of
    43², both 43² and 85² have the error 0.008.
    """
    sizes = [axis.size for axis in task.axes]
    rungs = []
    for share in DARCY_GRIDS:
        grid = [1 + round(share * (n - 1)) for n in sizes]
        if min(grid) < 5:
            continue
        ways = list(zip(sizes, grid, strict=True))
        maps = [hat_weights(n, m) for n, m in ways], [spline_weights(m, n) for n, m in ways]
        spacing = tuple(axis.length / (m - 1) for axis, m in zip(task.axes, grid, strict=True))
        for residual in DARCY_RESIDUALS:
            options = dict(faces=p["faces"], residual=residual, spacing=spacing)
            solve = partial(_darcy_through, *maps, p["forcing"], options)
            work = np.log(100 / residual) * (grid[0] * grid[1] + CALLS)
            rungs.append(Rung({"points": grid[0], "residual": residual}, work, solve))
    return rungs


def _darcy_through(down: Sequence, up: Sequence, forcing: float, options: dict, x: np.ndarray):
    """Down to the grid of the solver and up again."""
    coarse = np.exp(down[0] @ np.log(x[:, 0]) @ down[1].T)
    u, _ = solve_darcy(coarse, forcing, **options)
    return (up[0] @ u @ up[1].T)[:, None]


# --- flows ----------------------------------------------------------------------------------------


def doubling(first: int, last: int) -> list[int]:
    """first, 2·first, 4·first, … and last.

    >>> doubling(2, 20)
    [2, 4, 8, 16, 20]
    """
    powers = range((max(last, first) // first).bit_length())
    return sorted({*(first * 2**k for k in powers), max(first, last)})


def step_counts(first: int, last: int) -> list[int]:
    """Numbers of time steps: those of `doubling`, and 3, 6, 12, … in between.

    >>> step_counts(1, 15)
    [1, 2, 3, 4, 6, 8, 12, 15]
    """
    return sorted({*doubling(first, last), *doubling(3, last)})


def _burgers(ds: "xr.Dataset", task: Task, p: Mapping[str, Any]) -> list[Rung]:
    """Numbers of points and of time steps, up to those of the generator."""
    length = task.axes[0].length

    def solve(points: int, steps: int, x: np.ndarray) -> np.ndarray:
        options = dict(length=length, grid=points)
        return solve_burgers(x[:, 0], p["viscosity"], [p["time"]], steps, **options)

    grids = doubling(BURGERS_LEAST_POINTS, p["solver_resolution"])
    return [
        Rung({"points": m, "steps": s}, s * (m + CALLS), partial(solve, m, s))
        for m, s in product(grids, step_counts(2, p["steps"]))
    ]


def _navier_stokes(ds: "xr.Dataset", task: Task, p: Mapping[str, Any]) -> list[Rung]:
    """From the last frame that is given on; steps per frame and points up to the generator's."""
    start, stop = task.targets[0].frames
    times = ds["time"].values.astype(float)
    times = times[start:stop] - times[task.inputs[0].frames[1] - 1]
    interval = np.diff(times, prepend=0.0).max()
    forcing = shear_forcing(*(np.array(axis.points) for axis in task.axes), p["forcing"])
    place = dict(forcing=forcing, lengths=tuple(axis.length for axis in task.axes))

    def solve(m: int, steps: int, x: np.ndarray) -> np.ndarray:
        options = dict(max_step=interval / steps, solver_resolution=m, **place)
        return solve_vorticity(x[:, -1], p["viscosity"], times, **options)

    grids = [round(p["solver_resolution"] * share) for share in FLOW_GRIDS]
    steps = step_counts(1, max(1, round(p["steps"] * interval / p["duration"])))
    return [
        Rung({"points": m, "steps a frame": s}, s * (m**2 + CALLS), partial(solve, m, s))
        for m, s in product(grids, steps)
    ]


LADDERS: dict[str, Callable[..., list[Rung]]] = {
    "burgers": _burgers,
    "darcy": _darcy,
    "navier_stokes": _navier_stokes,
}

SOLVERS = {  # their names, for tables
    "burgers": "Fourier modes with ETDRK4",
    "darcy": "finite volumes with conjugate gradients",
    "navier_stokes": "Fourier modes with ETDRK4",
}
