"""DNArch: continuous CNNs that learn their sizes, against FNO and XD under one budget.

    python -m benchmarks.dnarch_accuracy darcy cosmic digits permuted --seeds 0
    python -m benchmarks.dnarch_accuracy --speed         time of a step against the complexity
    python -m benchmarks.dnarch_accuracy --table         only print what is there

    darcy      64², 100 samples, 16 channels: relative L2
    cosmic     64 simulated stamps, windows of 32²: 1 − AUROC; cosmic-real with --folder, where the
               FITS file is
    digits     600 of scikit-learn's, 8²: share of wrong classes; permuted: with pixels in a random
               order

Arms have the same data, number of epochs and batches.  Complexity is the published count, in units
of the base network (CCNN).  A training step of the network found is timed beside one of a CCNN, in
turns in one process.  On digits FNO has no network; conv is LeNet, and xd what it becomes.

Writes benchmarks/results/dnarch_accuracy.csv, a row for each run, and dnarch_accuracy.md.
Interrupted, it goes on where it stopped.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import nn

import sciops
from benchmarks.cosmic_accuracy import FILE
from benchmarks.measure import side_by_side
from benchmarks.results import FOLDER, Rows, digits, machine, markdown, mean_and_spread
from sciops.atomic import write_text
from sciops.backbones.ccnn_sizes import VARIANTS
from sciops.backbones.complexity import measured_flops
from sciops.backbones.trimmed import ccnn_in
from sciops.operators.heap import kept_heap
from sciops.operators.size_masks import mu_bounds
from sciops.runs.networks import network_of
from sciops.runs.recipes import settings
from sciops.task import Axis, Field, Task

KEY = ("problem", "arm", "epochs", "seed")
CONTINUOUS = {name: dict(op="dnarch", learn=learn) for name, learn in VARIANTS.items()}
FIELDS = {**CONTINUOUS, "FNO": dict(op="fno"), "XD": dict(op="xd")}
IMAGES = {**CONTINUOUS, "conv": dict(op="conv"), "XD": dict(op="xd")}
DARCY: dict[str, Any] = dict(
    resolution=64, n_train=100, n_val=20, n_test=50, batch_size=5, width=16
)
COSMIC: dict[str, Any] = dict(n_train=64, n_val=8, n_test=16, size=96, window=32)
DIGITS: dict[str, Any] = dict(n_train=600, n_val=100, n_test=300)
NETWORK: dict[str, Any] = {}  # width=, blocks=, …: of continuous CNNs, others than the usual


def _darcy(folder, **options):
    return sciops.train_pde("darcy", **{**DARCY, **options})


def _cosmic(folder, **options):
    return sciops.train_cosmic(**COSMIC, **options)


def _cosmic_real(folder, **options):
    if folder is None:
        raise ValueError(f"cosmic-real needs --folder, where {FILE} is")
    return sciops.train_cosmic(data=sciops.read("cosmic", folder / FILE), **options)


def _digits(folder, **options):
    return sciops.train_vision(**DIGITS, **options)


def _permuted(folder, **options):
    return sciops.train_vision(variant="permuted", **DIGITS, **options)


# how it is trained, with which arms, for how many epochs, and the error of a run
PROBLEMS: dict[str, tuple[Callable, dict[str, dict], int, Callable[[dict], float]]] = {
    "darcy": (_darcy, FIELDS, 10, lambda m: m["test_relative_l2"]),
    "cosmic": (_cosmic, FIELDS, 12, lambda m: 1 - m["test_auroc"]),
    "cosmic-real": (_cosmic_real, FIELDS, 40, lambda m: 1 - m["test_auroc"]),
    "digits": (_digits, IMAGES, 15, lambda m: 1 - m["test_accuracy"]),
    "permuted": (_permuted, IMAGES, 15, lambda m: 1 - m["test_accuracy"]),
}


def trained(problem: str, arm: str, epochs: int, seed: int, runs: Path, folder) -> dict[str, Any]:
    """The row of a run."""
    train, arms, _, error = PROBLEMS[problem]
    own = NETWORK if arm in VARIANTS else {}
    out = runs / f"{problem}-{arm}-{epochs}-{seed}"
    run = train(folder, out=out, epochs=epochs, seed=seed, progress=False, **arms[arm], **own)
    return {
        "error": error(run.metrics),
        "complexity": run.metrics.get("complexity", 1.0 if arm == "CCNN" else None),
        **costs(run),
        "train_seconds": run.metrics["train_seconds"],
        "parameters": run.metrics["parameters"],
    }


def costs(run) -> dict[str, float]:
    """Milliseconds of a training step beside those of a CCNN, and operations of a prediction."""
    batch = run.config["training"]["batch_size"]
    size = [axis.size for axis in run.task.axes]
    x = torch.rand(batch, run.task.in_channels, *size)
    description = {"op": "dnarch", "learn": "", **NETWORK}
    if run.config["name"] == "darcy":
        width = run.config["model"].get("width", 32)
        description |= settings("darcy", "dnarch").model | {"width": width} | NETWORK
    if (backbone := run.config["model"].get("backbone")) is not None:
        description["backbone"] = "ccnn" if run.config["name"] == "vision" else backbone
        description |= {"width": 16} | NETWORK
    reference = _normalised(network_of(run.task, description), x, run)
    with kept_heap():
        own, other = side_by_side([step(run.model, x), step(reference, x)], 5)
    return {
        "step_ms": 1e3 * own,
        "step_of_ccnn": own / other,
        "mflops": measured_flops(run.model, x[:2]) / 2e6,
    }


def _normalised(network: nn.Module, x: torch.Tensor, run) -> nn.Module:
    """Ready to run, if it has a normalisation that is taken from data."""
    if run.config["name"] == "vision":
        return network.fit(x)
    if run.config["name"] == "darcy":
        return network.fit(x, x.expand(-1, run.task.out_channels, *x.shape[2:]))
    return network


def step(network: nn.Module, x: torch.Tensor) -> Callable[[], None]:
    """A forward and backward pass in training."""

    def once() -> None:
        network.train()
        network.zero_grad()
        network(x).square().mean().backward()

    return once


# --- time against complexity ----------------------------------------------------------------------


def at_complexity(network: nn.Module, share: float) -> nn.Module:
    """The network with coarse blocks, the last ones first, until it costs no more than this."""
    sizes = ccnn_in(network).sizes
    low = mu_bounds(sizes.tau.resolution)[0] + 1e-3
    with torch.no_grad():
        for block in reversed(range(sizes.max_blocks)):
            while sizes.complexity().item() > share and float(sizes.resolution[block].max()) > low:
                sizes.resolution[block] -= 0.05
                sizes.project()
    return network


def speed(points: int = 64, batch: int = 8, width: int = 32, repeats: int = 7) -> pd.DataFrame:
    """Steps of K and of KR networks of several complexities, taking turns."""
    axes = tuple(
        Axis(name, tuple(i / (points - 1) for i in range(points)), False, 1.0) for name in "xy"
    )
    task = Task("speed", (Field("a"),), (Field("u"),), axes)
    x = torch.rand(batch, 1, points, points)

    def network(learn: str) -> nn.Module:
        torch.manual_seed(0)
        made = network_of(task, {"op": "dnarch", "learn": learn, "width": width}).fit(x, x)
        if "K" in learn:
            ccnn_in(made).sizes.kernel.data.fill_(0.1)
        return made

    networks = {"CCNN": network(""), "K": network("K"), "KR": network("KR")}
    networks |= {f"KR at {s}": at_complexity(network("KR"), s) for s in (0.8, 0.6, 0.4)}
    with kept_heap():
        seconds = side_by_side([step(one, x) for one in networks.values()], repeats)
    rows = []
    for (name, one), second in zip(networks.items(), seconds, strict=True):
        sizes = ccnn_in(one).sizes
        cost = sizes.complexity().item()
        mflops = measured_flops(one, x[:2]) / 2e6
        rows.append(dict(network=name, complexity=cost, step_ms=1e3 * second, mflops=mflops))
    return pd.DataFrame(rows)


# --- tables ---------------------------------------------------------------------------------------


def summary(table: pd.DataFrame) -> str:
    """Mean ± spread over the seeds, as Markdown."""
    if table.empty:
        return "Nothing has been measured yet."
    lines = []
    for (problem, arm, epochs), found in table.groupby(list(KEY[:-1]), sort=False):
        known = found["complexity"].notna().all()
        lines.append(
            {
                "problem": problem,
                "network": arm,
                "epochs": epochs,
                "error": mean_and_spread(found["error"]),
                "complexity": digits(found["complexity"].mean()) if known else "",
                "step, of a CCNN's": digits(found["step_of_ccnn"].median()),
                "million operations": digits(found["mflops"].mean()),
                "parameters": int(found["parameters"].iloc[0]),
            }
        )
    machines = "\n".join(f"- {m}" for m in table["machine"].unique())
    text = "# DNArch under one budget: mean ± standard deviation (seeds)\n\n"
    return text + markdown(pd.DataFrame(lines)) + f"\n\nMachines:\n{machines}\n"


def main() -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("problems", nargs="*", help=f"of {', '.join(PROBLEMS)}")
    parser.add_argument("--arms", help="some of them only")
    parser.add_argument("--epochs", type=int, help="instead of the problem's own")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--folder", type=Path, help="of the FITS file of cosmic-real")
    parser.add_argument("--runs", type=Path, default=Path("out/dnarch"), help="folder of the runs")
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--speed", action="store_true", help="time of a step, nothing is trained")
    parser.add_argument("--table", action="store_true", help="only print what is there")
    chosen = parser.parse_args()
    unknown = [p for p in chosen.problems if p not in PROBLEMS]
    if unknown:
        parser.error(f"there is no problem {unknown[0]!r}; there are {', '.join(PROBLEMS)}")
    if chosen.speed:
        print(markdown(speed().round(2)), f"\n\n64², batch 8; {machine()}")
        return
    rows = Rows("dnarch_accuracy", KEY, chosen.results)
    for problem in [] if chosen.table else chosen.problems:
        _all_of(rows, problem, chosen)
    print(summary(rows.table))


def _all_of(rows: Rows, problem: str, chosen) -> None:
    arms, usual = PROBLEMS[problem][1:3]
    epochs = chosen.epochs or usual
    for seed in map(int, chosen.seeds.split(",")):
        for arm in chosen.arms.split(",") if chosen.arms else arms:
            key = dict(problem=problem, arm=arm, epochs=epochs, seed=seed)
            row = rows.get(
                key,
                lambda a=arm, s=seed: trained(problem, a, epochs, s, chosen.runs, chosen.folder),
            )
            print(f"{problem} {arm} seed {seed}: {row['error']:.4f}", flush=True)
            write_text(chosen.results / "dnarch_accuracy.md", summary(rows.table))


if __name__ == "__main__":
    main()
