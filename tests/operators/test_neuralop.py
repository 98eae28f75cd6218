"""neuraloperator's layer through the adapter: the same on even grids, repaired on odd ones."""

import math

import pytest
import torch

from sciops.backbones.neuralop_fno import NeuralopFno
from sciops.operators import SpectralConv
from sciops.task import Axis, Field, Task
from tests.operators.test_fourier import band_limited, periodic


@pytest.mark.parametrize("size", [(32, 32), (64, 48), (24, 26)])
def test_adapter_agrees_with_the_original_on_even_grids(size):
    layer = SpectralConv(2, 3, (24, 24))
    x = torch.randn(2, 2, *size)
    torch.testing.assert_close(layer(x), layer.original(x), atol=1e-5, rtol=1e-4)


def test_one_dimension_and_three():
    for size in ((33,), (16, 18, 20)):
        layer = SpectralConv(2, 3, (8,) * len(size))
        x = torch.randn(2, 2, *size)
        torch.testing.assert_close(layer(x), layer.original(x), atol=1e-5, rtol=1e-4)


def outputs(layer, n: int) -> torch.Tensor:
    """Spectrum of the output for one band-limited function sampled on n × (n + 1) points."""
    x = band_limited((periodic(n), periodic(n + 1)), 5).float()
    y = layer(x).double()
    spectrum = torch.fft.fftn(y, dim=(-2, -1), norm="forward")
    rows, columns = torch.arange(-12, 12) % n, torch.arange(-12, 12) % (n + 1)
    return spectrum[:, :, rows][:, :, :, columns]


def test_original_differs_between_odd_and_even_grids_and_the_adapter_does_not():
    layer = SpectralConv(2, 2, (24, 24), bias=False)
    reference = outputs(layer, 64)
    scale = reference.abs().max()
    grids = [*range(24, 255, 13), 128, 255]  # 20 of them, odd and even
    assert len(grids) == 20
    for n in grids:
        assert (outputs(layer, n) - reference).abs().max() < 1e-5 * scale
    assert (outputs(layer.original, 43) - reference).abs().max() > 0.1 * scale


def test_coarse_grids_use_the_modes_they_have():
    layer = SpectralConv(2, 2, (24, 24), bias=False)
    rows = torch.arange(-5, 6)
    x = {n: band_limited((periodic(n), periodic(n)), 5).float() for n in (13, 64)}
    spectra = {n: torch.fft.fftn(layer(x[n]), dim=(-2, -1), norm="forward") for n in x}
    kept = {n: s[:, :, rows % n][:, :, :, rows % n] for n, s in spectra.items()}
    torch.testing.assert_close(kept[13], kept[64], atol=1e-4, rtol=1e-4)


def test_double_precision_and_errors():
    layer = SpectralConv(2, 2, (4, 4))
    x = torch.randn(1, 2, 8, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer, (x,))
    with pytest.raises(ValueError, match="must be even"):
        SpectralConv(2, 2, (7, 8))
    with pytest.raises(ValueError, match="expected x of shape"):
        layer(torch.zeros(1, 3, 8, 8))


def test_a_repaired_model_is_theirs_on_even_grids_and_goes_on_to_odd_ones():
    torch.manual_seed(0)
    axes = tuple(Axis(name, tuple(torch.arange(16).div(16).tolist()), True, 1.0) for name in "xy")
    task = Task("test", (Field("a"),), (Field("u"),), axes)
    theirs, repaired = (NeuralopFno(task, width=4, modes=6, repaired=r) for r in (False, True))
    repaired.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 1, 16, 16)
    torch.testing.assert_close(repaired(x), theirs(x))
    smooth = lambda n: torch.cos(2 * math.pi * torch.arange(n) / n).expand(1, 1, n, n).contiguous()
    shared = lambda model, n: model(smooth(n))[0, 0, :: n // 15, :: n // 15].detach()
    moved = lambda model: (shared(model, 45) - shared(model, 90)).norm() / shared(model, 90).norm()
    assert moved(repaired) < 1e-3 and moved(theirs) > 5e-3
