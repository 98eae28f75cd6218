"""Where the parts of a store are computed: threads here, or the workers of a Dask cluster."""

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

from .parts import Part


def on_threads(
    workers: int | None, make_part: Callable, parts: list[Part], report: Callable
) -> None:
    """Make the parts in threads."""
    with ThreadPoolExecutor(thread_count(workers)) as pool:
        futures = [pool.submit(make_part, part) for part in parts]
        try:
            for future in as_completed(futures):
                report(future.result())
        finally:
            pool.shutdown(cancel_futures=True)


def on_cluster(scheduler, make_part: Callable, parts: list[Part], report: Callable) -> None:
    """Make the parts on the workers of a Dask cluster."""
    try:
        import distributed
    except ImportError:
        raise ImportError('a scheduler needs Dask: pip install "sciops[dask]"') from None
    with contextlib.ExitStack() as stack:
        own = isinstance(scheduler, str)
        client = stack.enter_context(distributed.Client(scheduler)) if own else scheduler
        futures = client.map(make_part, parts, pure=False)
        stack.callback(client.cancel, futures)
        for future in distributed.as_completed(futures):
            report(future.result())


def thread_count(workers: int | None) -> int:
    """How many threads are wanted: one for each core if not said."""
    if workers is None:
        return cores()
    if not isinstance(workers, int | np.integer) or workers < 1:
        raise ValueError(f"workers={workers!r} must be at least 1, or None for all cores")
    return int(workers)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
