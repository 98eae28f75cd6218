"""Convolutions that end on a coarser grid: the published formula, exact on what a grid can hold."""

import math

import pytest
import torch

from sciops.operators import resampling
from sciops.operators.depthwise import direct
from sciops.operators.resampling import Band, band_of, banded_convolution, refined
from tests.contracts import random_tensor


def filters(bands, value=None) -> list[torch.Tensor]:
    """Weights of all modes, the same for f and −f: ones, or drawn."""
    found = []
    for axis, band in enumerate(bands):
        waves = band.frequencies(1.0, one_sided=axis == len(bands) - 1) * band.circle
        one = torch.ones(band.modes, dtype=torch.float64)
        drawn = one if value is None else 0.5 + torch.sigmoid(one.cumsum(0))
        found.append(drawn[waves.round().long()])
    return found


@pytest.mark.parametrize(
    ("size", "taps", "periodic"),
    [((12,), (5,), (True,)), ((13,), (5,), (False,)), ((8, 9), (3, 7), (True, False))],
)
def test_with_all_frequencies_it_is_the_convolution(size, taps, periodic):
    axes = zip(size, taps, periodic, strict=True)
    bands = [band_of(n, 1.0, 1e3, k // 2, circular) for n, k, circular in axes]
    assert [band.points for band in bands] == list(size)
    x = random_tensor(2, 3, *size, dtype=torch.float64)
    kernel = random_tensor(3, *taps, dtype=torch.float64, seed=1)
    out = banded_convolution(x, kernel, bands, filters(bands))
    torch.testing.assert_close(out, direct(x, kernel, periodic))
    assert refined(out, bands) is out


def smooth(n: int) -> torch.Tensor:
    """Waves 0, 2 and 3 of a period."""
    x = torch.arange(n, dtype=torch.float64) / n
    return (1 + (4 * math.pi * x).cos() - 2 * (6 * math.pi * x).sin())[None, None]


@pytest.mark.parametrize("longest", [0, 512])
@pytest.mark.parametrize("n", [20, 21, 64])
def test_a_smooth_function_survives_and_comes_back(monkeypatch, n, longest):
    """With a kernel that is one at 0, on a coarse grid of seven points."""
    monkeypatch.setattr(resampling, "LONGEST_DENSE", longest)
    band = band_of(n, 1 / n, 3.4, 0.5, True)
    assert (band.modes, band.points) == (7, 7)
    one = torch.ones(1, 1, dtype=torch.float64)
    coarse = banded_convolution(smooth(n), one, [band], filters([band]))
    torch.testing.assert_close(coarse, smooth(7))
    torch.testing.assert_close(refined(coarse, [band]), smooth(n))


def test_weights_multiply_waves():
    band = band_of(30, 1 / 30, 3.4, 0.5, True)
    weights = [torch.tensor([1.0, 1.0, 0.5, 0.25], dtype=torch.float64)]
    one = torch.ones(1, 1, dtype=torch.float64)
    out = refined(banded_convolution(smooth(30), one, [band], weights), [band])
    x = torch.arange(30, dtype=torch.float64) / 30
    wanted = 1 + 0.5 * (4 * math.pi * x).cos() - 0.5 * (6 * math.pi * x).sin()
    torch.testing.assert_close(out[0, 0], wanted)
    assert band.frequencies(1 / 30, one_sided=True).tolist() == [0.0, 1.0, 2.0, 3.0]
    two_sided = band.frequencies(1 / 30, one_sided=False).tolist()
    assert two_sided == pytest.approx([0.0, 1.0, 2.0, 3.0, 3.0, 2.0, 1.0])


def by_formula(x, kernel, bands, weights):
    """F⁻¹ crop( w F x conj F ψ ), with matrices: each coarse point is a sum over all modes."""
    for axis, band in enumerate(bands):
        f = torch.fft.fftfreq(band.modes, 1 / band.modes, dtype=torch.float64)
        f = torch.where(f.abs() * 2 == band.modes, 0.0, f)  # that the tests weigh by 0
        fine, coarse = torch.arange(band.n), torch.arange(band.points)
        taps = torch.arange(kernel.shape[1]) - kernel.shape[1] // 2
        w = weights[axis]
        if axis == len(bands) - 1:
            w = torch.cat([w, w[1 : (band.modes + 1) // 2].flip(0)])
        inward = torch.exp(-2j * math.pi * torch.outer(f, fine) / band.circle) / band.circle
        outward = torch.exp(2j * math.pi * torch.outer(coarse, f) / band.modes) * w
        shift = torch.exp(2j * math.pi * torch.outer(f, taps) / band.modes)
        x = torch.tensordot(x.to(torch.complex128), inward, ([2], [1]))  # axes walk to the end
        kernel = torch.tensordot(kernel.to(torch.complex128), shift, ([1], [1]))
        bands = [*bands[:axis], (band, outward), *bands[axis + 1 :]]
    y = x * kernel
    for _, outward in bands:
        y = torch.tensordot(y, outward, ([2], [1]))
    return y.real


@pytest.mark.parametrize("size", [(24, 21), (25, 32)])
def test_several_axes_follow_the_formula_with_gradients(size):
    bands = [band_of(size[0], 1 / size[0], 4.2, 0.5, True)]
    bands.append(band_of(size[1], 1 / (size[1] - 1), 5.3, 0.2, False))
    assert all(band.modes < band.circle for band in bands)
    ws = filters(bands, "drawn")
    for band, w in zip(bands, ws, strict=True):
        if band.modes % 2 == 0:
            w[band.modes // 2] = 0
    x = random_tensor(2, 3, *size, dtype=torch.float64).requires_grad_()
    kernel = random_tensor(3, 3, 5, dtype=torch.float64, seed=1).requires_grad_()
    ws = [w.requires_grad_() for w in ws]
    found = banded_convolution(x, kernel, bands, ws)
    wanted = by_formula(x, kernel, bands, ws)
    torch.testing.assert_close(found, wanted)
    parts = (x, kernel, *ws)
    pairs = zip(
        torch.autograd.grad(found.square().sum(), parts),
        torch.autograd.grad(wanted.square().sum(), parts),
        strict=True,
    )
    for a, b in list(pairs)[:2]:
        torch.testing.assert_close(a, b)


def test_interpolation_between_ends_is_exact_for_cosines():
    """Whose coarse grid ends a little behind the fine one."""
    band = band_of(33, 1 / 32, 6.0, 0.1, False)
    end = (band.points - 1) * band.spacing(1 / 32)
    assert 1 <= end < 1 + band.spacing(1 / 32)
    function = lambda x: 1 - (2 * math.pi * x / end).cos() + 3 * (3 * math.pi * x / end).cos()
    coarse = function(torch.arange(band.points, dtype=torch.float64) * band.spacing(1 / 32))
    fine = function(torch.arange(33, dtype=torch.float64) / 32)
    torch.testing.assert_close(refined(coarse[None, None], [band])[0, 0], fine)


def test_bands_are_the_same_on_every_grid():
    for n in (40, 64, 101):
        assert band_of(n, 1 / n, 7.3, 0.5, True).modes == 15
    for n in (64, 100, 128):  # all frequencies up to the highest, and few more
        band = band_of(n + 1, 1 / n, 7.3, 0.25, False)
        assert 7.3 <= float(band.frequencies(1 / n, one_sided=True).max()) + 1 < 10


def test_a_crop_that_does_not_pay_is_none():
    assert band_of(64, 1 / 64, 26.0, 0.5, True) == Band(64, 64, 64, 64, True)
    assert band_of(64, 1 / 64, 22.0, 0.5, True).modes == 45
