"""What more devices bring: measured with one and two processes here, modelled for many.

    python -m benchmarks.scaling
    python -m benchmarks.scaling --model         only print the model

Writes benchmarks/results/scaling.csv, what was measured, and scaling.md, both.

Measured: seconds of an epoch of the same training, one thread a process, by one process and by two
that share every batch (DDP, gloo), in turns; the median of several turns, lowest and highest.

The model: p devices, each with b samples a step (weak scaling), P bytes of gradients, D bytes of
data a sample.  A ring sends 2 (p − 1)/p · P bytes from each device in 2 (p − 1) messages; a file
system that all share delivers p b D bytes a step while the step before is computed.

    communication = 2 (p − 1)/p · P / bandwidth + 2 (p − 1) · latency
    data          = p b D / file system
    step          = max(compute, data) + communication        efficiency = compute / step
"""

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import sciops
from benchmarks.results import FOLDER, digits, machine, markdown
from sciops.atomic import write_text

DEVICES = (1, 2, 8, 64, 512)
SMALL = dict(resolution=43, n_train=200, n_val=8, n_test=8, batch_size=20, epochs=5)
TURNS = 5


@dataclass(frozen=True)
class Cluster:
    """bandwidth: bytes/s of a link; latency: seconds a message; storage: bytes/s for all."""

    bandwidth: float = 10e9
    latency: float = 20e-6
    storage: float = 5e9


@dataclass(frozen=True)
class Work:
    """A training: bytes of gradients and of a sample, samples a device and step, seconds of it."""

    gradient_bytes: int
    sample_bytes: int
    samples: int
    compute: float


def ring_bytes(devices: int, gradient_bytes: int) -> float:
    """That each device sends to have the mean of all gradients.

    >>> ring_bytes(1, 100), ring_bytes(2, 100), ring_bytes(4, 100)
    (0.0, 100.0, 150.0)
    """
    return 2 * (devices - 1) / devices * gradient_bytes


def step(devices: int, work: Work, cluster: Cluster) -> dict[str, float]:
    """What a step takes with so many devices.

    >>> work = Work(gradient_bytes=10**7, sample_bytes=10**5, samples=10, compute=0.01)
    >>> fast = Cluster(bandwidth=1e9, latency=0.0, storage=1e9)
    >>> step(1, work, fast)["efficiency"], step(2, work, fast)["efficiency"]
    (1.0, 0.5)
    >>> step(16, work, fast)["data"]  # the file system is now slower than the computation
    0.016
    """
    sent, read = (
        ring_bytes(devices, work.gradient_bytes),
        devices * work.samples * work.sample_bytes,
    )
    communication = sent / cluster.bandwidth + 2 * (devices - 1) * cluster.latency
    data = read / cluster.storage
    seconds = max(work.compute, data) + communication
    return {
        "sent": sent,
        "read": float(read),
        "communication": communication,
        "data": data,
        "efficiency": work.compute / seconds,
    }


def saturation(work: Work, cluster: Cluster) -> float:
    """Devices from which on the file system is slower than the computation."""
    return work.compute * cluster.storage / (work.samples * work.sample_bytes)


def model_table(works: dict[str, Work], cluster: Cluster) -> pd.DataFrame:
    rows = []
    for name, work in works.items():
        for devices in DEVICES:
            found = step(devices, work, cluster)
            rows.append(
                {
                    "training": name,
                    "devices": devices,
                    "sent by each, MB a step": digits(found["sent"] / 1e6),
                    "read by all, MB a step": digits(found["read"] / 1e6),
                    "communication, ms": digits(found["communication"] * 1e3),
                    "data, ms": digits(found["data"] * 1e3),
                    "efficiency": f"{found['efficiency']:.0%}",
                    "data saturate at": f"{saturation(work, cluster):.0f} devices",
                }
            )
    return pd.DataFrame(rows)


# Networks of the recipes with their parameters (float32), samples of two fields, and the seconds of
# a step that an accelerator is assumed to take; replace them with your own.
WORKS = {
    "Darcy 85², XD": Work(4 * 1_200_000, 2 * 4 * 85**2, 20, 0.02),
    "Navier–Stokes 64² × 20, FNO in 3-D": Work(4 * 6_500_000, 20 * 4 * 64**2, 10, 0.1),
    "a network of 100 million parameters": Work(4 * 100_000_000, 2 * 4 * 256**2, 8, 0.3),
}

TRAIN = """
import sys, warnings
import sciops
warnings.simplefilter("ignore")
devices = int(sys.argv[1])
machine = dict(devices=devices, strategy="ddp" if devices > 1 else "auto")
sciops.train_pde("darcy", "xd", out=sys.argv[2], progress=False, **{small}, **machine)
"""


def epoch_seconds(devices: int, folder: Path, small: dict) -> float:
    """The median of all epochs but the first."""
    out = folder / f"run-{devices}"
    script = folder / "train.py"
    script.write_text(TRAIN.replace("{small}", repr(small)))
    subprocess.run([sys.executable, str(script), str(devices), str(out)], check=True)
    return float(sciops.open_run(out).history["seconds"].iloc[1:].median())


def measured(small: dict = SMALL, turns: int = TURNS) -> pd.DataFrame:
    """One process and two in turns, each pair compared."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as name:
            for processes, found in seconds.items():
                found.append(epoch_seconds(processes, Path(name), small))
    times = {p: np.divide(seconds[1], found) for p, found in seconds.items()}
    return pd.DataFrame(
        {
            "processes": list(seconds),
            "turns": turns,
            "seconds an epoch": [digits(np.median(found)) for found in seconds.values()],
            "times one": [f"{np.median(t):.2f}" for t in times.values()],
            "lowest": [f"{t.min():.2f}" for t in times.values()],
            "highest": [f"{t.max():.2f}" for t in times.values()],
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="store_true", help="only print the model")
    table, cluster = model_table(WORKS, Cluster()), Cluster()
    print(table.to_string(index=False))
    if parser.parse_args().model:
        return
    found = measured()
    print(found.to_string(index=False))
    write_text(FOLDER / "scaling.csv", found.assign(machine=machine()).to_csv(index=False))
    text = (
        "# Scaling\n\nMeasured, XD on Darcy flow, the same steps by one process and by two:\n\n"
        f"{markdown(found)}\n\nModelled, with {cluster}:\n\n{markdown(table)}\n\n"
        f"Machines:\n- {machine()}\n"
    )
    write_text(FOLDER / "scaling.md", text)


if __name__ == "__main__":
    main()
