"""How many epochs of one network take as long as the training of another.

Both take training steps in turns, in one process, on every grid that they are trained on, so that
neither a slow minute nor other work on the machine favours one of them.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.measure import side_by_side
from sciops.config import Optimisation
from sciops.metrics import relative_l2
from sciops.operators.heap import kept_heap
from sciops.runs.run import Run
from sciops.training import make_optimiser


def epochs_of_equal_time(run: Run, reference: Run, epochs: int, repeats: int = 15) -> int:
    """Epochs of a network like `run`'s in the time of so many of `reference`'s, at least one."""
    both = [(one, _epochs_on_grids(one.config, epochs)) for one in (run, reference)]
    steps = [_step(one, points) for one, grids in both for points in grids]
    with kept_heap():
        seconds = iter(side_by_side(steps, repeats))
    own, other = [  # seconds of training for a sample
        sum(next(seconds) * epochs for epochs in grids.values())
        / one.config["training"]["batch_size"]
        for one, grids in both
    ]
    return max(1, round(other / own * epochs))


def _epochs_on_grids(config: dict[str, Any], epochs: int) -> dict[int, float]:
    """Points of each grid of a run, and how many of the epochs it has there."""
    *coarse, last = config["grids"]
    share = config["training"]["coarse"]
    if not coarse:
        return {last: epochs}
    if share is None:
        return dict.fromkeys(config["grids"], epochs / len(config["grids"]))
    before = round(share * epochs)
    return {**dict.fromkeys(coarse, before / len(coarse)), last: epochs - before}


def _step(run: Run, points: int) -> Callable[[], None]:
    """A function that takes one training step on random data of this grid."""
    model = copy.deepcopy(run.model).train()
    optimiser = make_optimiser(list(model.parameters()), Optimisation(1e-4))
    size = [run.config["training"]["batch_size"], 1, *[points] * len(run.task.axes)]
    x = torch.rand(size).expand(-1, run.task.in_channels, *size[2:]).contiguous()
    y = torch.rand(size).expand(-1, run.task.out_channels, *size[2:]).contiguous()

    def step() -> None:
        optimiser.zero_grad()
        relative_l2(model(x), y).mean().backward()
        optimiser.step()

    return step
