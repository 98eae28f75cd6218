"""Distance maps of proteins: truth beside prediction, error by separation, contact precision.

Several models are compared on the same proteins.  Lines are means over proteins, which all count
alike, as in `sciops.metrics.distance_map`; bands are the standard error of the mean.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sciops.metrics.distance_map import (
    CONTACT,
    LONG,
    checked_maps,
    contact_precision,
    mae,
    score_precision,
)

from .style import INK, MUTED, PAPER, RULE, colour, new_figure, short, styled, with_rules

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

Pairs = Sequence[tuple[np.ndarray, np.ndarray]]  # of one model: (map, true distances)

NEAREST, FARTHEST = 4.0, 16.0  # Å; what is farther looks the same, as it does to the usual loss
DISTANCE_MAP = "YlGnBu_r"  # near is dark
COLUMNS = 4  # maps in a row, at most
SEPARATIONS = (6, 12, 18, 24, 36, 48, 72, 96)  # where bins begin
FRACTIONS = tuple(range(10, 0, -1))  # top L/10, L/9, …, L


@styled
def distance_maps(
    truths: Sequence[np.ndarray], predictions: Sequence[np.ndarray], names: Sequence[str]
) -> "Figure":
    """One map a protein: the truth above the diagonal, the prediction below it, contacts outlined.

    Unknown distances are grey.  Below each map are its long-range scores.
    """
    _check_count(truths, predictions, names)
    rows = -(-len(names) // COLUMNS)
    columns = -(-len(names) // rows)
    figure = new_figure(3.2 * columns + 0.9, 3.75 * rows + 0.35)
    words = "above the diagonal: truth, below: prediction"
    figure.suptitle(words, x=0.01, ha="left", fontsize=10.5, color=MUTED)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(names) :]:
        axes.set_axis_off()
    panels = zip(grid.flat[: len(names)], truths, predictions, names, strict=True)
    images = [_map(*panel) for panel in panels]
    for axes in grid[:, 0]:
        axes.set_ylabel("residue")
    bar = figure.colorbar(images[0], ax=grid, extend="both", aspect=30, fraction=0.03, pad=0.015)
    bar.set_label("distance (Å)")
    bar.outline.set_visible(False)
    bar.ax.axhline(CONTACT, color=INK, linewidth=1.5)
    return figure


def _check_count(truths: Sequence, predictions: Sequence, names: Sequence) -> None:
    if not len(truths) == len(predictions) == len(names) > 0:
        raise ValueError(
            "distance_maps needs a truth, a prediction and a name for each protein, got "
            f"{len(truths)}, {len(predictions)} and {len(names)}"
        )


def _map(axes: "Axes", truth: np.ndarray, prediction: np.ndarray, name: str) -> "AxesImage":
    """One protein, its residues counted from 1, downwards and to the right."""
    prediction, truth = checked_maps(prediction, truth)
    both = np.where(np.tri(len(truth), k=-1, dtype=bool), prediction, truth)
    end = len(truth) + 0.5
    frame = dict(origin="upper", extent=(0.5, end, end, 0.5))
    image = axes.imshow(both, cmap=DISTANCE_MAP, vmin=NEAREST, vmax=FARTHEST, **frame)
    if np.nanmin(both, initial=np.inf) < CONTACT < np.nanmax(both, initial=0):
        axes.contour(both, [CONTACT], colors=INK, linewidths=0.9, **frame)
    axes.plot([0.5, end], [0.5, end], color=PAPER, linewidth=1.5)
    axes.set_facecolor(RULE)  # shows where nothing is known
    axes.spines[:].set_visible(False)
    axes.locator_params(nbins=5, integer=True)
    error, precision = mae(prediction, truth), contact_precision(prediction, truth)
    axes.set_title(name)
    axes.set_xlabel(f"residue\nMAE₈ {short(error)} Å,  precision L/5 {share(precision)}")
    return image


@styled
def error_by_separation(models: Mapping[str, Pairs], *, within: float = 12.0) -> "Figure":
    """Mean |predicted − true| of pairs with a true distance ≤ within, by their separation q − p.

    models: by name, for each protein its predicted and its true distances
    """
    _check_models(models)
    figure = new_figure(7.2, 4.2)
    axes = with_rules(figure.subplots())
    longest = max(len(truth) for pairs in models.values() for _, truth in pairs)
    firsts = [s for s in SEPARATIONS if s < longest]
    bins = list(zip(firsts, (*firsts[1:], np.inf), strict=True))
    for number, (name, pairs) in enumerate(models.items()):
        table = [[bin_error(*pair, *b, within) for b in bins] for pair in pairs]
        _mean_line(axes, np.arange(len(bins)), np.array(table), colour(number), name)
    axes.set_xticks(range(len(bins)), [label_of_bin(*b) for b in bins])
    axes.set(xlim=(-0.3, len(bins) - 0.7), xlabel="separation in the sequence (residues)")
    axes.set(ylim=(0, None), ylabel=f"mean error (Å), true distance ≤ {within:g} Å")
    if LONG in firsts:
        _mark_long_range(axes, firsts.index(LONG) - 0.5)
    axes.legend(loc="best")
    return figure


def _check_models(models: Mapping[str, Pairs]) -> None:
    if not models or not all(models.values()):
        got = {name: len(pairs) for name, pairs in models.items()}
        raise ValueError(
            "expected models by name with a pair (prediction, truth) for each of at least one "
            f"protein, got these numbers of pairs: {got}"
        )


def bin_error(
    prediction: np.ndarray, truth: np.ndarray, first: int, end: float, within: float
) -> float:
    """Mean |p − y| of the pairs with first ≤ q − p < end and y ≤ within, NaN if there is none."""
    residues = np.arange(len(truth))
    separation = np.abs(residues[:, None] - residues)
    return mae(
        prediction, np.where(separation < end, truth, np.nan), within=within, separation=first
    )


def label_of_bin(first: int, end: float) -> str:
    """First to last, or first and more.

    >>> label_of_bin(12, 18), label_of_bin(96, np.inf)
    ('12–17', '≥ 96')
    """
    return f"≥ {first}" if np.isinf(end) else f"{first}–{end - 1}"


@styled
def precision_curves(
    models: Mapping[str, Pairs], scores: Mapping[str, Pairs] | None = None
) -> "Figure":
    """Precision of long-range contacts among the pairs ranked first: the top L/10, …, L/2, L.

    models: by name, for each protein its predicted and its true distances
    scores: by name, for each protein a map ranked from its highest value, such as covariations, and
            its true distances; drawn dashed
    """
    scores = scores or {}
    _check_models({**models, **scores})
    figure = new_figure(6.4, 4.4)
    axes = with_rules(figure.subplots())
    shares = 1 / np.array(FRACTIONS)
    kinds = ((models, contact_precision, "-"), (scores, score_precision, (0, (5, 2))))
    lines = [(name, pairs, *kind) for group, *kind in kinds for name, pairs in group.items()]
    for number, (name, pairs, precision, dashes) in enumerate(lines):
        table = [[precision(*pair, top=f"L/{k}") for k in FRACTIONS] for pair in pairs]
        _mean_line(axes, shares, 100 * np.array(table), colour(number), name, dashes)
    axes.set_xscale("log")
    named = (10, 5, 3, 2, 1)
    axes.set_xticks([1 / k for k in named], [f"L/{k}" if k > 1 else "L" for k in named])
    axes.minorticks_off()
    axes.set(ylim=(0, 103), xlabel="pairs ranked first, of a chain of L residues")
    axes.set_ylabel("long-range contacts among them (%)")
    axes.legend(loc="best")
    return figure


def _mean_line(
    axes: "Axes", x: np.ndarray, table: np.ndarray, tint: str, name: str, dashes="-"
) -> None:
    """The mean of each column of (protein, x) that has numbers, ± its standard error."""
    count = (~np.isnan(table)).sum(0)
    x, table, count = x[count > 0], table[:, count > 0], count[count > 0]
    mean = np.nanmean(table, 0)
    error = np.nanstd(table, 0) / np.sqrt(np.maximum(count - 1, 1))
    axes.plot(x, mean, color=tint, ls=dashes, marker="o", ms=5, label=name)
    axes.fill_between(x, mean - error, mean + error, color=tint, alpha=0.18, linewidth=0)


def _mark_long_range(axes: "Axes", x: float) -> None:
    axes.axvline(x, color=MUTED, linewidth=1, linestyle=(0, (1, 1.4)))
    place = dict(xycoords=("data", "axes fraction"), textcoords="offset points", va="top")
    axes.annotate("long range", (x, 1), (5, -2), color=MUTED, fontsize=9.5, **place)


def share(value: float) -> str:
    """A share in percent.

    >>> share(0.8333), share(float("nan"))
    ('83 %', '–')
    """
    return "–" if value != value else f"{100 * value:.0f} %"
