"""Inpainting against a slow loop, at edges, in large holes, and where nothing can be done."""

import numpy as np
import pytest

from sciops.cosmic.inpainting import RADIUS, ROUNDS, inpaint
from tests.cosmic.mask_toy import sky


def one_round(image: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Medians of known pixels, pixel by pixel; and what is known then."""
    filled, now = image.copy(), known.copy()
    for row, column in np.argwhere(~known):
        around = np.s_[
            max(row - RADIUS, 0) : row + RADIUS + 1, max(column - RADIUS, 0) : column + RADIUS + 1
        ]
        if known[around].any():
            filled[row, column] = np.median(image[around][known[around]])
            now[row, column] = True
    return filled, now


def test_agrees_with_the_loop():
    image, mask = sky()
    mask[20:31, 40:52] = True  # five rounds
    mask[:3, :3] = mask[-1, :] = True
    expected, known = image, ~mask
    while not known.all():
        expected, known = one_round(expected, known)
    found = inpaint(image, mask)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32 and np.array_equal(found[~mask], image[~mask])


def test_parts_are_the_whole(monkeypatch):
    image, mask = sky()
    expected = inpaint(image, mask)
    monkeypatch.setattr("sciops.cosmic.inpainting.AT_ONCE", 3)
    assert np.array_equal(inpaint(image, mask), expected)


def test_streaks_disappear():
    image, mask = sky()
    clean = image - 1500 * mask
    found = inpaint(image, mask)
    assert np.abs(found - clean)[mask].mean() < 0.1 * np.abs(image - clean)[mask].mean()


def test_holes_that_medians_do_not_reach_take_the_nearest_pixel():
    n = 2 * RADIUS * (ROUNDS + 3)
    image = np.zeros((n, 3), np.float32)
    image[0], image[-1] = 10, 20
    mask = np.ones(image.shape, bool)
    mask[0] = mask[-1] = False
    found = inpaint(image, mask)
    assert (found[: n // 2] == 10).all() and (found[n // 2 :] == 20).all()


def test_islands_among_unknown_pixels_are_filled_too():
    image = np.full((30, 30), np.nan)
    image[:3], image[20, 20] = 7, 1000
    mask = np.zeros(image.shape, bool)
    mask[20, 20] = True
    found = inpaint(image, mask)
    assert found[20, 20] == 7 and np.isnan(found).sum() == np.isnan(image).sum()


def test_unknown_pixels_are_neither_used_nor_changed():
    image = np.full((9, 9), 5.0)
    unknown, mask = np.zeros((2, 9, 9), bool)
    mask[4, 4] = True
    image[mask], unknown[3, :] = 99, True
    image[unknown] = -1000
    found = inpaint(image, mask, unknown)
    assert found[4, 4] == 5 and (found[unknown] == -1000).all()


@pytest.mark.parametrize("dtype", ["u2", ">i2", ">f4", "f8"])
def test_the_type_of_the_image_is_kept(dtype):
    image = np.array([[1, 2, 9], [4, 5, 6]], dtype)
    found = inpaint(image, image == 9)
    assert found.dtype == np.dtype(dtype).newbyteorder("=")
    assert found[0, 2] == 4 and found[1, 1] == 5  # the median of 2, 5, 6, 1, 4
    assert image[0, 2] == 9


def test_half_numbers_are_rounded_in_images_of_whole_ones():
    image = np.array([[1, 4, 90]], np.int16)
    assert inpaint(image, image == 90).tolist() == [[1, 4, 2]]  # 2.5, to even


def test_nothing_masked_is_a_copy():
    image, _ = sky()
    found = inpaint(image, np.zeros(image.shape, bool))
    assert np.array_equal(found, image) and not np.shares_memory(found, image)


def test_what_cannot_be_done():
    with pytest.raises(ValueError, match="no pixel is left to fill the masked ones from"):
        inpaint(np.ones((3, 3)), np.ones((3, 3), bool))
    with pytest.raises(ValueError, match="no pixel is left"):
        inpaint(np.array([[np.nan, 1.0]]), np.array([[False, True]]))
    with pytest.raises(ValueError, match=r"got \(3, 3\) and \(3, 2\)"):
        inpaint(np.ones((3, 3)), np.ones((3, 2), bool))
