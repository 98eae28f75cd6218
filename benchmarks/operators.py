"""Speed of XD against neuraloperator's SpectralConv, side by side in one process.

    python -m benchmarks.operators [--quick] [--figure out/operators.png]

A ratio above 1 means that ours is faster.  Medians of interleaved repeats, float32, two threads.
"""

import argparse
import math
from pathlib import Path

import pandas as pd
import torch
from torch import nn

from benchmarks.measure import (
    forward_backward,
    machine_limits,
    peak_megabytes,
    profile_shares,
    side_by_side,
)
from sciops.operators import XD, FourierLayer

PLANE = [  # size, batch, goal of the ratio
    (64, 4, 1.5),
    (85, 20, 3.0),
    (128, 8, 2.5),
    (141, 4, 6.0),
    (256, 4, 5.0),
    (421, 2, 10.0),
]


def spectral_conv(channels: int, n_modes: tuple[int, ...]) -> nn.Module:
    from neuralop.layers.spectral_convolution import SpectralConv

    return SpectralConv(channels, channels, n_modes)


def compare(name, opponent, ours, shape, goal, repeats, more=()) -> dict:
    """One row: both layers on the same data, training step and cached evaluation."""
    x = torch.randn(shape, requires_grad=True)
    gradient = torch.randn(shape)
    layers = [opponent, ours, *more]
    train = [lambda layer=layer: forward_backward(layer, x, gradient) for layer in layers]
    times = side_by_side(train, repeats)
    memory = [peak_megabytes(run) for run in train[:2]]
    for layer in layers:
        layer.eval()
    with torch.no_grad():
        evals = side_by_side([lambda layer=layer: layer(x) for layer in layers], repeats)
    return {
        "case": name,
        "SpectralConv ms": 1e3 * times[0],
        "XD ms": 1e3 * times[1],
        "times faster": times[0] / times[1],
        "goal": goal,
        "eval: times faster": evals[0] / evals[1],
        "SpectralConv MB": memory[0],
        "XD MB": memory[1],
        **{f"{type(layer).__name__} ms": 1e3 * t for layer, t in zip(more, times[2:], strict=True)},
    }


def plane_cases(repeats: int) -> pd.DataFrame:
    """24 × 24 modes against band XD: 32 × 16 modes, 13 × 13 taps, K, L, M learned; 32 channels."""
    rows = []
    for n, batch, goal in PLANE:
        ours = XD(32, 32, (13, 13), modes=(32, 16))
        fourier = FourierLayer(32, 32, modes=(24, 12))
        shape = (batch, 32, n, n)
        rows.append(
            compare(
                f"{n}², batch {batch}",
                spectral_conv(32, (24, 24)),
                ours,
                shape,
                goal,
                repeats,
                [fourier],
            )
        )
    return pd.DataFrame(rows)


def other_cases(repeats: int) -> pd.DataFrame:
    """One dimension (frequencies below 17 against 16) and three (below 9 against 8)."""
    rows = [
        compare(
            f"n = {n}, batch 20",
            spectral_conv(64, (32,)),
            XD(64, 64, 17, modes=16),
            (20, 64, n),
            1.5,
            repeats,
        )
        for n in (1024, 8192)
    ]
    space = XD(20, 20, (9, 9, 9), modes=(16, 16, 8))
    rows.append(
        compare(
            "64×64×20, batch 2",
            spectral_conv(20, (16, 16, 16)),
            space,
            (2, 20, 64, 64, 20),
            1.5,
            repeats,
        )
    )
    return pd.DataFrame(rows)


