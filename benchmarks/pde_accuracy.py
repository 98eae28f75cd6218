"""Operators on one problem under one budget, in equal epochs and in equal time.

    python -m benchmarks.pde_accuracy darcy --ops xd,fno,neuralop,conv,unet --seeds 3
    python -m benchmarks.pde_accuracy --table            only print what is there

Writes benchmarks/results/pde_accuracy.csv, a row for each run, and pde_accuracy.md.  Interrupted,
it goes on where it stopped.  "Equal time" gives an operator as many epochs as fit into the time
that XD takes for its own, by training steps of both that are measured side by side.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import pandas as pd

import sciops
from benchmarks.equal_time import epochs_of_equal_time
from benchmarks.results import FOLDER, Rows, digits, markdown, mean_and_spread

SHARED = Path(os.environ.get("SCIOPS_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
KEY = ("problem", "op", "budget", "seed")


def _neuralop_darcy():
    folder = SHARED / "darcy"
    return sciops.read(
        "darcy", [folder / "darcy_train_16.pt", folder / "darcy_test_16.pt"], val=100
    )


def _torchphysics():
    file = SHARED / "darcy" / "torchphysics_diffusion_64_first500.npz"
    fields = {"a": "kappa", "u": "u"}
    return sciops.read("darcy", file, fields=fields, split={"train": 400, "test": 100}, val=40)


# what train_pde is given; "data" is called, "own" is for single operators, the rest passed on
SMOOTH, SHARP = ({op: dict(frequencies=n) for op in ("xd", "fno")} for n in (8, 32))
ALONE = dict(resolution=85, coarse=None)  # their kernels mean something else on another grid
ONE_GRID = {"conv": ALONE | dict(taps=3), "unet": ALONE, "neuralop": ALONE}
PAPER_GRID = dict(name="darcy", resolution=22, n_train=200, n_test=80, recipe="paper", epochs=20)
DARCY = dict(
    **dict(name="darcy", resolution=[43, 85], coarse=0.85, epochs=50, own=ONE_GRID),
    **dict(n_train=1000, n_val=100, n_test=400),
)
FINER = {op: dict(frequencies=16) for op in ("xd", "fno")}
# slopes in the loss of all, and of neuraloperator the rate and decay of its config/darcy_config.py
SLOPES = dict(h1=0.5, own={"neuralop": dict(rate=5e-3, decay=1e-4)})
PROBLEMS: dict[str, dict[str, Any]] = {
    "darcy": DARCY,
    "darcy-slopes": DARCY | dict(h1=0.5, own=ONE_GRID | FINER),
    "darcy-small": dict(
        **dict(name="darcy", resolution=43, n_train=320, n_test=80, epochs=40),
        own={"conv": dict(taps=3)},
    ),
    "burgers": dict(
        name="burgers", resolution=256, n_train=1000, viscosity=0.1, epochs=40, own=SMOOTH
    ),
    "burgers-hard": dict(
        name="burgers", resolution=256, n_train=1000, viscosity=0.01, epochs=40, own=SHARP
    ),
    "navier-stokes": dict(
        name="navier_stokes", resolution=32, n_train=100, n_val=20, n_test=40, viscosity=1e-3
    ),
    "navier-stokes-hard": dict(
        name="navier_stokes", resolution=32, n_train=100, n_val=20, n_test=40, viscosity=1e-4
    ),
    "navier-stokes-steps": dict(
        **dict(name="navier_stokes", forecast="steps", resolution=32, viscosity=1e-3),
        **dict(n_train=100, n_val=20, n_test=40),
    ),
    "neuralop-darcy": dict(name="darcy", data=_neuralop_darcy, epochs=40),
    "neuralop-darcy-slopes": dict(name="darcy", data=_neuralop_darcy, epochs=40) | SLOPES,
    "torchphysics": dict(name="darcy", data=_torchphysics, epochs=40),
    "torchphysics-slopes": dict(name="darcy", data=_torchphysics, epochs=40) | SLOPES,
    "paper-grid": PAPER_GRID,
    "paper-grid-augmented": PAPER_GRID | dict(augment=True),
}


VARIANTS: dict[str, dict[str, Any]] = {
    "neuralop-repaired": dict(repaired=True),
    "xd-fixed": dict(depth=0),
    "xd-modes": dict(weights="modes"),
}


def options_for(problem: dict[str, Any], op: str) -> dict[str, Any]:
    """What train_pde is given: options of all operators and of this one, and its name.

    neuralop-repaired: its layers are the same function on odd and even grids
    xd-fixed:          K, L and M stay as they are, a control of what learning them is worth
    xd-modes:          no taps beside its modes, a control of what those are worth
    """
    options, name = dict(problem), op.partition("-")[0] if op in VARIANTS else op
    own = options.pop("own", {}).get(name, {})
    return {**options, **own, **VARIANTS.get(op, {}), "op": name}


def train(problem: str, op: str, seed: int, runs: Path, tag: str, **changes):
    """One run of a problem, kept in a folder of its own."""
    options = options_for(PROBLEMS[problem], op) | changes
    if "data" in options:
        options["data"] = options["data"]()
    return sciops.train_pde(seed=seed, out=runs / f"{problem}-{op}-{tag}-{seed}", **options)


def probe(problem: str, op: str, runs: Path):
    """The network of a problem after one step, to take its time."""
    return train(problem, op, 0, runs, "probe", epochs=1, n_train=10, n_val=1, n_test=1)


def result(run) -> dict[str, Any]:
    names = (
        "test_relative_l2",
        "val_relative_l2",
        "train_relative_l2",
        "train_seconds",
        "parameters",
    )
    symmetries = run.config["training"]["symmetries"]
    means = run.symmetrised().metrics["test_relative_l2"] if symmetries else None
    return {
        **{name: run.metrics[name] for name in names},
        "test_symmetrised": means,
        "epochs": len(run.history),
        "epoch_seconds": run.history["seconds"].median(),
        "symmetries": " ".join(symmetries),
    }


def measure(rows: Rows, problem: str, op: str, budget: str, seed: int, runs: Path) -> pd.Series:
    """The row of one run, trained if it is not there."""
    key = dict(problem=problem, op=op, budget=budget, seed=seed)

    def trained() -> dict[str, Any]:
        changes = {}
        if budget == "time":
            of_xd = int(measure(rows, problem, "xd", "epochs", seed, runs)["epochs"])
            networks = [probe(problem, o, runs) for o in (op, "xd")]
            changes = {"epochs": epochs_of_equal_time(*networks, of_xd)}
        row = result(train(problem, op, seed, runs, budget, **changes))
        print(f"{problem} {op} {budget} seed {seed}: {row['test_relative_l2']:.4f}", flush=True)
        return row

    return rows.get(key, trained)


def summary(table: pd.DataFrame) -> str:
    """The tables of all problems, as Markdown."""
    if table.empty:
        return "Nothing has been measured yet."
    parts = []
    for problem, of_problem in table.groupby("problem", sort=False):
        lines = []
        for op, of_op in of_problem.groupby("op", sort=False):
            by = dict(list(of_op.groupby("budget")))
            errors = {b: mean_and_spread(rows["test_relative_l2"]) for b, rows in by.items()}
            first = by.get("epochs", of_op)
            lines.append(
                {
                    "op": op,
                    "equal epochs": errors.get("epochs", ""),
                    "equal time": errors["epochs"] if op == "xd" else errors.get("time", ""),
                    "mean over symmetries": _symmetrised(first),
                    "epochs": " and ".join(str(int(r["epochs"].iloc[0])) for r in by.values()),
                    "validation": digits(first["val_relative_l2"].mean()),
                    "training": digits(first["train_relative_l2"].mean()),
                    "parameters": int(first["parameters"].iloc[0]),
                }
            )
        order = pd.DataFrame(lines)
        parts.append(f"## {problem}\n\n{markdown(order)}\n")
    machines = "\n".join(f"- {m}" for m in table["machine"].unique())
    text = "# Relative L2 error on test data: mean ± standard deviation (seeds)\n\n"
    return text + "\n".join(parts) + f"\nMachines:\n{machines}\n"


def _symmetrised(rows: pd.DataFrame) -> str:
    """Of the runs for which it is known."""
    known = rows.get("test_symmetrised", pd.Series(dtype=float)).dropna()
    return mean_and_spread(known) if len(known) else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("problems", nargs="*", help=f"of {', '.join(PROBLEMS)}")
    parser.add_argument("--ops", default="xd,fno")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budgets", default="epochs", help="epochs, time, or both")
    parser.add_argument(
        "--runs", type=Path, default=Path("out/accuracy"), help="folder of the runs"
    )
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--table", action="store_true", help="only print what is there")
    chosen = parser.parse_args()
    unknown = [p for p in chosen.problems if p not in PROBLEMS]
    if unknown:
        parser.error(f"there is no problem {unknown[0]!r}; there are {', '.join(PROBLEMS)}")
    budgets = chosen.budgets.split(",")
    if not set(budgets) <= {"epochs", "time"}:
        parser.error(f"--budgets {chosen.budgets} must be epochs, time, or epochs,time")
    rows = Rows("pde_accuracy", KEY, chosen.results)
    for problem in [] if chosen.table else chosen.problems:
        for budget in budgets:
            for seed in range(chosen.seeds):
                for op in chosen.ops.split(","):
                    if budget == "epochs" or op != "xd":
                        measure(rows, problem, op, budget, seed, chosen.runs)
                        write_summary(rows, chosen.results)
    print(summary(rows.table))


def write_summary(rows: Rows, folder: Path) -> None:
    from sciops.atomic import write_text

    write_text(folder / "pde_accuracy.md", summary(rows.table))


if __name__ == "__main__":
    main()
