"""The smallest runs: a fraction of a second to train, on data that take no longer to make."""

from pathlib import Path

import numpy as np
import xarray as xr

import sciops
from sciops.runs.run import Run
from tests.grid_toy import closed_line, line

SMALL = dict(width=4, hidden=8, blocks=1)
NETWORKS = {
    "xd": dict(frequencies=2, taps=3, **SMALL),
    "fno": dict(frequencies=2, **SMALL),
    "conv": dict(taps=3, **SMALL),
    "xd-grid": dict(taps=3, **SMALL),
}
COUNTS = dict(n_train=6, n_val=2, n_test=3)
BRIEFLY = dict(epochs=2, batch_size=4, progress=False)
DARCY = dict(resolution=9, refine=1, **COUNTS, **BRIEFLY)
FLOW = dict(
    resolution=8,
    viscosity=0.01,
    duration=1.0,
    frames=4,
    solver_resolution=32,
    steps=40,
    **COUNTS,
    **BRIEFLY,
)
NUMBERS = {"train": 40, "val": 100, "test": 140}  # of the first sample of someone's splits
UNEVEN = 5.0 + 3.0 * np.linspace(0, 1, 9) ** 2  # points of an axis with ends


def darcy(out: Path, op: str = "xd", **changes) -> Run:
    """XD on 6 samples of Darcy flow on 9 × 9 points."""
    return sciops.train_pde("darcy", op, out=out, **{**DARCY, **NETWORKS.get(op, {}), **changes})


def flow(out: Path, **changes) -> Run:
    """XD on 6 sequences of 2 + 2 frames of a flow on 8 × 8 points."""
    settings = {**FLOW, **NETWORKS["xd"], **changes}
    return sciops.train_pde("navier_stokes", "xd", out=out, **settings)


def burgers(out: Path, **changes) -> Run:
    """XD on 6 samples of Burgers' equation on 16 points."""
    settings = {
        "resolution": 16,
        "viscosity": 0.1,
        **COUNTS,
        **BRIEFLY,
        **NETWORKS["xd"],
        **changes,
    }
    return sciops.train_pde("burgers", "xd", out=out, **settings)


def lines(**sizes: int) -> dict[str, xr.Dataset]:
    """Someone's data: functions on a period and their squares; 7 and 3 samples by default."""
    sizes = sizes or {"train": 7, "test": 3}
    return {split: line(16, n, first=NUMBERS[split]) for split, n in sizes.items()}


def uneven_lines() -> dict[str, xr.Dataset]:
    """Someone's data on unevenly spaced points between two ends."""
    return {
        split: closed_line(9, n, points=UNEVEN, first=NUMBERS[split])
        for split, n in (("train", 6), ("test", 3))
    }


def on_lines(out: Path, data=None, op: str = "xd", **changes) -> Run:
    """XD on someone's data."""
    given, settings = lines() if data is None else data, {**BRIEFLY, **NETWORKS[op], **changes}
    return sciops.train_pde("burgers", op, data=given, out=out, **settings)


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
