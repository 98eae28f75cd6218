"""Scores of frames against what is known of them by hand or from the solver of the flow."""

import math

import numpy as np
import pytest
import torch

from sciops.domains.vorticity import velocity
from sciops.evaluation.rollout_scores import (
    correlation,
    energies,
    frame_scores,
    has_blown_up,
    speed_like,
)

TORUS = dict(periodic=(True, True), lengths=(1.0, 1.0))


def smooth(*shape: int, seed: int = 0) -> torch.Tensor:
    """Fields of the frequencies |k| ≤ 5, and a mean."""
    rng = np.random.default_rng(seed)
    n = shape[-1]
    modes = np.fft.fft2(rng.standard_normal(shape))
    k = np.abs(np.fft.fftfreq(n) * n)
    modes[..., (k[:, None] > 5) | (k > 5)] = 0
    return torch.from_numpy(np.fft.ifft2(modes).real + 0.3)


def test_energy_and_enstrophy_are_those_of_the_flow():
    w = smooth(2, 3, 16, 16)
    found = energies(w, **TORUS, vorticity=True)
    u = torch.from_numpy(velocity(w.numpy()))
    torch.testing.assert_close(found["energy"], u.square().sum(0).mean((2, 3)) / 2)
    torch.testing.assert_close(found["enstrophy"], w.square().mean((2, 3)) / 2)
    torch.testing.assert_close(found["spectrum"].sum(2), found["energy"])


def test_lengths_and_odd_sizes_count():
    """w = cos 2π(2x/3 + y) on a torus of 3 × 1: |k|² = 4π²(4/9 + 1)."""
    x, y = torch.arange(15).double() / 15 * 3, torch.arange(8).double() / 8
    w = torch.cos(2 * math.pi * (2 * x[:, None] / 3 + y))
    k = 2 * math.pi * math.sqrt(4 / 9 + 1)
    torch.testing.assert_close(speed_like(w, (3.0, 1.0)), w / k)


def test_energy_of_any_other_field_is_half_its_square():
    w = smooth(1, 2, 16, 16)
    found = energies(w, **TORUS, vorticity=False)
    assert set(found) == {"energy", "spectrum"}
    torch.testing.assert_close(found["energy"], w.square().mean((2, 3)) / 2)


def test_correlation_is_that_of_numpy():
    p, y = smooth(4, 1, 16, 16), smooth(4, 1, 16, 16, seed=1) + 1e3
    expected = [np.corrcoef(a.flatten(), b.flatten())[0, 1] for a, b in zip(p, y, strict=True)]
    np.testing.assert_allclose(correlation(p, y), expected, rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e30])
def test_constant_fields_have_no_correlation(value):
    p, y = torch.full((1, 1, 7, 7), value), smooth(1, 1, 7, 7)
    assert correlation(p.double(), y).isnan().all()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1e4])
def test_blown_up_is_blown_up_for_good(bad):
    prediction, known = torch.ones(2, 4, 3), torch.ones(2, 2, 3)
    prediction[1, 2, 0] = bad
    assert has_blown_up(prediction, known).tolist() == [[False] * 4, [False, False, True, True]]


def test_scores_of_frames_without_truth_are_missing():
    w = smooth(2, 5, 8, 8).float()
    place = dict(coords=None, **TORUS)
    found = frame_scores(w[:, :2], w[:, 2:4], w[:, 2:], place, vorticity=True)
    assert {name: tuple(v.shape[:3]) for name, v in found.items()} == {
        **dict.fromkeys(("relative_l2", "correlation", "blown_up"), (2, 3)),
        **dict.fromkeys(("energy", "enstrophy", "spectrum"), (2, 2, 3)),
    }
    assert found["relative_l2"].isnan().tolist() == [[False, False, True]] * 2
    truth, prediction = found["energy"].unbind(1)
    torch.testing.assert_close(truth[:, :2], prediction[:, :2])
    assert truth[:, 2].isnan().all()
    assert prediction.isfinite().all()


def test_points_that_are_not_evenly_spaced_have_no_spectrum():
    w = torch.randn(1, 2, 4, 4)
    uneven = torch.tensor([0.0, 0.1, 0.5, 1.0]).double()
    place = dict(coords=(uneven, uneven), periodic=(False, False), lengths=(1.0, 1.0))
    found = frame_scores(w, w, w, place, vorticity=False)
    assert set(found) == {"relative_l2", "correlation", "blown_up"}
