"""Learned maps are those the layer works with: its output is Re(K diag(L w) M x) of them."""

import math

import pytest
import torch
from torch import nn

from sciops.operators import XD, drift
from sciops.operators.learned_maps import learned_maps
from tests.plots.toy import moved


def maps_of(layer: XD) -> dict[str, torch.Tensor]:
    return {m.map: m.now for m in learned_maps(layer)}


def test_band_maps_make_the_output():
    n, modes, period = 32, 6, 1.0
    layer = moved(XD(1, 1, 5, modes=(modes,), spacing=0.1).double())
    x = torch.randn(n, dtype=torch.float64)
    k, taps, m = maps_of(layer).values()
    f, points = torch.arange(modes), torch.arange(n) / n
    synthesis = torch.exp(2j * math.pi / period * torch.outer(points, f.double()))
    analysis = synthesis.mH / n * torch.where(f > 0, 2, 1)[:, None]
    weights = layer.weight.detach().flatten().to(torch.complex128)
    expected = (synthesis @ k @ ((taps @ weights) * (m @ (analysis @ x.to(torch.complex128))))).real
    torch.testing.assert_close(layer(x[None, None])[0, 0].detach(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [16, 11])
def test_grid_maps_make_the_output(size):
    layer = moved(XD(1, 1, 3, frame="grid", size=size, padding_mode="zeros").double())
    x = torch.randn(size, dtype=torch.float64)
    k, taps, m = maps_of(layer).values()
    assert k.shape[0] == m.shape[1] == size
    weights = layer.weight.detach().flatten().to(torch.complex128)
    expected = (k @ ((taps @ weights) * (m @ x.to(torch.complex128)))).real
    torch.testing.assert_close(layer(x[None, None])[0, 0].detach(), expected)


def test_causal_maps_make_the_output():
    layer = moved(XD(1, 1, 3, frame="causal", size=8, dilation=2).double())
    x = torch.randn(8, dtype=torch.float64)
    k, taps, m = maps_of(layer).values()
    lags = taps @ layer.weight.detach().flatten().flip(0)
    heard = m @ x
    summed = [sum(lags[j] * heard[t - j] for j in range(min(len(lags), t + 1))) for t in range(8)]
    torch.testing.assert_close(layer(x[None, None])[0, 0].detach(), k @ torch.stack(summed))


@pytest.mark.parametrize(
    "layer",
    [
        XD(1, 2, (3, 5), modes=(6, 4), depth=2),
        XD(1, 2, (3, 3), frame="grid", size=(8, 5), padding_mode="zeros"),
        XD(1, 2, 3, frame="causal", size=8),
        XD(1, 1, 3, modes=4, spacing="learned"),
        XD(1, 1, 3, modes=4, weights="modes"),
    ],
    ids=["band", "grid", "causal", "spacing", "modes"],
)
def test_an_untrained_layer_has_not_moved_and_a_trained_one_has(layer):
    table = drift(layer)
    assert len(table) == 3 * len(layer.kernel_size)
    assert table["relative_distance"].max() == 0
    assert drift(moved(layer))["relative_distance"].min() > 0


def test_the_start_of_the_band_frame_is_the_identity_and_sampled_exponentials():
    layer = moved(XD(1, 1, (3, 3), modes=(8, 6), spacing=(0.25, 0.1), grid="closed", period=1.25))
    starts = {(m.map, m.axis): m.start for m in learned_maps(layer)}
    for letter in "KM":
        torch.testing.assert_close(starts[letter, 0], torch.eye(8, dtype=torch.complex128))
        torch.testing.assert_close(starts[letter, 1], torch.eye(6, dtype=torch.complex128))
    for axis, (first, count, spacing) in enumerate(((-4, 8, 0.25), (0, 6, 0.1))):
        for row in range(count):
            for tap in range(3):
                angle = -2 * math.pi * (first + row) * (1 - tap) * spacing / 1.25
                expected = complex(math.cos(angle), math.sin(angle))
                assert abs(complex(starts["L", axis][row, tap]) - expected) < 1e-12


def test_the_distance_is_that_of_all_entries():
    for learned in learned_maps(moved(XD(1, 1, 3, modes=4))):
        rows, columns = learned.now.shape
        pairs = [(i, j) for i in range(rows) for j in range(columns)]
        far = sum(abs(complex(learned.now[p] - learned.start[p])) ** 2 for p in pairs)
        size = sum(abs(complex(learned.start[p])) ** 2 for p in pairs)
        assert learned.relative_distance == pytest.approx(math.sqrt(far / size))


def test_a_learned_spacing_moves_the_taps():
    layer = XD(1, 1, 3, modes=4, spacing="learned")
    with torch.no_grad():
        layer.frame.log_spacing.add_(0.3)
    k, taps, m = drift(layer)["relative_distance"]
    assert k == m == 0
    assert taps > 0.1


def test_the_start_may_be_another_model():
    model = nn.Sequential(nn.Identity(), moved(XD(1, 1, 3, modes=4)))
    assert drift(model, start=model)["relative_distance"].max() == 0
    fresh = nn.Sequential(nn.Identity(), XD(1, 1, 3, modes=4))
    assert drift(model, start=fresh).equals(drift(model))
    assert set(drift(model)["layer"]) == {"1"}


@pytest.mark.parametrize(
    "start", [nn.Identity(), nn.Sequential(nn.Identity()), nn.Sequential(XD(1, 1, 3, modes=8))]
)
def test_a_start_of_another_shape_is_refused(start):
    with pytest.raises(ValueError, match=r"start has no K of shape \(4, 4\) in a layer '0'"):
        drift(nn.Sequential(XD(1, 1, 3, modes=4)), start=start)


def test_a_model_without_xd_has_an_empty_table():
    assert list(drift(nn.Conv1d(1, 1, 3))) == ["layer", "map", "axis", "relative_distance"]
    assert len(drift(nn.Conv1d(1, 1, 3))) == 0
