"""What every network for masks must do, by being registered."""

import pytest
import torch
from torch import nn

from sciops.backbones import build_model
from sciops.backbones.image_masks import LOG_ODDS, MASK_NETWORKS, SHARE, mask_network
from sciops.backbones.robust_scaling import robustly_scaled
from sciops.operators import arch_parameters
from tests.contracts import random_tensor, relative_error
from tests.cosmic.mask_toy import image_task, network, stirred

FIXED = [op for op in MASK_NETWORKS if op.endswith("-grid")]
PAIRS = [(base, f"{base}-{kind}") for base in ("unet", "resnet") for kind in ("xd", "xd-grid")]


@pytest.mark.parametrize("op", MASK_NETWORKS)
def test_logits_of_every_pixel_and_all_learn(op):
    """Every parameter has a gradient after one step, and a few steps find bright pixels.

    U-Nets have weight norm here: a bias before batch normalisation has no gradient.
    """
    model = network(op, norm="weight") if op.startswith("unet") else network(op)
    x = 100 + random_tensor(4, 1, 16, 16)
    y = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) < 0.1
    x = x + 20 * y
    optimiser, losses = torch.optim.Adam(model.parameters(), 1e-2), []
    for _ in range(24):
        optimiser.zero_grad()
        logits = model(x)
        losses.append(nn.functional.binary_cross_entropy_with_logits(logits, y.to(x)))
        losses[-1].backward()
        optimiser.step()
    assert logits.shape == (4, 1, 16, 16) and (logits < 0).any()
    assert losses[-1] < 0.8 * losses[0]
    assert [name for name, p in model.named_parameters() if not p.grad.any()] == []


@pytest.mark.parametrize("op", MASK_NETWORKS)
def test_they_start_with_few_hits(op):
    model, x = network(op), random_tensor(2, 1, 16, 16)
    y = model(x)
    torch.testing.assert_close(y, model.network(robustly_scaled(x)) + LOG_ODDS)
    assert torch.tensor(LOG_ODDS).sigmoid().item() == pytest.approx(SHARE, rel=1e-5)
    assert y.sigmoid().mean() < 0.05


@pytest.mark.parametrize("op", MASK_NETWORKS)
def test_units_and_sky_do_not_matter(op):
    model = stirred(network(op)).double()
    x = random_tensor(2, 1, 16, 16, dtype=torch.float64)
    expected = model(x)
    assert expected.std() > 1e-3
    assert torch.equal(model(256 * x), expected)
    torch.testing.assert_close(model(3.3 * x + 1e3), expected)


def test_a_wide_image_is_scaled_before_it_becomes_narrow():
    """Single precision does not know 1e9 + noise from 1e9."""
    model = stirred(network())
    x = random_tensor(1, 1, 16, 16, dtype=torch.float64)
    torch.testing.assert_close(model(x + 1e9), model(x.float()), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("op", MASK_NETWORKS)
def test_unknown_pixels_are_sky(op):
    model = stirred(network(op))
    x = random_tensor(1, 1, 16, 16)
    holes = x.clone()
    holes[..., 4, 4], holes[..., 9, 2] = torch.nan, torch.inf
    filled = holes.clone()
    statistics = model.statistics(holes)
    filled[..., 4, 4] = filled[..., 9, 2] = statistics.centre.item()
    assert model(holes).isfinite().all()
    torch.testing.assert_close(model(holes), model(filled, statistics))


@pytest.mark.parametrize(("base", "op"), PAIRS)
def test_xd_starts_as_its_plain_network(base, op):
    x = 50 + 3 * random_tensor(2, 1, 16, 16)
    plain, searched = network(base, seed=5), network(op, seed=5)
    error = relative_error(searched(x), plain(x))
    assert error < 1e-4 if op in FIXED else error == 0
    assert arch_parameters(searched) and not arch_parameters(plain)


@pytest.mark.parametrize("op", MASK_NETWORKS)
def test_other_sizes(op):
    model = network(op).eval()
    if op in FIXED:
        assert model.of_one_size
        with pytest.raises(ValueError, match=r"images of \(16, 16\) pixels only, got \(12, 16\)"):
            model(random_tensor(1, 1, 12, 16))
    else:
        assert model(random_tensor(1, 1, 13, 10)).shape == (1, 1, 13, 10)


@pytest.mark.parametrize("op", ["unet-xd", "resnet-xd", "fno", "xd"])
def test_images_beyond_the_window_are_to_be_cut(op):
    with pytest.raises(ValueError, match="windows"):
        network(op)(random_tensor(1, 1, 40, 16))


@pytest.mark.parametrize("op", ["fno", "xd"])
def test_a_pixel_is_the_same_length_in_all_images(op):
    model = stirred(network(op)).double().network
    x, points = random_tensor(1, 1, 12, 9, dtype=torch.float64), torch.arange(16).double() / 15
    torch.testing.assert_close(model(x), model.fno(x, (points[:12], points[:9])))
    assert not torch.allclose(model(x), model.fno(x))  # whose pixels fill the unit square


@pytest.mark.parametrize("op", MASK_NETWORKS)
def test_a_state_is_tensors_and_comes_back(op):
    model, other = network(op), network(op, seed=9)
    x = random_tensor(1, 1, 16, 16)
    model(x)  # moves the running means
    other.load_state_dict(model.state_dict())
    assert torch.equal(model.eval()(x), other.eval()(x))


def test_by_its_description():
    description = dict(backbone="image_mask", op="unet", width=4, compress=False)
    model = build_model(image_task((16, 24)), description)
    assert model.window == (16, 24) and not model.compress and model.step == 2


@pytest.mark.parametrize(
    ("op", "task", "options", "message"),
    [
        ("conv", image_task(), {}, "no op='conv'; there are unet, unet-xd, unet-xd-grid, resnet"),
        ("unet", image_task(), dict(depth=3), "op='conv' does not take these options.*depth"),
        ("fno", image_task(), dict(taps=3), "op='fno' does not take these options.*taps"),
        ("unet", image_task(periodic=True), {}, r"not periodic, 'cosmic' has y \(periodic\), x"),
        ("unet", image_task((4,)), {}, "two axes that are not periodic, 'cosmic' has y"),
    ],
)
def test_bad_requests(op, task, options, message):
    with pytest.raises(ValueError, match=message):
        mask_network(task, op, **options)


def test_bad_images():
    with pytest.raises(ValueError, match=r"expected images \(batch, channel, h, w\), got \(1, 16"):
        network()(torch.zeros(1, 16, 16))
