"""Piano rolls show what sounded, where it sounded, over what was expected of it."""

import numpy as np
import pytest

from sciops.plots.piano_rolls import LONGEST, piano_rolls
from tests.music.toy import scale


def test_probabilities_lie_under_the_frame_they_are_for():
    roll = scale(6)
    probability = np.random.default_rng(0).random(roll.shape)
    axes, bar = piano_rolls([roll], [probability], ["song"]).axes
    assert axes.get_title() == "song" and bar.get_ylabel() == "probability"
    (image,), (marks,) = axes.images, axes.lines
    np.testing.assert_array_equal(image.get_array(), probability[:5].T)
    left, right, low, high = image.get_extent()
    assert (left, right, low, high) == (1.5, 6.5, 20.5, 108.5)  # frames 2 … 6, MIDI pitches
    frames, keys = np.nonzero(roll[1:])
    np.testing.assert_array_equal(marks.get_xdata(), frames + 2)
    np.testing.assert_array_equal(marks.get_ydata(), keys + 21)


def test_octaves_are_named():
    roll = np.zeros((4, 88), np.uint8)
    roll[:, [27, 39, 51]] = 1  # MIDI 48, 60, 72
    axes = piano_rolls([roll], [roll / 2]).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["C3", "C4", "C5"]


def test_long_and_silent_pieces_are_shown_too():
    long, silent = scale(300), np.zeros((5, 88), np.uint8)
    figure = piano_rolls([long, silent], [long * 0.5, silent * 0.5])
    assert figure.axes[0].images[0].get_array().shape == (88, LONGEST)
    assert len(figure.axes[1].lines[0].get_xdata()) == 0


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(ValueError, match="got 2 pieces, 1 and 2"):
        piano_rolls([scale(5), scale(5)], [scale(5)])
    with pytest.raises(ValueError, match=r"shape \(5, 88\), its probabilities \(4, 88\)"):
        piano_rolls([scale(5)], [scale(4)])
