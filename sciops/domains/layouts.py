"""The layouts of published files: what each holds, on which grid, and how its users split it.

    layout               the grid                                       original split
    fno_burgers          x = j/n, periodic                              first 1000, last 100
    fno_darcy            x = j/(n−1), edge included                     first 1000 of smooth1,
                                                                        first 100 of smooth2
    fno_navier_stokes    x = j/n, periodic; t = 1, 2, …                 first 1000, last 200
    neuralop_darcy       x = j/n, edge at 0 only; a is 0 or 1           a file each
    neuralop_burgers     x = j/n, periodic; t = 0.06 j                  a file each
    pdebench_burgers     cell centres, periodic; its ν is ours times π  first 10 % test, then train
    pdebench_darcy       cell centres, u = 0 a step outside             first 10 % test, then train
    pinns_burgers        [−1, 1), periodic; one solution                none
    pinns_cylinder       50 × 100 points behind a cylinder              none

The neuralop times are not in those files: solving from the first frame reproduces the last to 1e-4
at t = 0.96, and to 1e-2 only at 0.94 or 0.98.  The first frame of the cylinder's wake is two steps
before the second, though the file says one: the others extrapolate to it at t = −0.1, not at 0.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import domain_named
from .domain import Domain, Variable
from .splits import Part


@dataclass(frozen=True)
class Content:
    """Fields (sample, …) in the order of the schema, and what goes with them."""

    fields: Mapping[str, np.ndarray]
    coords: Mapping[str, np.ndarray]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    lengths: Mapping[str, float] = field(default_factory=dict)  # of domains that grids do not fill


@dataclass(frozen=True)
class Layout:
    """How files of one kind are laid out."""

    domain: Domain  # or one derived from it, where the file holds something else
    keys: tuple[str, ...]
    content: Callable[[Mapping[str, np.ndarray], Path], Content]
    splits: Mapping[str, Part] = field(default_factory=lambda: {"train": slice(None)})
    files: Mapping[str, str] = field(default_factory=dict)  # part of a file's name → its split
    searches: Mapping[str, int] = field(default_factory=dict)  # named split → its val, of train
    ends_outside: bool = False  # the grid does not reach the ends of the domain
    source: str = "unknown"
    license: str = "unknown"


def periodic(n: int) -> np.ndarray:
    """n points of [0, 1), also those of a closed grid without its last row."""
    return np.arange(n) / n


def number_in_name(path: Path, pattern: str) -> float | None:
    """The number behind a word in the name of a file.

    >>> number_in_name(Path("ns_V1e-3_N5000_T50.mat"), "V"), number_in_name(Path("my.mat"), "V")
    (0.001, None)
    """
    found = re.search(rf"{pattern}(\d+\.?\d*(?:e[-+]?\d+)?)", path.name)
    return float(found[1]) if found else None


def _known(**parameters) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def _fno_burgers(arrays, path) -> Content:
    fields = {"a": arrays["a"], "u": arrays["u"]}
    return Content(fields, {"x": periodic(arrays["a"].shape[-1])}, {"viscosity": 0.1, "time": 1.0})


def _fno_darcy(arrays, path) -> Content:
    a = arrays["coeff"]
    coords = {dim: np.linspace(0, 1, n) for dim, n in zip("xy", a.shape[1:], strict=False)}
    return Content({"a": a, "u": arrays["sol"]}, coords, {"forcing": 1.0})


def _fno_navier_stokes(arrays, path) -> Content:
    w = np.moveaxis(arrays["u"], -1, 1)  # (sample, x, y, time) in the file
    coords = dict(zip("xy", map(periodic, w.shape[2:]), strict=False))
    coords["time"] = np.arange(1.0, w.shape[1] + 1)
    parameters = _known(viscosity=number_in_name(path, "V"), forcing=0.1)
    return Content({"vorticity": w}, coords, parameters)


def _neuralop_darcy(arrays, path) -> Content:
    coords = dict(zip("xy", map(periodic, arrays["x"].shape[1:]), strict=False))
    return Content({"a": arrays["x"], "u": arrays["y"]}, coords, lengths={"x": 1.0, "y": 1.0})


def _trajectory(frames: np.ndarray, x: np.ndarray, times: np.ndarray, viscosity) -> Content:
    """From frames (sample, time, x), the first at time 0."""
    fields = {"a": frames[:, 0], "u": frames[:, -1], "trajectory": frames[:, 1:]}
    parameters = _known(viscosity=viscosity, time=float(times[-1]), snapshots=len(times) - 1)
    return Content(fields, {"x": x, "time": times[1:]}, parameters)


def _neuralop_burgers(arrays, path) -> Content:
    frames = arrays["y"]
    times = 0.06 * np.arange(frames.shape[1])
    viscosity = float(arrays["visc"].ravel()[0])
    return _trajectory(frames, periodic(frames.shape[2]), times, round(viscosity, 6))


def _pdebench_burgers(arrays, path) -> Content:
    frames = arrays["tensor"]
    times = arrays["t-coordinate"][: frames.shape[1]]  # the file has one too many
    nu = number_in_name(path, "Nu")  # of u_t + (u²/2)_x = (ν/π) u_xx
    return _trajectory(frames, arrays["x-coordinate"], times, nu and nu / np.pi)


def _pdebench_darcy(arrays, path) -> Content:
    coords = {dim: arrays[f"{dim}-coordinate"] for dim in "xy"}
    fields = {"a": arrays["nu"], "u": arrays["tensor"][:, 0]}
    return Content(fields, coords, _known(forcing=number_in_name(path, "beta")))


def _pinns_burgers(arrays, path) -> Content:
    """Without the last point: u is odd, so it is periodic, and x = 1 is x = −1 again."""
    frames = arrays["usol"].T[None, :, :-1]
    return _trajectory(frames, arrays["x"].ravel()[:-1], arrays["t"].ravel(), 0.01 / np.pi)


def _pinns_cylinder(arrays, path) -> Content:
    points, times = arrays["X_star"], arrays["t"].ravel()
    x, y = np.unique(points[:, 0]), np.unique(points[:, 1])
    mesh = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)  # x runs fastest
    if mesh.shape != points.shape or not np.array_equal(mesh, points):
        raise ValueError(f"{path}: X_star is no regular grid with x running fastest")
    on_grid = lambda v: v.reshape(len(y), len(x), -1).transpose(2, 1, 0)[None]
    fields = {"u": on_grid(arrays["U_star"][:, 0]), "v": on_grid(arrays["U_star"][:, 1])}
    fields["p"] = on_grid(arrays["p_star"])
    return Content(fields, {"x": x, "y": y, "time": times}, {"reynolds": 100.0})


def _indicator(darcy: Domain) -> Domain:
    """Not the coefficient itself, but where it is large."""
    return replace(
        darcy,
        name="darcy_indicator",
        equation=f"{darcy.equation}, where a takes two values that are not given",
        variables={**darcy.variables, "a": Variable(("x", "y"), "where the coefficient is large")},
    )


def _centres(darcy: Domain) -> Domain:
    text = "u = 0 one step outside the grid, which is of cell centres"
    return replace(darcy, boundary_conditions=dict.fromkeys("xy", text))


FNO = {"source": "Li et al. 2021, arXiv:2010.08895"}
NEURALOP = {"source": "github.com/neuraloperator/neuraloperator", "license": "MIT"}
PDEBENCH = {"source": "PDEBench, doi:10.18419/darus-2986", "license": "CC-BY-4.0"}
PINNS = {"source": "github.com/maziarraissi/PINNs", "license": "MIT"}
BURGERS_SPLITS = {"train": slice(0, 1000), "test": slice(-100, None)}
DARCY_SPLITS = {"train": slice(0, 1000), "test": slice(0, 100)}  # of a file each
FLOW_SPLITS = {"train": slice(0, 1000), "test": slice(-200, None)}
BENCH_SPLITS = {"test": 0.1, "train": 0.9}
SMOOTH = {"smooth1": "train", "smooth2": "test"}
NAS_BENCH_360 = {
    "nas-bench-360": 100
}  # 0 … 899 of smooth1 to train a search, 900 … 999 to judge it
IN_NAME = {"train": "train", "test": "test"}
GRID = ("x-coordinate", "y-coordinate")
STEPS = ("x-coordinate", "t-coordinate")
WAKE = ("X_star", "t", "U_star", "p_star")


def layouts() -> dict[str, Layout]:
    """All layouts by name."""
    names = ("burgers", "darcy", "navier_stokes", "cylinder_wake")
    burgers, darcy, flow, wake = map(domain_named, names)
    whole, outside = {"files": IN_NAME, **NEURALOP}, {"ends_outside": True}
    bench = {"splits": BENCH_SPLITS, **PDEBENCH}
    centres = Layout(_centres(darcy), ("nu", "tensor", *GRID), _pdebench_darcy, **outside, **bench)
    indicator = Layout(_indicator(darcy), ("x", "y"), _neuralop_darcy, **outside, **whole)
    return {
        "fno_burgers": Layout(burgers, ("a", "u"), _fno_burgers, BURGERS_SPLITS, **FNO),
        "fno_darcy": Layout(
            darcy, ("coeff", "sol"), _fno_darcy, DARCY_SPLITS, SMOOTH, NAS_BENCH_360, **FNO
        ),
        "fno_navier_stokes": Layout(flow, ("u",), _fno_navier_stokes, FLOW_SPLITS, **FNO),
        "neuralop_darcy": indicator,
        "neuralop_burgers": Layout(burgers, ("x", "y", "visc"), _neuralop_burgers, **whole),
        "pdebench_burgers": Layout(burgers, ("tensor", *STEPS), _pdebench_burgers, **bench),
        "pdebench_darcy": centres,
        "pinns_burgers": Layout(burgers, ("x", "t", "usol"), _pinns_burgers, **PINNS),
        "pinns_cylinder": Layout(wake, WAKE, _pinns_cylinder, **outside, **PINNS),
    }


SUFFIXES = {"fno": ".mat", "neuralop": ".pt", "pdebench": ".hdf5 .h5", "pinns": ".mat"}

FAMILY = {"cylinder_wake": "navier_stokes", "darcy_indicator": "darcy"}  # read by that name


def layouts_of(domain_name: str) -> dict[str, Layout]:
    """The layouts of one domain, and of those that are read along with it."""
    domain_named(domain_name)
    return {
        name: layout
        for name, layout in layouts().items()
        if domain_name in (layout.domain.name, FAMILY.get(layout.domain.name))
    }


def find_layout(domain_name: str, path: Path, names: Sequence[str]) -> str | None:
    """The layout whose variables a file has, of those that are published in such files."""
    for name, layout in layouts_of(domain_name).items():
        typical = path.suffix in SUFFIXES[name.split("_")[0]].split()
        if typical and set(layout.keys) <= set(names):
            return name
    return None
