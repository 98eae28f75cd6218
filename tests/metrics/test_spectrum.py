"""Spectra and errors by bands, against brute force on the evenly continued field."""

import itertools
import math

import numpy as np
import pytest
import torch

from sciops.metrics import band_errors, energy_above, energy_spectrum, nyquist, relative_l2

GRIDS = [
    ((8,), (True,)),
    ((9,), (True,)),
    ((6,), (False,)),
    ((2,), (False,)),
    ((1,), (True,)),
    ((6, 7), (True, True)),
    ((7, 6), (True, True)),
    ((6, 5), (True, False)),
    ((5, 6), (False, True)),
    ((4, 5), (False, False)),
    ((4, 5, 6), (True, False, True)),
    ((4, 3, 5), (False, True, False)),
]
over_grids = pytest.mark.parametrize(("shape", "periodic"), GRIDS, ids=str)


def random_field(shape, batch=2, channels=2, seed=0, dtype=torch.float64):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(batch, channels, *shape, generator=made, dtype=dtype)


def oracle(u, periodic, lengths):
    """Yield (κ per axis, radial κ, |c|²) of each mode of the evenly continued array."""
    for axis, is_periodic in enumerate(periodic):
        if not is_periodic:
            inner = np.take(u, range(1, u.shape[axis] - 1), axis)
            u = np.concatenate([u, np.flip(inner, axis)], axis)
    c = np.fft.fftn(u) / u.size
    for index in itertools.product(*map(range, u.shape)):
        signed = [i if 2 * i <= n else i - n for i, n in zip(index, u.shape, strict=True)]
        kappa = [abs(k) if p else abs(k) / 2 for k, p in zip(signed, periodic, strict=True)]
        radial = math.hypot(
            *(k * max(lengths) / ell for k, ell in zip(kappa, lengths, strict=True))
        )
        yield kappa, radial, abs(c[index]) ** 2


def points(n, periodic, length=1.0):
    return torch.arange(n, dtype=torch.float64) * (length / (n if periodic else n - 1))


# --- spectra --------------------------------------------------------------------------------------


@over_grids
@pytest.mark.parametrize("stretch", [1.0, 2.5])
def test_spectrum_equals_brute_force(shape, periodic, stretch):
    field = random_field(shape)
    lengths = (1.0, stretch, 1.0)[: len(shape)]
    spectrum = energy_spectrum(field, periodic=periodic, lengths=lengths)
    expected = np.zeros(spectrum.shape)
    for sample, channel in np.ndindex(2, 2):
        for _, radial, energy in oracle(field[sample, channel].numpy(), periodic, lengths):
            expected[sample, channel, math.floor(radial + 0.5)] += energy
    np.testing.assert_allclose(spectrum, expected, rtol=0, atol=1e-13)
    assert (expected[..., -1] > 0).all()  # no empty shells at the end


@over_grids
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parseval(shape, periodic, dtype):
    field = random_field(shape, dtype=dtype)
    weights = np.ones(())
    for n, is_periodic in zip(shape, periodic, strict=True):
        q = np.ones(n)
        if not is_periodic:
            q[[0, -1]] = 0.5
        weights = np.multiply.outer(weights, q / q.sum())
    expected = (field.double().square() * torch.from_numpy(weights)).flatten(2).sum(2)
    spectrum = energy_spectrum(field, periodic=periodic)
    assert spectrum.dtype == dtype
    tolerance = 1e-13 if dtype == torch.float64 else 2e-6
    torch.testing.assert_close(spectrum.sum(2).double(), expected, rtol=tolerance, atol=0)


