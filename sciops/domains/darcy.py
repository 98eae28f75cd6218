"""Steady flow through a porous medium on the unit square, with zero pressure at the edge.

    −∇·(a∇u) = f   on [0, 1]²,        u = 0 on the edge        (solved in `diffusion`)

The coefficient is made of a Gaussian field g, a sum of MODES Neumann cosines per axis without their
mean, of amplitude τ^(α−1) (π²|k|² + τ²)^(−α/2): it is `high` where g ≥ 0 and `low` elsewhere (Li et
al. 2021, arXiv:2010.08895: 12 and 3), or it is exp(scale·g).  With α = 2 and τ = 3 the standard
deviation of ln a is 0.29·scale; scales of 1 and 3 make contrasts of about 4 and 70 within a sample.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.suggestions import did_you_mean
from sciops.task import Field

from .diffusion import FACES, face_values, inverse_laplacian, poisson_solution, solve_darcy
from .domain import Domain, Variable, positive, whole_number
from .random_fields import neumann

if TYPE_CHECKING:
    import xarray as xr

MODES = 128  # of the field on each axis, whatever the grid: the coefficient is one function of x
LEAST_POINTS = MODES + 1  # of each axis of the grid on which u is solved


def _times(points: int) -> int:
    """How much finer the coarsest nested grid is that has LEAST_POINTS."""
    if points < 3:
        raise ValueError(f"resolution={points} must be at least 3: a node inside the edge")
    return max(1, math.ceil((LEAST_POINTS - 1) / (points - 1)))


def coefficient(samples: Sequence[int], points: int, seed: int, p: Mapping[str, Any]):
    alpha, tau, times = p["alpha"], p["tau"], _times(points)

    def spectrum(squares):
        return tau ** (alpha - 1) * (np.pi**2 * squares + tau**2) ** (-alpha / 2)

    fine = neumann(samples, times * (points - 1) + 1, spectrum, seed=seed, modes=MODES)
    field = fine[:, ::times, ::times]
    if p["coefficient"] == "lognormal":
        return np.exp(p["scale"] * field)
    return np.where(field >= 0, p["high"], p["low"])


def _solve(samples: Sequence[int], resolution: int, seed: int, p: Mapping[str, Any]):
    """a and u on a nested fine grid, so that labels are as good on coarse grids as on others."""
    times = p["refine"] or _times(resolution)
    a = coefficient(samples, times * (resolution - 1) + 1, seed, p)
    u, _ = solve_darcy(a, p["forcing"], faces=p["faces"], residual=p["residual"])
    return {"a": a[:, ::times, ::times].copy(), "u": u[:, ::times, ::times].copy()}


def _complete(parameters: Mapping[str, Any]) -> dict[str, Any]:
    p = dict(parameters)
    for name, known in (("coefficient", ("piecewise", "lognormal")), ("faces", tuple(FACES))):
        if p[name] not in known:
            raise ValueError(
                f"{name}={p[name]!r} must be one of {', '.join(map(repr, known))}"
                f"{did_you_mean(p[name], known)}"
            )
    for name in ("high", "low", "alpha", "tau", "scale", "residual"):
        p[name] = positive(p[name], name)
    if p["forcing"] == 0:
        raise ValueError("forcing=0 has the solution 0 for every coefficient; give another number")
    sign = -1 if isinstance(p["forcing"], int | float | np.number) and p["forcing"] < 0 else 1
    p["forcing"] = sign * positive(sign * p["forcing"], "forcing")
    if p["refine"] is not None:
        p["refine"] = whole_number(p["refine"], "refine", least=1)
    return p


def _blocks(ds: "xr.Dataset") -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Of 16 samples at a time: where they start, which of them make sense, and their a and u."""
    for start in range(0, ds.sizes["sample"], 16):
        part = ds[["a", "u"]].isel(sample=slice(start, start + 16)).transpose("sample", "x", "y")
        a, u = (part[name].values.astype(float) for name in ("a", "u"))
        fit = np.flatnonzero((np.isfinite(a) & (a > 0) & np.isfinite(u)).all((1, 2)))
        yield start, fit, a[fit], u[fit]


def _spacing(ds: "xr.Dataset", dim: str) -> float:
    steps = np.diff(ds[dim].values.astype(float))
    if len(steps) < 2 or not np.allclose(steps, steps[0], rtol=1e-3, atol=0) or steps[0] == 0:
        raise ValueError(f"the coordinate {dim} must have three or more evenly spaced points")
    return abs(steps.mean())


