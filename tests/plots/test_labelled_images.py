"""A panel for each image, and words that say whether it is right."""

import numpy as np
import pytest

from sciops.plots.labelled_images import labelled_images


def test_titles_say_what_was_predicted_and_what_is_true():
    images = np.random.default_rng(0).random((7, 1, 4, 4))
    p = np.tile([0.1, 0.7, 0.2], (7, 1))
    figure = labelled_images(images, p, [1, 2, 1, 1, 1, 1, 0], ["a", "b", "c"])
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[:3] == ["b (0.70)", "b (0.70), is c", "b (0.70)"]
    assert titles[6] == "b (0.70), is a" and titles[7:] == [""] * 5
    assert figure.axes[0].yaxis_inverted()  # rows count from the top
    colour = labelled_images(images.repeat(3, axis=1)[:1], p[:1], [0], ["a", "b", "c"])
    assert colour.axes[0].images[0].get_array().shape == (4, 4, 3)
    with pytest.raises(ValueError, match="got 7 images, 7 and 1"):
        labelled_images(images, p, [0], ["a", "b", "c"])
