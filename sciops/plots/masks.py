"""Masks of images: what was there, what was found, what is left; and ROC curves.

Images are stretched by asinh (x − median)/(robust deviation), so that the noise of the sky and the
cores of stars are both seen.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .style import INK, MUTED, PALETTE, RULE, colour, new_figure, styled, with_rules

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

SKY_MAP, PROBABILITY_MAP = "gray", "magma"
DARKEST, BRIGHTEST = -1.5, 5.0  # asinh of deviations from the sky; 5 is about 75 of them
LEAST_RATE = 1e-6  # false positives that a logarithmic axis shows
MASK_COLOUR = PALETTE[1]


@styled
def mask_panels(
    images: Sequence[np.ndarray],
    probabilities: Sequence[np.ndarray],
    cleaned: Sequence[np.ndarray],
    truths: Sequence[np.ndarray | None] | None = None,
    names: Sequence[str] | None = None,
    *,
    unknown: Sequence[np.ndarray] | None = None,
) -> "Figure":
    """One row an image: as it was, its true mask, the probabilities, and cleaned.

    All arrays are (h, w).  An image and its cleaned version have the same stretch.

    truths:  None, or None for an image without one, leaves these panels out or empty
    unknown: pixels that count for nothing, grey in the mask
    """
    names = [f"image {k}" for k in range(len(images))] if names is None else names
    truths = [None] * len(images) if truths is None else truths
    unknown = [None] * len(images) if unknown is None else unknown
    given = (images, probabilities, cleaned, truths, names, unknown)
    if len({len(one) for one in given}) > 1 or not len(images):
        raise ValueError(
            "mask_panels needs a probability, a cleaned image, a truth and a name for each image, "
            f"got {', '.join(str(len(one)) for one in given)}"
        )
    with_truth = any(truth is not None for truth in truths)
    titles = ["image", *["true mask"] * with_truth, "probability", "cleaned"]
    figure = new_figure(3.3 * len(titles) + 0.8, 3.35 * len(images) + 0.3)
    grid = figure.subplots(len(images), len(titles), squeeze=False)
    for axes, title in zip(grid[0], titles, strict=True):
        axes.set_title(title)
    for row, *arrays, name, out in zip(grid, *given, strict=True):
        _check_shapes(arrays, name)
        shown = _row(row, *arrays, out)
        row[0].set_ylabel(name)
    bar = figure.colorbar(shown, ax=grid, aspect=30, fraction=0.02, pad=0.01)
    bar.set_label("probability")
    bar.outline.set_visible(False)
    return figure


def _check_shapes(arrays: Sequence[np.ndarray | None], name: str) -> None:
    shapes = {np.shape(array) for array in arrays if array is not None}
    if len(shapes) > 1 or len(next(iter(shapes))) != 2:
        raise ValueError(f"the arrays of {name} must be of one shape (h, w), got {sorted(shapes)}")


def _row(row: "Sequence[Axes]", image, probability, cleaned, truth, unknown) -> "AxesImage":
    """The panels of one image; that of the probabilities is returned."""
    for axes in row:
        axes.set(xticks=[], yticks=[], facecolor=RULE)
        axes.spines[:].set_visible(False)
    first, *middle, chances, last = row
    sky = dict(cmap=SKY_MAP, vmin=DARKEST, vmax=BRIGHTEST)
    first.imshow(stretched(image, image), **sky)
    last.imshow(stretched(cleaned, image), **sky)
    for axes in middle:
        _show_mask(axes, truth, unknown)
    return chances.imshow(probability, cmap=PROBABILITY_MAP, vmin=0, vmax=1)


def _show_mask(axes: "Axes", truth: np.ndarray | None, unknown: np.ndarray | None) -> None:
    from matplotlib.colors import ListedColormap

    if truth is None:
        axes.text(0.5, 0.5, "not known", ha="center", color=MUTED, transform=axes.transAxes)
        return
    kind = np.asarray(truth, bool).astype(int)
    if unknown is not None:
        kind = np.where(np.asarray(unknown, bool), 2, kind)
    axes.imshow(kind, cmap=ListedColormap(["black", "white", MUTED]), vmin=0, vmax=2)


def stretched(image: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """asinh of the deviations of an image from the sky of a reference.

    >>> image = np.array([1.0, 2.0, 3.0, 4.0, 1000.0])
    >>> stretched(image, image).round(2)
    array([-1.11, -0.63,  0.  ,  0.63,  7.2 ])
    """
    image, known = np.asarray(image, float), np.asarray(reference, float)
    known = known[np.isfinite(known)]
    centre = np.median(known) if known.size else 0.0
    amount = np.abs(known - centre)
    scale = 1.4826 * np.median(amount) if known.size else 1.0
    return np.arcsinh((image - centre) / (scale or amount.mean() or 1.0))


@styled
def roc_curves(
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    points: Mapping[str, tuple[float, float]] | None = None,
    *,
    opponents: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
    marked: float | None = 1e-3,
) -> "Figure":
    """Share of hit pixels that are found over the share of clean pixels that are flagged.

    curves:    by name, (false-positive rates, true-positive rates)
    opponents: the same, of other methods; drawn dashed, with a mark at each threshold
    points:    by name, methods that have one threshold
    marked:    a false-positive rate to compare at
    """
    opponents, points = opponents or {}, points or {}
    if not {**curves, **opponents, **points}:
        raise ValueError("expected at least one curve or point, got none")
    figure = new_figure(7.0, 4.6)
    axes = with_rules(figure.subplots(), "both")
    lines = [(*one, "-", "") for one in curves.items()]
    lines += [(*one, (0, (4, 2)), "o") for one in opponents.items()]
    lowest = 1.0
    for number, (name, rates, dashes, marker) in enumerate(lines):
        false, true = _checked_rates(rates, name)
        axes.plot(
            false, 100 * true, color=colour(number), ls=dashes, marker=marker, ms=4, label=name
        )
        lowest = min([lowest, *false[(false > LEAST_RATE) & (true > 0)]])
    for number, (name, rates) in enumerate(points.items(), len(lines)):
        false, true = _checked_rates(rates, name)
        axes.plot(false, 100 * true, color=colour(number), ls="", marker="D", label=name)
        lowest = min([lowest, *false[false > LEAST_RATE]])
    if marked is not None:
        axes.axvline(marked, color=MUTED, lw=1, ls=(0, (1, 1.4)))
    axes.set(xscale="log", xlim=(min(lowest, 1e-4), 1.0), ylim=(0, 102))
    axes.set(xlabel="clean pixels that are flagged", ylabel="hit pixels that are found (%)")
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    axes.minorticks_off()
    axes.legend(loc="lower right", labelcolor=INK)
    return figure


def _checked_rates(rates, name: str) -> tuple[np.ndarray, np.ndarray]:
    """In the order of the false positives."""
    false, true = (np.atleast_1d(np.asarray(one, float)) for one in rates)
    if false.ndim != 1 or false.shape != true.shape:
        raise ValueError(
            f"{name} must have as many false- as true-positive rates, got the shapes {false.shape} "
            f"and {true.shape}"
        )
    both = np.concatenate([false, true])
    if not ((both >= 0) & (both <= 1)).all():
        raise ValueError(f"the rates of {name} must be shares between 0 and 1")
    order = np.lexsort((true, false))
    return false[order], true[order]