def _defects(ds: "xr.Dataset") -> np.ndarray:
    """‖L⁻¹(Au − f)‖/‖L⁻¹f‖, or the largest |u| at the edge over the largest of all, if larger.

    Au − f itself says little: where a jumps between the nodes of a subsampled grid it is as large
    as 1/h, and its median is blind to a flipped piecewise a, which is right at half of the nodes.
    L⁻¹ weighs the modes by 1/|k|², as if smooth functions tested the equation; what is left is
    about the relative error of u.  A sample with a ≤ 0 or with NaN has the defect infinity.
    """
    p = ds.attrs.get("parameters", {})
    forcing = p.get("forcing")
    if not isinstance(forcing, int | float | np.number) or not forcing or not np.isfinite(forcing):
        raise ValueError(
            "attrs['parameters'] must have 'forcing', the f of −∇·(a∇u) = f, a number and not 0; "
            f"it is {forcing!r}"
        )
    hx, hy = _spacing(ds, "x"), _spacing(ds, "y")
    inverse = hx**2 * inverse_laplacian(ds.sizes["x"] - 2, ds.sizes["y"] - 2, (hx / hy) ** 2)
    poisson = poisson_solution(np.full(inverse.shape, float(forcing)), inverse)
    result = np.full(ds.sizes["sample"], np.inf)
    for start, fit, a, u in _blocks(ds):
        across_x, across_y = face_values(a, p.get("faces", "harmonic"))
        minus_au = np.diff(across_x * np.diff(u[..., 1:-1], axis=1), axis=1) / hx**2
        minus_au += np.diff(across_y * np.diff(u[:, 1:-1], axis=2), axis=2) / hy**2
        off = np.linalg.norm(poisson_solution(minus_au, inverse) + poisson, axis=(1, 2))
        top = abs(u).max((1, 2))
        edge = np.maximum(abs(u[:, [0, -1]]).max((1, 2)), abs(u[..., [0, -1]]).max((1, 2)))
        relative_edge = edge / np.where(top > 0, top, 1)
        result[start + fit] = np.maximum(off / np.linalg.norm(poisson), relative_edge)
    return result


def _tolerance(ds: "xr.Dataset") -> float:
    """1.5ρ + 3h² + 2·residual, where ρ is the mean of (ln a₁ − ln a₀)²/4 over all faces.

    What a is between two nodes nobody knows: (ln a₁ − ln a₀)²/4 is about the relative difference of
    their arithmetic and harmonic means.  ρ is that of the roughest sample; the residual is 0 where
    it is not declared.
    """
    rough = 0.0
    for _, _, a, _ in _blocks(ds):
        jumps = [(np.diff(np.log(a), axis=axis) ** 2).mean((1, 2)) / 4 for axis in (1, 2)]
        rough = max(rough, np.mean(jumps, axis=0).max(initial=0))
    h = 1 / (min(ds.sizes["x"], ds.sizes["y"]) - 1)
    return float(1.5 * rough + 3 * h**2 + 2 * ds.attrs.get("parameters", {}).get("residual", 0))


def _coordinates(resolution: int, parameters: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {dim: np.linspace(0, 1, resolution) for dim in ("x", "y")}


DOMAIN = Domain(
    name="darcy",
    title="Darcy flow: pressure from permeability",
    equation="−∇·(a∇u) = f on [0, 1]², f constant",
    boundary_conditions={"x": "dirichlet 0", "y": "dirichlet 0"},
    variables={
        "a": Variable(("x", "y"), "permeability"),
        "u": Variable(("x", "y"), "pressure"),
    },
    inputs=(Field("a"),),
    targets=(Field("u"),),
    parameters={
        "coefficient": "piecewise",  # high and low, or "lognormal": exp(scale·g)
        "high": 12.0,
        "low": 3.0,
        "scale": 1.0,
        "alpha": 2.0,
        "tau": 3.0,
        "forcing": 1.0,
        "faces": "harmonic",  # or "arithmetic"
        "residual": 1e-8,
        "refine": None,  # the solver's grid is so much finer; None: until it has LEAST_POINTS
    },
    coordinates=_coordinates,
    solve=_solve,
    defects=_defects,
    tolerance=_tolerance,
    declared=("forcing",),
    judged=1000,
    complete=_complete,
    symmetries=("flip", "swap"),
)
