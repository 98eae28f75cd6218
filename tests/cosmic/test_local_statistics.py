"""Statistics that vary over an image: of blocks, interpolated, whatever window is asked for."""

import numpy as np
import torch

from sciops.backbones.robust_scaling import robust_statistics
from sciops.cosmic.local_statistics import local_statistics
from tests.contracts import random_tensor

EVERYTHING = (slice(None), slice(None))


def test_an_image_of_one_window_is_one_block():
    image = random_tensor(20, 17)
    found = local_statistics(image, (16, 16), robust_statistics)
    assert found.centre.shape == (1, 1)
    for mine, plain in zip(
        found.within(*EVERYTHING), robust_statistics(image[None, None]), strict=True
    ):
        assert mine.shape == (1, 1, 20, 17) and (mine == plain).all()


def test_blocks_are_interpolated_between_their_middles():
    image = torch.zeros(4, 20, dtype=torch.float64)
    image[:, 10:] = 100
    found = local_statistics(image, (4, 10), robust_statistics)
    centre, scale = found.within(*EVERYTHING)
    expected = np.interp(np.arange(20), [4.5, 14.5], [0, 100])
    np.testing.assert_allclose(centre[0, 0], np.tile(expected, (4, 1)))
    assert (scale == 1).all()


def test_a_window_has_what_the_whole_image_has_there():
    image = random_tensor(50, 64, dtype=torch.float64)
    found = local_statistics(image, (16, 16), robust_statistics)
    assert found.centre.shape == (3, 4)
    part = slice(7, 31), slice(20, 64)
    for whole, window in zip(found.within(*EVERYTHING), found.within(*part), strict=True):
        torch.testing.assert_close(window, whole[..., *part])


def test_blocks_of_which_little_is_known_are_as_the_whole_image():
    image = 5 + random_tensor(40, 40)
    image[:20, :20] = torch.nan
    image[0, 0] = 1e6
    found = local_statistics(image, (20, 20), robust_statistics)
    whole = robust_statistics(image[None, None])
    assert found.centre[0, 0] == whole.centre and found.scale[0, 0] == whole.scale
    assert found.centre[1, 1] != whole.centre


def test_a_canvas_goes_on_as_the_image_ends():
    image = random_tensor(30, 30)
    plain, larger = (
        local_statistics(image, (16, 16), robust_statistics, e) for e in (None, (32, 40))
    )
    (centre, _), (wide, _) = plain.within(*EVERYTHING), larger.within(*EVERYTHING)
    assert wide.shape == (1, 1, 32, 40)
    torch.testing.assert_close(wide[..., :30, :30], centre)
    torch.testing.assert_close(wide[..., 30:, 39], centre[..., -1:, -1].expand(1, 1, 2))
