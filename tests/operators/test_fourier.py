"""The Fourier layer is FNO's, on every grid, and a special case of XD."""

import math

import pytest
import torch

from sciops.operators import XD, FourierLayer, special


def band_limited(points, frequencies: int, seed: int = 0) -> torch.Tensor:
    """A random real function of |f| ≤ `frequencies` per axis on a tensor grid, (1, 2, *n)."""
    generator = torch.Generator().manual_seed(seed)
    k = torch.arange(-frequencies, frequencies + 1)
    shape = (2, *[len(k)] * len(points))
    field = torch.randn(shape, dtype=torch.complex128, generator=generator)
    for axis, x in enumerate(points):
        waves = torch.exp(2j * math.pi * torch.outer(x, k.double()))
        field = torch.movedim(torch.tensordot(field, waves, ([axis + 1], [1])), -1, axis + 1)
    return field.real[None]


def periodic(n: int) -> torch.Tensor:
    return torch.arange(n, dtype=torch.float64) / n


def test_layer_is_the_textbook_fno_layer():
    layer = FourierLayer(2, 3, modes=(8, 4)).double()
    x = torch.randn(2, 2, 20, 15, dtype=torch.float64)
    weight = torch.view_as_complex(layer.weight[:, :, :, 0].movedim(2, -1).contiguous())
    spectrum = torch.fft.rfftn(x, dim=(-2, -1))
    out = torch.zeros(2, 3, 20, 8, dtype=torch.complex128)
    rows = torch.arange(-4, 4) % 20
    out[:, :, rows, :4] = torch.einsum("bixy,xyoi->boxy", spectrum[:, :, rows, :4], weight)
    expected = torch.fft.irfftn(out, s=(20, 15), dim=(-2, -1))
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize("n", [24, 25, 43, 64, 85, 128, 255, 256])
def test_same_function_on_every_grid(n):
    layer = FourierLayer(2, 2, modes=(8, 4)).double()
    coarse = layer(band_limited((periodic(24), periodic(36)), 5))
    fine = layer(band_limited((periodic(n), periodic(3 * n)), 5))
    # evaluate the coarse output's modes on the fine grid
    spectrum = torch.fft.fftn(coarse, dim=(-2, -1), norm="forward")
    for axis, (size, points) in enumerate(((24, periodic(n)), (36, periodic(3 * n)))):
        f = torch.fft.fftfreq(size, 1 / size, dtype=torch.float64)
        waves = torch.exp(2j * math.pi * torch.outer(points, f))
        spectrum = torch.movedim(torch.tensordot(spectrum, waves, ([axis + 2], [1])), -1, axis + 2)
    torch.testing.assert_close(fine, spectrum.real, atol=1e-11, rtol=0)


def test_xd_on_modes_with_identity_maps_is_the_fourier_layer():
    fourier = FourierLayer(2, 3, modes=(8, 4), grid="closed", period=1.5)
    xd = XD(2, 3, (1, 1), modes=(8, 4), grid="closed", period=1.5, weights="modes")
    with torch.no_grad():
        xd.weight.copy_(fourier.weight)
        for p in xd.arch_parameters():
            p.normal_()
    x = torch.randn(2, 2, 20, 21)
    assert not torch.allclose(xd(x), fourier(x), atol=1e-2)
    xd.set_maps(special.fourier_layer(xd.frame.modes, (1, 1, 1)))
    torch.testing.assert_close(xd(x), fourier(x), atol=1e-5, rtol=1e-5)


def test_gradients_and_precision():
    layer = FourierLayer(2, 2, modes=4).double()
    x = torch.randn(2, 2, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer, (x,))
    single = FourierLayer(2, 2, modes=4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert single(x.float()).dtype == torch.float32


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match="next even one"):
        FourierLayer(1, 1, modes=(7, 4))
    with pytest.raises(ValueError, match=r"expected x of shape \(batch, 2, n0\)"):
        FourierLayer(2, 1, modes=4)(torch.zeros(1, 3, 8))
