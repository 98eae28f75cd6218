"""What `benchmarks.large` measures, each in a process of its own; the kernel limits its memory.

    python -m benchmarks.limited generation SAMPLES POINTS STORE
    python -m benchmarks.limited training STORE MEGABYTES SAMPLES
    python -m benchmarks.limited step NETWORK

Each prints JSON, a line at a time.  `training` is told by lines of its input when to train; with 0
megabytes it has its samples in memory and no limit, otherwise they stay on disk and it has so much
memory of its own beside what it has when it begins (`ulimit -d`; addresses, which `ulimit -v`
counts, are reserved by every thread and hardly used).
"""

import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
from torch import nn
from torch.utils.data import Dataset, Subset

import sciops
from benchmarks.feeding import darcy_like
from benchmarks.measure import peak_megabytes, resident_megabytes
from sciops.backbones import make_backbone
from sciops.config import Optimisation, Training
from sciops.data.samples import MemorySamples, task_of
from sciops.data.store import open_store
from sciops.data.stored_samples import StoredSamples
from sciops.training import fit
from sciops.training_memory import step_bytes

GIGABYTE = 10**9
BATCH = 10
XD = dict(width=16, frequencies=8)
NETWORKS = {"xd": ("xd", {}), "small xd": ("xd", XD), "fno": ("fno", {}), "conv": ("conv", {})}


def say(**found) -> None:
    print(json.dumps(found), flush=True)


def limit(megabytes: int) -> None:
    """So much memory, and no more, beside what this process has."""
    most = int(resident_megabytes("VmData") * 2**20) + megabytes * 10**6
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def generation(samples: str, points: str, out: str) -> None:
    """Burgers' equation within 1 GB of memory of its own, which the kernel sees to.

    The solutions need not be good to take as much memory: their error is 1e-3.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (GIGABYTE, GIGABYTE))
    how = dict(viscosity=0.1, error=1e-3, workers=2, progress=False)
    begin = time.perf_counter()
    sciops.generate("burgers", int(samples), resolution=int(points), out=out, **how)
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    peak = max(resident_megabytes("VmHWM"), of_children)
    say(peak=peak, seconds=time.perf_counter() - begin)


def training(store: str, megabytes: str, samples: str) -> None:
    """XD on a store, from memory or within a limit; an epoch for every line of the input."""
    task = task_of(open_store(store)["train"].to_dataset())
    if int(megabytes):
        limit(int(megabytes))
        say(refused=in_memory(store), failed=in_memory(store, believed=1000))
        data = StoredSamples(store, "train", task, open_store(store)["train"].sizes["sample"])
    else:
        data = MemorySamples(open_store(store)["train"].to_dataset())
        say(refused=None, failed=None)
    chance = np.random.default_rng(0)
    model = make_backbone(task, "xd", **XD).fit(*data.__getitems__(range(64)))
    for _ in sys.stdin:
        forget(Path(store))
        chosen = chance.choice(len(data), int(samples), replace=False).tolist()
        say(seconds=epoch(model, Subset(data, chosen), BATCH))


def in_memory(store: str, believed: float | None = None) -> str | None:
    """What is said when the samples are to be in memory; None if they fit.

    believed: gigabytes that SCIOPS_MEMORY claims to be there, so that it is tried
    """
    if believed is not None:
        os.environ["SCIOPS_MEMORY"] = str(believed)
    try:
        MemorySamples(open_store(store)["train"].to_dataset())
    except (ValueError, MemoryError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        os.environ.pop("SCIOPS_MEMORY", None)
    return None


def forget(store: Path) -> None:
    """Files of a store are no longer in the memory of the system, but on the disk alone."""
    for file in store.rglob("c.*"):
        with file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def epoch(model: nn.Module, data: Dataset, batch: int) -> float:
    """Seconds of one."""
    rates = Optimisation(1e-3), Optimisation(1e-3)
    history = fit(model, data, None, Training(1, batch, *rates), progress=False)
    return float(history["seconds"].iloc[0])


def step(network: str, batch: int = 32, size: int = 43) -> None:
    """Estimated and measured megabytes of training steps."""
    op, options = NETWORKS[network]
    data = MemorySamples(darcy_like(2 * batch, size))
    model = make_backbone(data.task, op, **options).fit(data.x, data.y)
    estimated = step_bytes(model, data, batch) / 2**20
    epoch(model, Subset(data, range(4)), 2)  # so that all code is loaded
    model.zero_grad()
    measured = peak_megabytes(lambda: epoch(model, data, batch))
    say(network=network, estimated=estimated, measured=measured)


if __name__ == "__main__":
    {"generation": generation, "training": training, "step": step}[sys.argv[1]](*sys.argv[2:])
