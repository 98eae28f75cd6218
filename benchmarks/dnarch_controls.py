"""Why continuous CNNs are behind FNO on Darcy flow: one difference after another is taken away.

    python -m benchmarks.dnarch_controls             all controls, half a minute each at each rate
    python -m benchmarks.dnarch_controls --table     only print what is there

Two bodies, each with any of these operators between its maps of channels:

    fno    h ← GELU( op(h) + W h )  four times, a hidden layer of 128 before the output
    ccnn   h ← h + linear GELU( mixer op(norm h) )  four times, a linear output

    modes, pairs          FNO's: a complex matrix, channels to channels, for each mode
    modes as taps, pairs  the same matrices, but what is learned are their Fourier transforms
    modes, single         their diagonals: a complex number for each mode and channel
    taps, single; pairs   free taps, as many as a continuous kernel has at its start (σ = 0.2), of
                          each channel; of each pair of channels
    kernels, single; pairs  DNArch's: the same taps, drawn by a coordinate network
    kernels of 128, pairs   with 128 hidden units, as published, instead of 32

Darcy on 32², 200 samples, 15 epochs of 20 steps, 16 channels, σ not learned.  Data, augmentation,
coordinates as inputs, Adam, ramp and decay are the same for all; only the rate is tried: 0.003 is
FNO's, 0.01 is DNArch's.  Shown are validation errors at the better of both.

Writes benchmarks/results/dnarch_controls.csv and .md; interrupted, it goes on where it stopped.
"""

import argparse
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.results import FOLDER, Rows, digits, markdown, mean_and_spread
from sciops.atomic import write_text
from sciops.backbones.ccnn import point_norm
from sciops.backbones.normalized import Normalized
from sciops.backbones.positions import positions, unit_points
from sciops.config import Optimisation, Training
from sciops.data.samples import MemorySamples, task_of
from sciops.operators import FourierLayer
from sciops.operators.continuous import KernelNet, frequencies_of, gain_of, spacings_of, taps_of
from sciops.operators.depthwise import around, circles, depthwise, ends_halved
from sciops.runs.data import generated
from sciops.runs.frame import own_random_numbers
from sciops.task import Task
from sciops.training import fit

KEY = ("body", "operator", "width", "epochs", "rate", "seed")
DATA: dict[str, Any] = dict(resolution=32, counts=dict(train=200, val=50, test=1))
ENDS = (False, False)  # no axis is periodic
FOURIER: dict[str, Any] = dict(modes=(24, 12), grid=("closed",) * 2, period=(1.25,) * 2)
SIGMA = 0.2
RATES = (0.003, 0.01)


class SingleModes(FourierLayer):
    """A Fourier layer whose matrices are diagonal."""

    def __init__(self, width: int, size: tuple[int, ...]):
        super().__init__(1, width, **FOURIER)
        self.in_channels = width

    def forward(self, x: Tensor) -> Tensor:
        weight = torch.diag_embed(self.weight[..., 0])  # (*modes, 2, 1, width, width)
        return self.frame.apply(x, self.frame.prepare(weight, None, None, 1), None)


