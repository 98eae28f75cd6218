"""What a sample of Burgers and of Navier–Stokes costs, and how accurate it is.

    python -m benchmarks.flows [--quick]

The number of time steps is chosen for a stated error.  The error measured here is the difference
from a solution with four times the steps, the worst of the samples, relative in L², at the end.
"""

import argparse
import time

import numpy as np
import pandas as pd

from benchmarks.operators import show
from sciops.domains import domain_named

CASES = [("burgers", 0.1), ("burgers", 0.01), ("navier_stokes", 1e-3), ("navier_stokes", 1e-4)]
TARGETS = {"burgers": ("u", "time"), "navier_stokes": ("vorticity", "duration")}


def measure(name: str, viscosity: float, samples: int) -> dict:
    """One row."""
    known = domain_named(name)
    variable, duration = TARGETS[name]
    start = time.perf_counter()
    parameters = known.with_defaults({"viscosity": viscosity})
    choosing = time.perf_counter() - start

    def solve(p: dict) -> np.ndarray:
        """The last state of every sample, (samples, points)."""
        found = known.solve(range(samples), known.resolution, 0, p)[variable]
        return (found if name == "burgers" else found[:, -1]).reshape(samples, -1)

    start = time.perf_counter()
    found = solve(parameters)
    seconds = (time.perf_counter() - start) / samples
    truth = solve({**parameters, "steps": 4 * parameters["steps"]})
    errors = np.linalg.norm(found - truth, axis=1) / np.linalg.norm(truth, axis=1)
    return {
        "case": f"{name}, ν = {viscosity:g}",
        "solver's points": parameters["solver_resolution"],
        "steps a unit of time": parameters["steps"] / parameters[duration],
        "error asked for": parameters["error"],
        "error": float(errors.max()),
        "s a sample, one core": seconds,
        "s to choose the steps": choosing,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the easy cases, one sample each")
    quick = parser.parse_args().quick
    cases, samples = (CASES[::2], 1) if quick else (CASES, 4)
    table = pd.DataFrame([measure(*case, samples) for case in cases])
    show("solvers of Burgers and Navier–Stokes", table)


if __name__ == "__main__":
    main()
