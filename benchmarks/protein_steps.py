"""Time and memory of a training step of PDNET's tower, plain and with XD, side by side.

    python -m benchmarks.protein_steps             ResNet-18, width 64, 128², batch 2, two threads

A step is forward, backward and Adam.  All take turns in one process and only ratios of the same
turn are compared, so that a slow minute hits all alike; CPU time is that of all threads.

Writes benchmarks/results/protein_steps.csv and protein_steps.md.  What is there already is not
measured again.
"""

import argparse
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import torch

from benchmarks.measure import peak_megabytes
from benchmarks.results import FOLDER, Rows, markdown
from sciops.atomic import write_text
from sciops.backbones.resnet import ResNet
from sciops.operators.heap import kept_heap
from sciops.task import Axis, Field, Task

CHANNELS = 57  # of PDNET's inputs
SIZES = dict(depth=18, width=64, window=128, batch=2, threads=2, repeats=9)
KEY = ("op", "beside", *SIZES)


def map_task(window: int) -> Task:
    axes = tuple(Axis(name, tuple(range(window)), False, float(window)) for name in "ij")
    return Task("maps", (Field("features", (0, CHANNELS)),), (Field("distance"),), axes)


def training_step(op: str, depth: int, width: int, window: int, batch: int) -> Callable[[], None]:
    """A function that takes one step."""
    torch.manual_seed(0)
    model = ResNet(map_task(window), op, depth=depth, width=width)
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    x, y = torch.randn(batch, CHANNELS, window, window), 16 * torch.rand(batch, 1, window, window)

    def step() -> None:
        optimiser.zero_grad()
        (model(x) - y).cosh().log().mean().backward()
        optimiser.step()

    return step


def turns(steps: dict[str, Callable[[], None]], repeats: int) -> pd.DataFrame:
    """Wall and CPU seconds of every step of every turn."""
    rows = []
    for turn in range(-1, repeats):  # the first warms up
        for op, step in steps.items():
            wall, cpu = time.perf_counter(), time.process_time()
            step()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            rows.append({"turn": turn, "op": op, "wall": wall, "cpu": cpu})
    seconds = pd.DataFrame(rows)
    return seconds[seconds["turn"] >= 0]


def measured(seconds: pd.DataFrame, ops: list[str]) -> dict[str, dict[str, float]]:
    """Of each op, medians of the seconds, and of the ratios to the first op in the same turn."""
    rows: dict[str, dict[str, float]] = {op: {} for op in ops}
    for clock in ("wall", "cpu"):
        per_turn = seconds.pivot(index="turn", columns="op", values=clock)[ops]
        ratios = per_turn.div(per_turn[ops[0]], axis=0)
        for op in ops:
            found = ratios[op].median(), ratios[op].min(), ratios[op].max()
            names = (f"{clock}_ratio", f"{clock}_ratio_least", f"{clock}_ratio_most")
            rows[op] |= {
                f"{clock}_seconds": per_turn[op].median(),
                **dict(zip(names, found, strict=True)),
            }
    return rows


def steps_of(ops: list[str], sizes: dict[str, int]) -> dict[str, dict[str, float]]:
    """Times and memory of a step of each op, all measured together."""
    torch.set_num_threads(sizes["threads"])
    shape = [sizes[name] for name in ("depth", "width", "window", "batch")]
    with kept_heap():
        steps = {op: training_step(op, *shape) for op in ops}
        rows = measured(turns(steps, sizes["repeats"]), ops)
        return {op: row | {"peak_megabytes": peak_megabytes(steps[op])} for op, row in rows.items()}


def summary(table: pd.DataFrame) -> str:
    """A table for each set of ops and sizes that was measured together, as Markdown."""
    text = "# A training step of PDNET's tower\n"
    for (beside, *sizes), rows in table.groupby(list(KEY[1:]), sort=False):
        n = dict(zip(SIZES, sizes, strict=True))
        named = "ResNet-{depth}, width {width}, {window}², batch {batch}".format(**n)
        shown = {"op": rows["op"]}
        for clock in ("wall", "cpu"):
            shown[f"{clock}, s"] = rows[f"{clock}_seconds"].map("{:.2f}".format)
            parts = (rows[f"{clock}_ratio{end}"] for end in ("", "_least", "_most"))
            ratios = zip(*parts, strict=True)
            shown[f"{clock}, × {beside.split(',')[0]}"] = [
                "{:.2f} ({:.2f} – {:.2f})".format(*three) for three in ratios
            ]
        shown["peak, MB"] = rows["peak_megabytes"].map("{:.0f}".format)
        machines = "; ".join(rows["machine"].unique())
        text += f"\n{named}, {n['threads']} threads, median of {n['repeats']} turns "
        text += f"(least – most); {machines}\n\n{markdown(pd.DataFrame(shown))}\n"
    return text


def main() -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--ops", default="conv,dilated,xd-hybrid,xd-grid")
    for name, value in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--results", type=Path, default=FOLDER)
    chosen = parser.parse_args()
    ops, sizes = chosen.ops.split(","), {name: getattr(chosen, name) for name in SIZES}
    rows = Rows("protein_steps", KEY, chosen.results)
    together = cache(lambda: steps_of(ops, sizes))
    for op in ops:
        rows.get(dict(op=op, beside=chosen.ops, **sizes), lambda op=op: together()[op])
    text = summary(rows.table)
    write_text(chosen.results / "protein_steps.md", text)
    print(text)


if __name__ == "__main__":
    main()
