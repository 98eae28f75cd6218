"""Speed of `solve_darcy` against a sparse direct solver, side by side in one process.

    python -m benchmarks.darcy [--quick] [--csv out/darcy.csv]

Ours runs from the coefficient to the solution.  scipy.sparse.linalg.spsolve gets a matrix in CSC
that is assembled already, with the fastest of its orderings for such matrices.  The coefficient is
piecewise, 12 and 3; medians of interleaved repeats, in milliseconds for each sample.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse
from scipy.sparse.linalg import spsolve

from benchmarks.measure import side_by_side
from benchmarks.operators import show
from sciops.domains.darcy import DOMAIN
from sciops.domains.diffusion import face_values, solve_darcy

RESOLUTIONS = [(43, None), (64, None), (85, 2.0), (128, None), (141, None), (421, 4.0)]  # and goals
BATCH = 8


def matrix(a: np.ndarray) -> scipy.sparse.csc_array:
    """A of one sample (n, n) on the unit square, by its five diagonals."""
    n = len(a)
    across_x, across_y = ((n - 1) ** 2 * k for k in face_values(a, "harmonic"))
    middle = across_x[1:] + across_x[:-1] + across_y[:, 1:] + across_y[:, :-1]
    beside = -across_y[:, 1:]
    beside[:, -1] = 0  # the next unknown is on the next row
    beside, below = beside.ravel()[:-1], -across_x[1:-1].ravel()
    diagonals = [middle.ravel(), beside, beside, below, below]
    return scipy.sparse.csc_array(
        scipy.sparse.diags_array(diagonals, offsets=[0, 1, -1, n - 2, 2 - n])
    )


def compare(n: int, goal: float | None, repeats: int) -> dict:
    """One row: the same samples by both."""
    a = DOMAIN.solve(range(BATCH), n, 0, DOMAIN.with_defaults({}))["a"]
    assembled, ones = matrix(a[0]), np.ones((n - 2) ** 2)
    direct = lambda: spsolve(assembled, ones, permc_spec="MMD_AT_PLUS_A")
    runs = [direct, lambda: solve_darcy(a[:1], 1.0), lambda: solve_darcy(a, 1.0)]
    times = 1e3 * np.array(side_by_side(runs, repeats)) / [1, 1, BATCH]
    (u, iterations), expected = solve_darcy(a, 1.0), direct()
    return {
        "resolution": f"{n}²",
        "iterations": int(iterations.max()),
        "ours ms, batch 1": times[1],
        f"ours ms, batch {BATCH}": times[2],
        "spsolve ms": times[0],
        "times faster": times[0] / times[1],
        "goal": "–" if goal is None else goal,
        "relative difference": float(
            np.linalg.norm(u[0, 1:-1, 1:-1].ravel() - expected) / np.linalg.norm(expected)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few repeats")
    parser.add_argument("--csv", type=Path, help="where to write the table")
    options = parser.parse_args()
    repeats = 3 if options.quick else 9
    table = pd.DataFrame([compare(n, goal, repeats) for n, goal in RESOLUTIONS])
    show("Darcy flow: conjugate gradients with a sine transform against a direct solver", table)
    if options.csv:
        options.csv.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(options.csv, index=False)


if __name__ == "__main__":
    main()
