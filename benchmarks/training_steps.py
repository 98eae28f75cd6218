"""Time of a training step of whole networks of recipe `quick`, side by side in one process.

    python -m benchmarks.training_steps            85², batch 20, as in the published Darcy setting
    python -m benchmarks.training_steps --frequencies 16        of xd and fno, instead of 12

All take turns, so that a slow minute hits all alike; memory is kept as in training.
"""

import argparse

import pandas as pd
import torch

import sciops
from benchmarks.measure import side_by_side
from benchmarks.results import machine, markdown
from sciops.backbones import make_backbone
from sciops.config import Optimisation
from sciops.data.samples import MemorySamples
from sciops.metrics import relative_l2
from sciops.operators.heap import kept_heap
from sciops.runs.recipes import settings
from sciops.training import make_optimiser


def training_step(op: str, samples: MemorySamples, frequencies: int | None = None):
    """A function that takes one step."""
    torch.manual_seed(0)
    options = settings("darcy", op).model
    if op in ("xd", "fno") and frequencies is not None:
        options |= {"frequencies": frequencies}
    model = make_backbone(samples.task, op, **options).fit(samples.x, samples.y)
    optimiser = make_optimiser(list(model.parameters()), Optimisation(1e-3))

    def step() -> None:
        optimiser.zero_grad()
        relative_l2(model(samples.x), samples.y).mean().backward()
        optimiser.step()

    return step


def main() -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--ops", default="xd,fno,neuralop")
    parser.add_argument("--resolution", type=int, default=85)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--frequencies", type=int, help="of xd and fno; 12 if not given")
    chosen = parser.parse_args()
    ds = sciops.generate("darcy", n=chosen.batch, resolution=chosen.resolution, progress=False)
    samples, ops = MemorySamples(ds), chosen.ops.split(",")
    with kept_heap():
        steps = [training_step(op, samples, chosen.frequencies) for op in ops]
        seconds = side_by_side(steps, chosen.repeats)
    table = pd.DataFrame({"op": ops, "ms": [f"{1e3 * s:.0f}" for s in seconds]})
    table[f"{ops[0]} takes"] = [f"{seconds[0] / s:.2f} of it" for s in seconds]
    print(markdown(table))
    print(f"\n{chosen.resolution}², batch {chosen.batch}; {machine()}")


if __name__ == "__main__":
    main()
