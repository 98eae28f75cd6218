"""Figures of masks show what they were given, where and how it was."""

import numpy as np
import pytest

from sciops.plots.masks import mask_panels, roc_curves, stretched
from tests.cosmic.mask_toy import sky


def test_panels_of_an_image():
    image, mask = sky(20, 30)
    chances, cleaned = mask * 0.8, image - 1500 * mask
    figure = mask_panels([image], [chances], [cleaned], [mask], ["field"])
    *panels, bar = figure.axes
    assert [p.get_title() for p in panels] == ["image", "true mask", "probability", "cleaned"]
    assert panels[0].get_ylabel() == "field" and bar.get_ylabel() == "probability"
    first, truth, probability, last = (p.images[0].get_array() for p in panels)
    np.testing.assert_allclose(first, stretched(image, image))
    np.testing.assert_array_equal(truth, mask)
    np.testing.assert_array_equal(probability, chances)
    np.testing.assert_allclose(last, stretched(cleaned, image))  # the stretch of the image
    assert panels[0].images[0].get_clim() == panels[3].images[0].get_clim()


def test_unknown_pixels_and_truths():
    image, mask = sky(20, 30)
    unknown = np.zeros(image.shape, bool)
    unknown[:3] = True
    image[unknown] = np.nan
    some = mask_panels([image] * 2, [mask] * 2, [image] * 2, [mask, None], unknown=[unknown] * 2)
    truth, empty = some.axes[1], some.axes[5]
    assert (truth.images[0].get_array()[:3] == 2).all()
    assert not empty.images and empty.texts[0].get_text() == "not known"
    none = mask_panels([image], [mask], [image])
    assert [p.get_title() for p in none.axes[:3]] == ["image", "probability", "cleaned"]
    none.canvas.draw()


def test_a_stretch_knows_no_units():
    image, _ = sky()
    np.testing.assert_allclose(
        stretched(3 * image + 7, 3 * image + 7), stretched(image, image), atol=1e-4
    )
    assert (stretched(np.full((3, 3), 7.0), np.full((3, 3), 7.0)) == 0).all()
    assert np.isnan(stretched(np.full((3, 3), np.nan), np.full((3, 3), np.nan))).all()


def test_curves_and_points():
    curve = np.array([0.5, 1e-3, 1e-5, 0.0]), np.array([1.0, 0.9, 0.5, 0.1])
    figure = roc_curves({"unet": curve}, {"one": (0.01, 0.7)}, opponents={"LA Cosmic": curve})
    (axes,) = figure.axes
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["unet", "LA Cosmic", "one"]
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["unet"].get_xdata().tolist() == [0.0, 1e-5, 1e-3, 0.5]  # in order
    assert lines["unet"].get_ydata().tolist() == [10, 50, 90, 100]
    assert lines["LA Cosmic"].get_marker() == "o" and lines["unet"].get_linestyle() == "-"
    assert axes.get_xscale() == "log" and axes.get_xlim() == (1e-5, 1)


def test_what_does_not_fit_together_is_refused():
    image, mask = sky(20, 30)
    with pytest.raises(ValueError, match="for each image, got 1, 2, 1, 1, 1, 1"):
        mask_panels([image], [mask, mask], [image])
    with pytest.raises(ValueError, match=r"arrays of a must be of one shape"):
        mask_panels([image], [mask[:5]], [image], names=["a"])
    with pytest.raises(ValueError, match="at least one curve"):
        roc_curves({})
    with pytest.raises(ValueError, match=r"a must have as many.*\(2,\) and \(3,\)"):
        roc_curves({"a": (np.zeros(2), np.zeros(3))})
    with pytest.raises(ValueError, match="rates of a must be shares"):
        roc_curves({"a": (np.zeros(2), np.array([1, 90]))})
