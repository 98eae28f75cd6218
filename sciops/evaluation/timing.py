"""How long a call takes, and a model for each sample: medians of calls with warm caches."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from sciops.data.running import cores

from .scores import evaluation_mode

if TYPE_CHECKING:
    import pandas as pd

BATCHES = (1, 16)
BUDGET, MOST_CALLS = 0.2, 50  # seconds, and calls, to measure one thing with


def median_seconds(call: Callable[[], object]) -> float:
    """Of as many calls as fit in BUDGET, at most MOST_CALLS.

    The first call fills caches; it counts only if it has used up the budget.
    """
    seconds = [_seconds(call)]
    while len(seconds) <= MOST_CALLS and sum(seconds) < BUDGET:
        seconds.append(_seconds(call))
    return median(seconds[1:] or seconds)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def seconds_per_sample(
    model: nn.Module, x: Tensor, *, coords: Sequence[Tensor] | None = None
) -> "pd.DataFrame":
    """Seconds a model takes for a sample, with batches of 1 and of 16, on one and on all threads.

    The model is timed in evaluation mode and without gradients; its mode and torch's threads are
    then as they were.

    x:       (n, in_channels, *space), repeated to fill the batches
    coords:  points of each axis in units of its length; None is the uniform grid
    returns: a table with the columns batch, threads and seconds
    """
    import pandas as pd

    if not len(x):
        raise ValueError("x has no sample; give at least one, (n, in_channels, *space)")
    where = () if coords is None else (tuple(coords),)
    rows = []
    with evaluation_mode(model):
        model(x[:1], *where)  # what layers keep in evaluation mode is made now
        for threads in sorted({1, cores()}):
            for size in BATCHES:
                batch = x[torch.arange(size) % len(x)]
                with torch_threads(threads):
                    taken = median_seconds(partial(model, batch, *where))
                rows.append({"batch": size, "threads": threads, "seconds": taken / size})
    return pd.DataFrame(rows)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """So many threads for torch, and then as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
