"""The picture of the front page: what XD predicts, and its error on grids it was not trained on.

    make demo
    python -m docs.front_picture out/demo/xd-seed0

The fields are those of a test sample of the run, of median error; the curves are the table
benchmarks/results/resolution_transfer.csv.  Writes docs/pictures/front.png.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import sciops
from sciops.plots.shown import Sample, median_and_worst, shown_samples
from sciops.plots.style import (
    ERROR_MAP,
    FIELD_MAP,
    INPUT_MAP,
    MUTED,
    colour,
    log_scale,
    new_figure,
    styled,
    with_rules,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "benchmarks" / "results" / "resolution_transfer.csv"
PICTURE = ROOT / "docs" / "pictures" / "front.png"
DPI = 100
TRAINED = 43  # points along an axis
LINES = {
    "xd": "XD",
    "fno": "FNO, ours",
    "neuralop-repaired": "FNO of neuraloperator, repaired",
    "neuralop": "FNO of neuraloperator",
}


def median_sample(run) -> Sample:
    """The test sample of a run whose error is the median."""
    data = run.data["test"].to_dataset()
    place = next(iter(median_and_worst(run.evaluate()["relative_l2"].values).values()))
    (sample,) = shown_samples(run.model, data, run.task, {"": place})
    return sample


def curves(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Errors and their controls by resolution, of each line."""
    darcy = table[table["problem"] == "darcy"]
    columns = ["relative_l2", "control_upsample"]
    return {op: darcy[darcy["op"] == op].groupby("resolution")[columns].mean() for op in LINES}


@styled
def front(sample: Sample, errors: dict[str, pd.DataFrame]) -> "Figure":
    """Four fields beside the errors against resolution."""
    figure = new_figure(11.4, 4.9)
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.12), wspace=0.03)
    _fields(left, sample)
    _errors(right.subplots(), errors)
    return figure


def _fields(figure: "SubFigure", sample: Sample) -> None:
    truth, guess = sample.y[0], sample.prediction[0]
    low, high = min(truth.min(), guess.min()), max(truth.max(), guess.max())
    most = np.abs(guess - truth).max()
    panels = {
        "input: permeability": (sample.x[0], INPUT_MAP, None, None),
        "truth: pressure": (truth, FIELD_MAP, low, high),
        "prediction of XD": (guess, FIELD_MAP, low, high),
        "prediction − truth": (guess - truth, ERROR_MAP, -most, most),
    }
    for axes, (title, (values, colours, *limits)) in zip(
        figure.subplots(2, 2).flat, panels.items(), strict=True
    ):
        image = axes.imshow(values.T, cmap=colours, vmin=limits[0], vmax=limits[1])
        axes.set(title=title, xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        bar = figure.colorbar(image, ax=axes, fraction=0.045, pad=0.03)
        bar.outline.set_visible(False)
        bar.locator.set_params(nbins=4)


def _errors(axes: "Axes", errors: dict[str, pd.DataFrame]) -> None:
    with_rules(axes)
    for number, (op, table) in enumerate(errors.items()):
        tint = colour(number)
        axes.plot(table.index, table["relative_l2"], color=tint, marker="o", label=LINES[op])
        axes.plot(table.index, table["control_upsample"], color=tint, lw=1.2, ls=(0, (4, 2)))
    axes.plot([], [], color=MUTED, lw=1.2, ls=(0, (4, 2)), label="its prediction, interpolated")
    log_scale(axes, "y", np.concatenate([table["relative_l2"] for table in errors.values()]))
    grids = sorted(set().union(*(table.index for table in errors.values())))
    axes.set_xscale("log")
    axes.set_xticks(grids, [str(grid) for grid in grids])
    axes.minorticks_off()
    axes.axvline(TRAINED, color=MUTED, lw=0.8, zorder=0)
    axes.annotate(
        "trained here",
        (TRAINED, 0.45),
        (5, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        color=MUTED,
        fontsize=9.5,
    )
    axes.set(xlabel="points along an axis", ylabel="relative L2 error", title="Darcy flow")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=9.5)


def main(path: str | Path, picture: Path = PICTURE) -> None:
    figure = front(median_sample(sciops.open_run(path)), curves(pd.read_csv(TABLE)))
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=DPI)


if __name__ == "__main__":
    main(sys.argv[1])
