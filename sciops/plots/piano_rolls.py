"""Piano rolls: what sounds, over the probability with which it was expected."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .style import MUTED, PALETTE, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

LOWEST = 21  # MIDI pitch of key 0
PROBABILITY_MAP = "Greys"
OCTAVE = 12
ROOM = 2  # keys above and below what sounds
LONGEST = 96  # frames that are shown


@styled
def piano_rolls(
    rolls: Sequence[np.ndarray],
    probabilities: Sequence[np.ndarray],
    names: Sequence[str] | None = None,
) -> "Figure":
    """One panel a piece: probabilities in grey, the notes that sounded as marks upon them.

    rolls:         (T, 88), 0 or 1
    probabilities: (T, 88), row t being those of frame t + 1, predicted from frames up to t
    """
    names = [f"piece {k}" for k in range(len(rolls))] if names is None else names
    if not len(rolls) == len(probabilities) == len(names) > 0:
        raise ValueError(
            "piano_rolls needs probabilities and a name for each piece, got "
            f"{len(rolls)} pieces, {len(probabilities)} and {len(names)}"
        )
    figure = new_figure(10.8, 3.4 * len(rolls) + 0.4)
    words = "grey: probability given all frames before; orange: what sounded"
    figure.suptitle(words, x=0.01, ha="left", fontsize=10.5, color=MUTED)
    grid = figure.subplots(len(rolls), 1, squeeze=False)[:, 0]
    panels = zip(grid, rolls, probabilities, names, strict=True)
    images = [_panel(*panel) for panel in panels]
    bar = figure.colorbar(images[0], ax=grid, aspect=30, fraction=0.03, pad=0.015)
    bar.set_label("probability")
    bar.outline.set_visible(False)
    return figure


def _panel(axes: "Axes", roll: np.ndarray, probability: np.ndarray, name: str) -> "AxesImage":
    """Frames from the second on, which is the first that is predicted."""
    if roll.shape != probability.shape:
        raise ValueError(
            f"{name} has the shape {roll.shape}, its probabilities {probability.shape}; they must "
            "be the same"
        )
    sounded, expected = roll[1 : LONGEST + 1], probability[: len(roll) - 1][:LONGEST]
    frame, key = np.nonzero(sounded)
    low, high = (key.min(), key.max()) if len(key) else (0, roll.shape[1] - 1)
    end = len(sounded) + 1.5
    extent = (1.5, end, LOWEST - 0.5, LOWEST + roll.shape[1] - 0.5)
    frame_of = dict(extent=extent, aspect="auto", vmin=0, vmax=1)
    image = axes.imshow(expected.T, cmap=PROBABILITY_MAP, **frame_of)
    axes.plot(frame + 2, key + LOWEST, "_", color=PALETTE[1], markersize=5, markeredgewidth=1.6)
    axes.set(ylim=(LOWEST + low - ROOM, LOWEST + high + ROOM), xlim=(1.5, end))
    axes.set_yticks([p for p in range(24, 109, OCTAVE) if low <= p - LOWEST <= high])
    axes.set_yticklabels([f"C{round(p) // OCTAVE - 1}" for p in axes.get_yticks()])
    axes.set(title=name, xlabel="frame", ylabel="key")
    return image
