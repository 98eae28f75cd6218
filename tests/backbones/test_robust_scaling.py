"""Robust scaling: hand-computed, blind to units and sky, deaf to what is not finite."""

import math

import pytest
import torch

from sciops.backbones.robust_scaling import Statistics, robust_statistics, robustly_scaled
from tests.contracts import random_tensor

NAN, INF = math.nan, math.inf


def image(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).view(1, 1, 1, -1)


@pytest.mark.parametrize(
    ("values", "centre", "scale"),
    [
        ((1, 2, 3, 4, 100), 3, 1.4826),  # |x − 3| = 2, 1, 0, 1, 97
        ((7, 7, 7, 7, 9), 7, 1.2533 * 0.4),  # most pixels are equal: mean |x − 7|
        ((5, 5, 5), 5, 1),
        ((NAN, 1, 2, 3, 4, INF, 100, -INF), 3, 1.4826),
        ((NAN, NAN), 0, 1),
    ],
)
def test_by_hand(values, centre, scale):
    found = robust_statistics(image(*values))
    assert found.centre.shape == found.scale.shape == (1, 1, 1, 1)
    assert found.centre.item() == centre and found.scale.item() == pytest.approx(scale)


def test_normal_noise_becomes_standard():
    x = 40 + 7 * random_tensor(3, 1, 100, 100)
    z = robustly_scaled(x, compress=False)
    assert (z.flatten(1).mean(1).abs() < 0.05).all()
    assert ((z.flatten(1).std(1) - 1).abs() < 0.05).all()


def test_images_and_channels_are_scaled_one_by_one():
    x = random_tensor(2, 3, 5, 6) * torch.tensor([1.0, 10, 100]).view(1, 3, 1, 1)
    together = robustly_scaled(x)
    for b in range(2):
        for c in range(3):
            alone = robustly_scaled(x[b : b + 1, c : c + 1])
            assert torch.equal(together[b : b + 1, c : c + 1], alone)


@pytest.mark.parametrize("compress", [True, False])
def test_the_same_in_all_units_and_above_every_sky(compress):
    noise = random_tensor(2, 1, 15, 16, dtype=torch.float64)
    noise[0, 0, 3, 3] = NAN
    for x in (noise, noise.round()):  # the rounded one has mostly equal pixels
        expected = robustly_scaled(x, compress=compress)
        assert torch.equal(robustly_scaled(x * 1024, compress=compress), expected)
        for a, b in ((3.7, 1e4), (1e-5, -3.0)):
            torch.testing.assert_close(robustly_scaled(a * x + b, compress=compress), expected)
    assert not torch.allclose(robustly_scaled(-x), robustly_scaled(x))


def test_unknown_pixels_are_sky_and_bright_ones_are_compressed():
    z = robustly_scaled(image(1, 2, 3, 4, 1e6, NAN, INF))
    assert z[0, 0, 0, 5] == z[0, 0, 0, 6] == 0
    assert z[0, 0, 0, 4].item() == pytest.approx(math.asinh((1e6 - 3) / 1.4826))


def test_other_statistics_may_be_given():
    x = image(1, 2, 3)
    given = Statistics(image(1, 1, 2), image(1, 2, 4))
    assert robustly_scaled(x, given, compress=False).flatten().tolist() == [0, 0.5, 0.25]
