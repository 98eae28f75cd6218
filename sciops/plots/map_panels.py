"""The learned matrices of a model with XD layers, and how far each moved from its start."""

from typing import TYPE_CHECKING

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from sciops.operators.learned_maps import learned_maps

from .style import FIELD_MAP, MUTED, new_figure, power_of_ten, short, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

FINEST = 128  # squares along a side of a picture; larger matrices are averaged
DARKEST = 1e-3  # of the largest entry; what is smaller looks the same
MEANINGS = {"K": "modes → output", "L": "weights → modes", "M": "input → modes"}


@styled
def operators(model: nn.Module, start: nn.Module | None = None) -> "Figure":
    """|K|, |L|, |M| of every XD layer: a row for each layer, a column for each map and axis.

    Below each is how far it moved, ‖K − K₀‖ / ‖K₀‖.

    start: a model of the same shape to compare with, instead of the start that K-matrices keep
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm

    layers = _pictures(model, start)
    columns = sorted({column for row in layers for column in row})
    largest = max(picture.max() for row in layers for picture, _ in row.values()) or 1.0
    colours = ScalarMappable(LogNorm(DARKEST * largest, largest, clip=True), FIELD_MAP)
    side = min(10.4 / len(columns), 1.8)
    figure = new_figure((side + 0.1) * len(columns) + 1.2, (side + 0.45) * len(layers) + 0.6)
    grid = figure.subplots(len(layers), len(columns), squeeze=False)
    for number, (panels, row) in enumerate(zip(grid, layers, strict=True), start=1):
        panels[0].set_ylabel(f"Layer {number}")
        for axes, column in zip(panels, columns, strict=True):
            _draw(axes, row.get(column), colours)
    for axes, (letter, axis) in zip(grid[0], columns, strict=True):
        which = f", axis {axis}" if len(columns) > 3 else ""
        axes.set_title(f"|{letter}|{which}\n{MEANINGS[letter]}", fontsize=min(11, 8 * side))
    bar = figure.colorbar(colours, ax=grid, fraction=0.02, pad=0.01)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(lambda value, _: power_of_ten(value))
    bar.minorticks_off()
    return figure


def _draw(axes: "Axes", found: tuple[np.ndarray, float] | None, colours: "ScalarMappable") -> None:
    """A picture and the distance below it; nothing where a layer has no such map."""
    axes.set(xticks=[], yticks=[], box_aspect=1)
    axes.spines[:].set_visible(False)
    if found is not None:
        magnitudes, distance = found
        look = dict(cmap=colours.cmap, norm=colours.norm, origin="upper", aspect="auto")
        axes.imshow(magnitudes, **look)
        axes.set_xlabel(f"moved {short(100 * distance)} %", color=MUTED)


def _pictures(model: nn.Module, start: nn.Module | None) -> list[dict]:
    """For each layer {(map, axis): (picture, relative distance)}."""
    layers: dict[str, dict] = {}
    for learned in learned_maps(model, start):
        found = (picture(learned.now), learned.relative_distance)
        layers.setdefault(learned.layer, {})[learned.map, learned.axis] = found
    if not layers:
        raise ValueError("the model has no XD layer with maps to learn; build it with op='xd'")
    return list(layers.values())


def picture(matrix: Tensor) -> np.ndarray:
    """|matrix|, of at most FINEST rows and columns."""
    size = [min(n, FINEST) for n in matrix.shape]
    return F.adaptive_avg_pool2d(matrix.abs()[None], size)[0].numpy()