def test_spectrum_by_hand():
    """cos(πmx) on a closed axis has m/2 waves; the energy of a cosine is ½."""
    x, z = torch.meshgrid(points(17, False), points(16, True), indexing="ij")
    u = torch.cos(8 * math.pi * x) * torch.cos(6 * math.pi * z) + 2  # κ = 4 and 3
    spectrum = energy_spectrum(u[None, None], periodic=(False, True))[0, 0]
    expected = torch.zeros_like(spectrum)
    expected[0], expected[5] = 4, 0.25
    torch.testing.assert_close(spectrum, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", [20, 21, 40])
def test_spectrum_of_a_band_limited_field_is_the_same_on_every_grid(n):
    def spectrum(n):
        x, z = torch.meshgrid(points(n, True), points(n + 1, False), indexing="ij")
        u = torch.sin(2 * math.pi * 3 * x) * torch.cos(math.pi * 5 * z) + torch.cos(math.pi * z)
        return energy_spectrum(u[None, None], periodic=(True, False))[..., :8]

    torch.testing.assert_close(spectrum(n), spectrum(80), rtol=1e-12, atol=1e-14)


def test_spectrum_of_a_kink_converges():
    """eˣ is not even at the ends of a closed axis: aliased tail, second order in the spacing."""
    exact = energy_spectrum(points(4097, False).exp()[None, None], periodic=(False,))[..., :4]
    errors = [
        energy_spectrum(points(n, False).exp()[None, None], periodic=(False,))[..., :4] - exact
        for n in (33, 65)
    ]
    rate = math.log2(errors[0].norm() / errors[1].norm())
    assert abs(rate - 2) < 0.1 and errors[1].norm() < 1e-3


def test_spectrum_gradient():
    field = random_field((4, 5), batch=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda u: energy_spectrum(u, periodic=(True, False)), field)


def test_spectrum_bad_input():
    with pytest.raises(ValueError, match="one value for each of the 2 axes"):
        energy_spectrum(random_field((4, 5)), periodic=(True,))
    with pytest.raises(ValueError, match="at least 2 points"):
        energy_spectrum(random_field((4, 1)), periodic=(True, False))
    with pytest.raises(ValueError, match="field must be"):
        energy_spectrum(torch.ones(4, 5), periodic=(True,))


# --- energy above a wave number -------------------------------------------------------------------


@over_grids
def test_energy_above_equals_brute_force(shape, periodic):
    field = random_field(shape)
    cutoffs = (1.5, 1.0, 0.5)[: len(shape)]
    expected = []
    for sample in field.numpy():
        table = [mode for c in sample for mode in oracle(c, periodic, (1.0,) * len(shape))]
        above = [e for ks, _, e in table if any(k > c for k, c in zip(ks, cutoffs, strict=True))]
        expected.append(sum(above) / sum(e for *_, e in table))
    np.testing.assert_allclose(
        energy_above(field, cutoffs, periodic=periodic), expected, rtol=1e-12, atol=1e-15
    )


@over_grids
def test_nothing_is_above_the_own_nyquist(shape, periodic):
    field = random_field(shape)
    limit = nyquist(shape, periodic)
    assert energy_above(field, limit, periodic=periodic).tolist() == [0, 0]
    if max(shape) > 1:
        just_below = [max(k - 0.51, 0) for k in limit]
        assert (energy_above(field, just_below, periodic=periodic) > 0).all()


def test_energy_above_of_one_number_zero_and_tiny_fields():
    field = random_field((6, 7))
    share = energy_above(field, 2, periodic=(True, False))
    assert torch.equal(share, energy_above(field, (2, 2), periodic=(True, False)))
    tiny = energy_above((1e-25 * field).float(), 2, periodic=(True, False))
    torch.testing.assert_close(tiny.double(), share, rtol=1e-5, atol=0)
    assert energy_above(0 * field, 2, periodic=(True, False)).tolist() == [0, 0]
    field[0, 0, 0, 0] = math.nan
    assert energy_above(field, 2, periodic=(True, False)).isnan().tolist() == [True, False]


@pytest.mark.parametrize("cutoff", [(1.0,), -1.0, math.nan])
def test_energy_above_bad_cutoff(cutoff):
    with pytest.raises(ValueError, match="cutoff must be"):
        energy_above(random_field((6, 7)), cutoff, periodic=(True, True))


# --- errors by bands ------------------------------------------------------------------------------


@over_grids
@pytest.mark.parametrize("edges", [(1, 2), (2.5,), ()])
def test_bands_equal_brute_force(shape, periodic, edges):
    p, y = random_field(shape), random_field(shape, seed=1)
    lengths = (1.0, 2.0, 3.0)[: len(shape)]
    limits = [0, *edges, math.inf]
    norms = np.zeros((2, 2, len(edges) + 1))
    for kind, u in enumerate((p - y, y)):
        for sample, channel in np.ndindex(2, 2):
            for _, radial, energy in oracle(u[sample, channel].numpy(), periodic, lengths):
                for b in range(len(edges) + 1):
                    norms[kind, sample, b] += energy * (limits[b] <= radial < limits[b + 1])
    present = norms[1] > 0
    expected = np.sqrt(norms[0] / np.where(present, norms[1], 1))
    scores = band_errors(p, y, periodic=periodic, lengths=lengths, edges=edges, relative_to="band")
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_bands_of_the_total_add_up_to_relative_l2():
    p, y = random_field((9, 12)), random_field((9, 12), seed=1)
    parts = band_errors(p, y, periodic=(True, True), edges=(1, 2, 3))
    assert parts.shape == (2, 4)
    torch.testing.assert_close(parts.square().sum(1).sqrt(), relative_l2(p, y))


def smooth_bands(n, periodic, **options):
    x, z = torch.meshgrid(points(n, periodic), points(n + 3, True), indexing="ij")
    wave = (lambda k: torch.sin(2 * math.pi * k * x)) if periodic else (lambda k: (k * x).exp() / k)
    y = 1 / (1.3 + torch.cos(2 * math.pi * z)) * (1 + wave(1)) + 0.2 * wave(5)
    e = sum(0.3 / k * torch.cos(2 * math.pi * k * z) * wave(2) for k in (3, 7, 13))
    return band_errors((y + e)[None, None], y[None, None], periodic=(periodic, True), **options)


def test_bands_mean_the_same_on_every_periodic_grid():
    for relative_to in ("total", "band"):
        coarse, fine = (smooth_bands(n, True, relative_to=relative_to) for n in (48, 96))
        torch.testing.assert_close(coarse, fine, rtol=1e-6, atol=0)


def test_bands_mean_the_same_on_closed_grids():
    """Even with kinks at the ends; only the last band relative to itself is not comparable."""
    coarse, fine = (smooth_bands(n, False) for n in (48, 96))
    torch.testing.assert_close(coarse, fine, rtol=1e-3, atol=0)
    coarse, fine = (smooth_bands(n, False, relative_to="band") for n in (48, 96))
    torch.testing.assert_close(coarse[:, :2], fine[:, :2], rtol=0.02, atol=0)


def test_a_missed_band_scores_one_and_a_band_beyond_the_grid_zero():
    x = points(64, True)
    low, high = torch.sin(2 * math.pi * x), 0.01 * torch.sin(2 * math.pi * 20 * x)
    p, y = low[None, None], (low + high)[None, None]
    scores = band_errors(p, y, periodic=(True,), edges=(4, 12, 100), relative_to="band")
    assert scores[0, 3] == 0 and float(scores[0, 2]) == pytest.approx(1)
    assert scores[0, 0] < 1e-14
    fractions = band_errors(p, y, periodic=(True,))
    assert float(fractions[0, 2]) == pytest.approx(0.01 / math.hypot(1, 0.01))


def test_bands_keep_nan_units_and_samples_apart():
    p, y = random_field((9, 8), batch=3), random_field((9, 8), batch=3, seed=1)
    scores = band_errors(p, y, periodic=(False, True))
    alone = [band_errors(p[i, None], y[i, None], periodic=(False, True)) for i in range(3)]
    torch.testing.assert_close(scores, torch.cat(alone), rtol=1e-13, atol=0)
    small = band_errors((1e-25 * p).float(), (1e-25 * y).float(), periodic=(False, True))
    torch.testing.assert_close(small.double(), scores, rtol=1e-4, atol=0)
    zero = band_errors(p.half(), 0 * y.half(), periodic=(False, True))
    assert zero.dtype == torch.float32 and zero.isfinite().all() and (zero[:, :2] > 1e15).all()
    p[1, 0, 3, 3] = math.nan
    bad = band_errors(p, y, periodic=(False, True)).isnan()
    assert bad[1, :2].all() and not bad[[0, 2]].any()


def test_bands_gradient_also_where_the_error_is_zero():
    p, y = random_field((5, 6), batch=1), random_field((5, 6), batch=1, seed=1)
    for relative_to in ("total", "band"):
        options = dict(periodic=(True, False), edges=(1, 2), relative_to=relative_to)
        score = lambda p, y, options=options: band_errors(p, y, **options)
        assert torch.autograd.gradcheck(score, (p.requires_grad_(), y.requires_grad_()))
    same = y.detach().clone().requires_grad_()
    band_errors(same, y.detach(), periodic=(True, False), edges=(1, 2, 99)).sum().backward()
    assert same.grad.isfinite().all()


@pytest.mark.parametrize("edges", [(4, 4), (12, 4), (0, 4), (-1,), (math.nan,), (math.inf,)])
def test_bands_bad_edges(edges):
    with pytest.raises(ValueError, match="edges must be positive, finite and increasing"):
        band_errors(*[random_field((8,))] * 2, periodic=(True,), edges=edges)


def test_bands_bad_input():
    u = random_field((8,))
    with pytest.raises(ValueError, match="'band' or 'total', got 'all'"):
        band_errors(u, u, periodic=(True,), relative_to="all")
    with pytest.raises(ValueError, match="same shape"):
        band_errors(u, u[..., :4], periodic=(True,))
