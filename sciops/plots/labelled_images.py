"""Images with the class they have and the one that was predicted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .style import INK, PALETTE, RULE, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IN_A_ROW = 6


@styled
def labelled_images(
    images: np.ndarray, probabilities: np.ndarray, labels: Sequence[int], classes: Sequence[str]
) -> "Figure":
    """A panel for each image; above it the class predicted, how probable, and the true one if
    another.

    images:        (n, channel, y, x), 0 black and 1 white; the first channel, or three as colours
    probabilities: (n, classes)
    """
    if not len(images) == len(probabilities) == len(labels) > 0:
        raise ValueError(
            "labelled_images needs probabilities and a label for each image, got "
            f"{len(images)} images, {len(probabilities)} and {len(labels)}"
        )
    columns = min(IN_A_ROW, len(images))
    rows = -(-len(images) // columns)
    figure = new_figure(1.75 * columns, 2.0 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in panels[len(images) :]:
        axes.set_axis_off()
    for axes, image, row, label in zip(panels, images, probabilities, labels, strict=False):
        _panel(axes, image, row, int(label), classes)
    return figure


def _panel(axes: "Axes", image: np.ndarray, row: np.ndarray, label: int, classes: Sequence[str]):
    shown = np.moveaxis(image, 0, -1) if len(image) == 3 else image[0]
    axes.imshow(shown, cmap="gray", vmin=0, vmax=1, origin="upper")
    best = int(row.argmax())
    words = f"{classes[best]} ({row[best]:.2f})"
    right = best == label
    text = words if right else f"{words}, is {classes[label]}"
    axes.set_title(text, fontsize=9.5, color=INK if right else PALETTE[1])
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(visible=True, color=RULE)