def grid_cases(repeats: int) -> pd.DataFrame:
    """The grid frame, XD as published but for its speed: how much slower than SpectralConv."""
    rows = []
    for n, goal in ((85, "≤ 8 ×"), (141, "≤ 2048 MB")):
        ours = XD(32, 32, (13, 13), frame="grid", size=(n, n))
        row = compare(
            f"{n}², batch 4",
            spectral_conv(32, (24, 24)),
            ours,
            (4, 32, n, n),
            goal,
            max(3, repeats // 3),
        )
        rows.append({**row, "times slower": 1 / row.pop("times faster")})
    return pd.DataFrame(rows).drop(columns=["times faster", "eval: times faster"])


def step_flops(n: int, batch: int, channels=32, modes=(32, 16), taps=13) -> dict[str, float]:
    """Floating-point operations of a training step of band XD on n × n points, by part."""
    q, pairs = batch * channels, channels**2
    r0, r1, (m0, m1) = modes[0] + 2, 2 * modes[1], modes
    transforms = 2 * q * (n * n * r1 + r0 * n * r1)  # fixed matrices: no gradient for them
    maps = 2 * q * (2 * m0 * r0 * r1 + m0 * 2 * m1 * 2 * r1)
    multiplier = 2 * pairs * (2 * m0 * taps * taps + 2 * m1 * 2 * taps * m0)
    mixing = 8 * m0 * m1 * batch * pairs
    return {
        "analysis, synthesis": 2 * 2 * transforms,
        "K, M": 2 * 3 * maps,
        "L w": 3 * multiplier,
        "channel mixing": 3 * mixing,
    }


def where_time_goes(table: pd.DataFrame) -> pd.DataFrame:
    """Flops, memory traffic and profile of band XD, against what the machine can do."""
    gemm, bandwidth = machine_limits()
    rows = []
    for (n, batch, _), seconds in zip(PLANE, table["XD ms"] / 1e3, strict=True):
        flops = step_flops(n, batch)
        total = sum(flops.values())
        field = batch * 32 * n * n * 4
        layer = XD(32, 32, (13, 13), modes=(32, 16))
        x, g = torch.randn(2, batch, 32, n, n)
        x.requires_grad_()
        shares = profile_shares(lambda layer=layer, x=x, g=g: forward_backward(layer, x, g))
        rows.append(
            {
                "case": f"{n}², batch {batch}",
                "GFlop": total / 1e9,
                **{f"{part} %": 100 * f / total for part, f in flops.items()},
                "flop limit ms": total / gemm / 1e6,
                "memory limit ms": 4 * field / bandwidth / 1e6,
                "measured ms": 1e3 * seconds,
                **{f"time in {part} %": 100 * share for part, share in shares.items()},
            }
        )
    print(
        f"\nlimits of this machine: {gemm:.0f} GFlop/s in a 1024³ product, "
        f"{bandwidth:.1f} GB/s copying"
    )
    return pd.DataFrame(rows)


def show(title: str, table: pd.DataFrame) -> None:
    from rich.console import Console
    from rich.table import Table

    printed = Table(title=title)
    for column in table:
        printed.add_column(column, justify="left" if column == "case" else "right")
    for row in table.itertuples(index=False):
        printed.add_row(
            *[f"{v:.3g}" if isinstance(v, float) and not math.isnan(v) else str(v) for v in row]
        )
    width = None if Console().is_terminal else 200
    Console(width=width).print(printed)


def draw(table: pd.DataFrame, path: Path) -> None:
    """Milliseconds of a training step per grid, both layers, and the ratio above them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    place = range(len(table))
    bars = {"SpectralConv ms": "#9aa5b1", "FourierLayer ms": "#7cc0a5", "XD ms": "#20639b"}
    for i, (column, colour) in enumerate(bars.items()):
        label = {
            "SpectralConv ms": "neuraloperator SpectralConv",
            "FourierLayer ms": "sciops FourierLayer",
        }
        axes.bar(
            [p + (i - 1) * 0.27 for p in place],
            table[column],
            0.25,
            color=colour,
            label=label.get(column, "sciops XD, K, L, M learned"),
        )
    for p, row in zip(place, table.itertuples(), strict=True):
        axes.text(
            p + 0.27, row[3] * 1.08, f"{row[4]:.1f}×", ha="center", color="#20639b", weight="bold"
        )
    axes.set_xticks(list(place), table["case"])
    axes.set(
        yscale="log",
        ylabel="forward + backward (ms)",
        title="A searched XD layer against a Fourier layer",
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"figure: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few repeats, the plane only")
    parser.add_argument("--figure", type=Path, help="where to write the bar chart")
    parser.add_argument("--csv", type=Path, help="where to write the first table")
    options = parser.parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(0)
    repeats = 5 if options.quick else 15
    plane = plane_cases(repeats)
    show(
        "band XD (32 × 16 modes, 13 × 13 taps) against SpectralConv (24 × 24), one training step",
        plane,
    )
    if not options.quick:
        show("one and three dimensions", other_cases(repeats))
        show("grid frame, 13 × 13 taps", grid_cases(repeats))
        show("where the time of band XD goes", where_time_goes(plane))
    if options.csv:
        plane.to_csv(options.csv, index=False)
    if options.figure:
        draw(plane, options.figure)


if __name__ == "__main__":
    main()
