"""Timing and memory of layers, opponents side by side in one process."""

import ctypes
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from sciops.operators import scratch


def forward_backward(layer: nn.Module, x: Tensor, gradient: Tensor) -> None:
    """One training step's worth of a layer, gradients for input and parameters."""
    layer(x).backward(gradient)
    x.grad = None
    layer.zero_grad()


def side_by_side(runs: list[Callable[[], None]], repeats: int) -> list[float]:
    """Median seconds of each run; they take turns, so that a slow minute hits all alike."""
    for run in runs:
        run()
        run()
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            times[i].append(time.perf_counter() - start)
    return [statistics.median(t) for t in times]


def peak_megabytes(run: Callable[[], None]) -> float:
    """Highest resident memory during one run above that before it (Linux; nan elsewhere)."""
    try:
        libc = ctypes.CDLL("libc.so.6")
        gc.collect()
        scratch.clear()  # what waits there counts for the run that needs it
        libc.malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # forget the old peak
    except OSError:
        return float("nan")
    before = resident_megabytes()
    run()
    return resident_megabytes("VmHWM") - before


def resident_megabytes(field: str = "VmRSS") -> float:
    """Of this process now, or with VmHWM the most it ever had (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def machine_limits() -> tuple[float, float]:
    """Float32 GEMM rate (GFlop/s) and copy bandwidth (GB/s) that torch reaches here."""
    a, b, c = torch.randn(3, 1024, 1024)
    x, y = torch.randn(2, 2**24)
    gemm, copy = side_by_side([lambda: torch.mm(a, b, out=c), lambda: y.copy_(x)], 15)
    return 2 * 1024**3 / gemm / 1e9, 2 * x.numel() * 4 / copy / 1e9


def profile_shares(run: Callable[[], None], repeats: int = 5) -> dict[str, float]:
    """Share of the time spent in matrix products, in copies, and in everything else."""
    from torch.profiler import ProfilerActivity, profile

    run()
    with profile(activities=[ProfilerActivity.CPU]) as record:
        for _ in range(repeats):
            run()
    kinds = {
        "matrix products": ("mm", "bmm", "addmm", "baddbmm"),
        "copies": ("copy_", "cat", "fill_"),
    }
    events = {
        event.key.removeprefix("aten::"): event.self_cpu_time_total
        for event in record.key_averages()
    }
    total = sum(events.values())
    shares = {kind: sum(events.get(n, 0) for n in names) / total for kind, names in kinds.items()}
    return {**shares, "the rest": 1 - sum(shares.values())}