class ModesAsTaps(FourierLayer):
    """A Fourier layer with the same W[f], but learned are their values on a grid of 24² points.

    W = F θ with the unitary F of real fields, so that it starts alike and can become the same; only
    what a step of Adam moves by one rate is another thing: not a mode, but a tap.
    """

    def __init__(self, width: int, size: tuple[int, ...]):
        super().__init__(width, width, **FOURIER)
        n, m = FOURIER["modes"]
        self.weight = nn.Parameter(torch.randn(n, 2 * m, 1, width, width) / math.sqrt(width))

    def forward(self, x: Tensor) -> Tensor:
        n, m = FOURIER["modes"]
        modes = torch.fft.rfftn(self.weight, dim=(0, 1), norm="ortho")[:, :m].roll(n // 2, 0)
        weight = torch.view_as_real(modes).movedim(-1, 2)  # (n, m, 2, 1, out, in)
        return self.frame.apply(x, self.frame.prepare(weight, None, None, 1), None)


class Kernels(nn.Module):
    """Convolution with continuous kernels or free taps, of channels or of pairs of them."""

    def __init__(self, width: int, size: tuple[int, ...], *, pairs: bool, hidden: int | None = 32):
        super().__init__()
        spacings = spacings_of(size, ENDS)
        self.pairs, count = pairs, width**2 if pairs else width
        taps = [taps_of(h, torch.tensor(SIGMA), torch.zeros(())) for h in spacings]
        mask = taps[0].weights[:, None] * taps[1].weights
        mask = mask * gain_of(spacings, SIGMA) / (math.sqrt(width) if pairs else 1.0)
        self.register_buffer("mask", mask)
        self.coordinates = [axis.coordinates for axis in taps]
        self.taps = None if hidden else nn.Parameter(torch.randn(count, *mask.shape))
        self.net = KernelNet(1, count, frequencies_of(spacings), hidden) if hidden else None

    def kernels(self) -> Tensor:
        """(channels or pairs, *taps)."""
        if self.taps is not None:
            return self.taps * self.mask
        found = self.net.kernels(self.net.features(self.coordinates), 0, len(self.net.weight[0]))
        return found.unflatten(1, self.mask.shape) * self.mask

    def forward(self, x: Tensor) -> Tensor:
        x = ends_halved(x, ENDS)
        return by_pairs(x, self.kernels()) if self.pairs else depthwise(x, self.kernels(), ENDS)


def by_pairs(x: Tensor, kernels: Tensor) -> Tensor:
    """y_o = Σᵢ k_oi ⋆ x_i, by Fourier transforms."""
    size, width = x.shape[2:], x.shape[1]
    circle = circles(tuple(size), tuple(kernels.shape[1:]), ENDS)
    for axis, n in enumerate(circle, 1):
        kernels = around(kernels, n, axis)
    k = torch.fft.rfftn(kernels, dim=(1, 2)).conj().unflatten(0, (width, width))
    y = torch.einsum("bixy,oixy->boxy", torch.fft.rfftn(x, circle, (2, 3)), k)
    return torch.fft.irfftn(y, circle, (2, 3))[..., : size[0], : size[1]]


OPERATORS: dict[str, Callable[[int, tuple[int, ...]], nn.Module]] = {
    "modes, pairs": lambda width, size: FourierLayer(width, width, **FOURIER),
    "modes as taps, pairs": ModesAsTaps,
    "modes, single": SingleModes,
    "taps, single": partial(Kernels, pairs=False, hidden=None),
    "taps, pairs": partial(Kernels, pairs=True, hidden=None),
    "kernels, single": partial(Kernels, pairs=False),
    "kernels, pairs": partial(Kernels, pairs=True),
    "kernels of 128, pairs": partial(Kernels, pairs=True, hidden=128),
}


class FnoBlock(nn.Module):
    """GELU( op(h) + W h )."""

    def __init__(self, operator: nn.Module, width: int, *, last: bool):
        super().__init__()
        self.operator, self.pointwise, self.last = operator, nn.Conv2d(width, width, 1), last

    def forward(self, h: Tensor) -> Tensor:
        h = self.operator(h) + self.pointwise(h)
        return h if self.last else F.gelu(h)


class PointNorm(nn.Module):
    """As in continuous CNNs of style modern."""

    def __init__(self, width: int):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        return point_norm(x, self.weight, self.bias)


class CcnnBlock(nn.Module):
    """h + linear GELU( mixer op(norm h) )."""

    def __init__(self, operator: nn.Module, width: int):
        super().__init__()
        mixer, linear = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        for layer in (mixer, linear):
            nn.init.normal_(layer.weight, std=1 / math.sqrt(width))
            nn.init.zeros_(layer.bias)
        self.branch = nn.Sequential(PointNorm(width), operator, mixer, nn.GELU(), linear)

    def forward(self, h: Tensor) -> Tensor:
        return h + self.branch(h)


class Control(nn.Module):
    """A body with an operator in its four blocks."""

    def __init__(self, task: Task, body: str, operator: str, width: int):
        super().__init__()
        self.task, size = task, tuple(axis.size for axis in task.axes)
        made = [OPERATORS[operator](width, size) for _ in range(4)]
        inputs, outputs = task.in_channels + 2, task.out_channels
        if body == "fno":
            start = [nn.Conv2d(inputs, width, 1)]
            blocks = [FnoBlock(one, width, last=i == 4) for i, one in enumerate(made, 1)]
            end = [nn.Conv2d(width, 128, 1), nn.GELU(), nn.Conv2d(128, outputs, 1)]
        else:
            start = [nn.Conv2d(inputs, width, 1), PointNorm(width), nn.GELU()]
            blocks = [CcnnBlock(one, width) for one in made]
            end = [PointNorm(width), nn.Conv2d(width, outputs, 1)]
        self.layers = nn.Sequential(*start, *blocks, *end)

    def forward(self, x: Tensor) -> Tensor:
        points = unit_points(self.task, tuple(x.shape[2:]))
        where = positions(self.task, points, x).expand(len(x), -1, -1, -1)
        return self.layers(torch.cat([x, where], 1))


def trained(body: str, operator: str, width: int, epochs: int, rate: float, seed: int) -> dict:
    """The row of a control."""
    tree, _ = generated("darcy", DATA["resolution"], DATA["counts"], {}, progress=False)
    task = task_of(tree["train"].to_dataset())
    train, val = (MemorySamples(tree[split].to_dataset(), task) for split in ("train", "val"))
    with own_random_numbers(seed):
        network = Control(task, body, operator, width)
        model = Normalized(network, task.in_channels, task.out_channels).fit(train.x, train.y)
        weights = Optimisation(rate, "adam", decay=1e-4, ramp=0.1)
        how = Training(epochs, 10, weights, weights, seed=seed, symmetries=("flip", "swap"))
        started = time.perf_counter()
        history = fit(model, train, val, how, progress=False)
    return {
        "val_error": history["val_relative_l2"].iloc[-1],
        "train_error": history["train_relative_l2"].iloc[-1],
        "parameters": sum(p.numel() for p in model.parameters()),
        "train_seconds": time.perf_counter() - started,
    }


def summary(table: pd.DataFrame) -> str:
    """Mean ± spread over the seeds at the better rate, as Markdown."""
    if table.empty:
        return "Nothing has been measured yet."
    lines = []
    for key, found in table.groupby(["body", "operator", "width", "epochs"], sort=False):
        by_rate = dict(list(found.groupby("rate")))
        rate = min(by_rate, key=lambda r: by_rate[r]["val_error"].mean())
        rows = by_rate[rate]
        lines.append(
            {
                **dict(zip(("body", "operator", "channels", "epochs"), key, strict=True)),
                "validation error": mean_and_spread(rows["val_error"]),
                "training error": digits(rows["train_error"].mean()),
                "rate": rate,
                "parameters": int(rows["parameters"].iloc[0]),
            }
        )
    machines = "\n".join(f"- {m}" for m in table["machine"].unique())
    text = "# What separates DNArch from FNO on Darcy, 32²: mean ± standard deviation (seeds)\n\n"
    return text + markdown(pd.DataFrame(lines)) + f"\n\nMachines:\n{machines}\n"


def main() -> None:
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--bodies", default="fno,ccnn")
    parser.add_argument("--operators", default=";".join(OPERATORS), help="divided by ;")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--table", action="store_true", help="only print what is there")
    chosen = parser.parse_args()
    rows = Rows("dnarch_controls", KEY, chosen.results)
    for key in [] if chosen.table else _keys(chosen):
        row = rows.get(key, lambda key=key: trained(**key))
        print(*key.values(), f"{row['val_error']:.4f}, {row['train_seconds']:.0f} s", flush=True)
        write_text(chosen.results / "dnarch_controls.md", summary(rows.table))
    print(summary(rows.table))


def _keys(chosen) -> list[dict[str, Any]]:
    size = dict(width=chosen.width, epochs=chosen.epochs)
    return [
        dict(body=body, operator=operator, **size, rate=rate, seed=seed)
        for seed in map(int, chosen.seeds.split(","))
        for body in chosen.bodies.split(",")
        for operator in chosen.operators.split(";")
        for rate in RATES
    ]


if __name__ == "__main__":
    main()
