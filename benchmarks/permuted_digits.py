"""Permuted digits: where neighbours mean nothing, a convolution is the wrong operation.

    python -m benchmarks.permuted_digits --ops undilated,conv,xd,xd-grid --seeds 0,1,2
    python -m benchmarks.permuted_digits --table                only print what is there

Small TCNs read scikit-learn's digits pixel by pixel, in order and in one random order, and name the
digit at the last step.  All have the same weights at the start, optimisers and epochs; the epoch
with the least validation error counts.

Writes benchmarks/results/permuted_digits.csv, a row for each run, and permuted_digits.md.
Interrupted, it goes on where it stopped.
"""

import argparse
from pathlib import Path
from typing import Any

import torch

from benchmarks.results import FOLDER, Rows, markdown, mean_and_spread
from sciops.atomic import write_text
from sciops.backbones.tcn import LastStep, Tcn
from sciops.config import Optimisation, Training
from sciops.data.digits import digits_task, load_digits
from sciops.metrics.classes import cross_entropy
from sciops.training import fit

KEY = ("pixels", "op", "seed")
NETWORK = dict(width=25, levels=3, kernel_size=5, dropout=0.0)
EPOCHS = 40
DEPTH = {"xd": 2, "xd-grid": 3}  # of the K-matrices; two blocks hold every permutation


def trained(op: str, seed: int, *, permuted: bool, epochs: int = EPOCHS) -> dict[str, Any]:
    """Accuracy on the test images, and what it took."""
    digits = load_digits(permuted=permuted)
    torch.manual_seed(seed)
    options = {"k_depth": DEPTH[op]} if op in DEPTH else {}
    model = LastStep(Tcn(digits_task(), op, **NETWORK, **options))
    rates = Optimisation(4e-3, ramp=0.1), Optimisation(4e-3, ramp=0.1)
    how = Training(epochs, 64, *rates, seed=seed)
    history = fit(
        model,
        digits["train"],
        digits["val"],
        how,
        error=cross_entropy,
        keep_best=True,
        progress=False,
    )
    x, y = digits["test"].__getitems__(range(len(digits["test"])))
    with torch.inference_mode():
        right = (model.eval()(x).argmax(1) == y).float().mean().item()
    seconds = history["seconds"].sum()
    parameters = sum(p.numel() for p in model.parameters())
    return {"accuracy": right, "seconds": seconds, "parameters": parameters}


def summary(rows: Rows) -> str:
    """Mean ± spread over the seeds, as Markdown."""
    import pandas as pd

    lines = []
    for op, found in rows.table.groupby("op", sort=False):
        line = {"op": op}
        for pixels, of_pixels in found.groupby("pixels", sort=False):
            line[f"accuracy, {pixels}"] = mean_and_spread(of_pixels["accuracy"])
        line["seconds"] = f"{found['seconds'].median():.0f}"
        line["parameters"] = f"{found['parameters'].iloc[0]:.0f}"
        lines.append(line)
    text = "# Digits, pixel by pixel: accuracy on test images, mean ± deviation (seeds)\n\n"
    machines = "\n".join(f"- {m}" for m in rows.table["machine"].unique())
    return text + markdown(pd.DataFrame(lines).fillna("")) + f"\n\nMachines:\n{machines}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ops", default="undilated,conv,xd,xd-grid")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--table", action="store_true", help="only print what is there")
    chosen = parser.parse_args()
    rows = Rows("permuted_digits", KEY, chosen.results)
    for seed in [] if chosen.table else map(int, chosen.seeds.split(",")):
        for pixels in ("permuted", "in order"):
            for op in chosen.ops.split(","):
                row = rows.get(
                    dict(pixels=pixels, op=op, seed=seed),
                    lambda op=op, seed=seed, p=pixels: trained(op, seed, permuted=p == "permuted"),
                )
                print(f"{pixels} {op} seed {seed}: {row['accuracy']:.4f}", flush=True)
                write_text(chosen.results / "permuted_digits.md", summary(rows))
    if len(rows.table):
        print(summary(rows))


if __name__ == "__main__":
    main()
