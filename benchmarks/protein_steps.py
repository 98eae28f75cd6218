"""Time and memory of a training step of PDNET's tower, plain and with XD, side by side.

    python -m benchmarks.protein_steps             ResNet-18, width 64, 128², batch 2, two threads

A step is forward, backward and Adam.  All take turns in one process and only ratios of the same
turn are compared, so that a slow minute hits all alike; CPU time is that of all threads.
"""

import argparse
import time
from collections.abc import Callable

import pandas as pd
import torch

from benchmarks.measure import peak_megabytes
from benchmarks.results import machine, markdown
from sciops.backbones.resnet import ResNet
from sciops.operators.heap import kept_heap
from sciops.task import Axis, Field, Task

CHANNELS = 57  # of PDNET's inputs


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


def summary(seconds: pd.DataFrame, ops: list[str]) -> pd.DataFrame:
    """Medians of the seconds, and of the ratios to the first op in the same turn."""
    table = pd.DataFrame(index=ops)
    for clock in ("wall", "cpu"):
        per_turn = seconds.pivot(index="turn", columns="op", values=clock)[ops]
        ratios = per_turn.div(per_turn[ops[0]], axis=0)
        table[f"{clock}, s"] = per_turn.median().map("{:.2f}".format)
        table[f"{clock}, × {ops[0]}"] = [
            f"{r.median():.2f} ({r.min():.2f} – {r.max():.2f})" for _, r in ratios.items()
        ]
    return table


def main() -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--ops", default="conv,dilated,xd-hybrid,xd-grid")
    for name, value in dict(depth=18, width=64, window=128, batch=2, threads=2, repeats=9).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    ops = chosen.ops.split(",")
    shape = (chosen.depth, chosen.width, chosen.window, chosen.batch)
    with kept_heap():
        steps = {op: training_step(op, *shape) for op in ops}
        table = summary(turns(steps, chosen.repeats), ops)
        table["peak, MB"] = [f"{peak_megabytes(step):.0f}" for step in steps.values()]
    print(markdown(table.reset_index(names="op")))
    named = "ResNet-{}, width {}, {}², batch {}".format(*shape)
    print(f"\n{named}, median of {chosen.repeats} turns (least – most); {machine()}")


if __name__ == "__main__":
    main()
