"""deepCR's U-Net against its definition, and its XD versions against the one they start as."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sciops.backbones.mask_unet import MaskUNet
from sciops.operators import XD, Hybrid
from tests.contracts import random_tensor, relative_error
from tests.cosmic.mask_toy import HYBRID, image_task, stirred


def unet(op="conv", window=(16, 16), *, seed=0, **options) -> MaskUNet:
    torch.manual_seed(seed)
    usual = dict(width=4) | (HYBRID if op == "xd-hybrid" else {})
    return MaskUNet(image_task(window), op, **usual | options)


def by_definition(model: MaskUNet, x: torch.Tensor) -> torch.Tensor:
    """Two levels with batch normalisation, in eval mode, from the state alone."""
    state = model.state_dict()

    def level(h, name):
        for conv, norm in ((0, 1), (3, 4)):
            w, b = (state[f"{name}.{conv}.{part}"] for part in ("weight", "bias"))
            gain, shift, mean, var = (
                state[f"{name}.{norm}.{part}"].view(1, -1, 1, 1)
                for part in ("weight", "bias", "running_mean", "running_var")
            )
            h = (F.conv2d(h, w, b, padding=1) - mean) / (var + 1e-5).sqrt() * gain + shift
            h = h.clamp(min=0)
        return h

    above = level(x, "down.0")
    pooled = above.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).amax((3, 5))
    below = level(pooled, "down.1")
    w, b = state["up.0.enlarge.weight"], state["up.0.enlarge.bias"]
    blocks = torch.einsum("bihw,ioyx->bohywx", below, w)  # each pixel becomes 2 × 2
    large = blocks.flatten(4, 5).flatten(2, 3) + b.view(1, -1, 1, 1)
    h = level(torch.cat([above, large], 1), "up.0.level")
    return torch.einsum("bihw,oi->bohw", h, state["project.weight"][..., 0, 0]) + state[
        "project.bias"
    ].view(1, -1, 1, 1)


def test_the_network_is_its_definition():
    model = stirred(unet()).double()
    x = random_tensor(2, 1, 10, 14, dtype=torch.float64)
    torch.testing.assert_close(model(x), by_definition(model, x))


@pytest.mark.parametrize(("norm", "extra"), [("batch", 2), ("weight", 1)])
def test_published_sizes(norm, extra):
    """Convolutions of deepCR; a norm adds two numbers a channel, or one."""
    model = MaskUNet(image_task(), norm=norm)
    convs = 9 * (1 * 32 + 32 * 32 + 32 * 64 + 64 * 64 + 64 * 32 + 32 * 32) + 4 * 32 + 2 * 64
    rest = 4 * 64 * 32 + 32 + 32 + 1  # the transposed one, the last one
    normed = extra * (4 * 32 + 2 * 64)
    assert sum(p.numel() for p in model.parameters()) == convs + rest + normed


def test_odd_images_are_continued_with_zeros():
    model = stirred(unet(levels=3))
    x = random_tensor(1, 1, 13, 18)
    padded = F.pad(x, (0, 2, 0, 3))
    assert model.step == 4
    torch.testing.assert_close(model(x), model(padded)[..., :13, :18])


@pytest.mark.parametrize("size", [(1, 1), (2, 7), (5, 40)])
def test_any_size(size):
    assert unet(levels=3).eval()(random_tensor(1, 1, *size)).shape == (1, 1, *size)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_an_output_sees_the_input_up_to_its_reach(levels):
    model = stirred(unet(levels=levels, norm="weight").double())
    for layer in model.modules():
        if isinstance(layer, nn.ReLU):  # which could hide what is seen
            layer.forward = lambda h: h
    n, farthest = 4 * model.reach, 0
    for place in range(2 * model.reach, 2 * model.reach + model.step):
        x = random_tensor(1, 1, n, n, dtype=torch.float64)
        y = x.clone()
        y[..., place, place] += 100  # the largest of its pool
        changed = (model(y) != model(x))[0, 0].nonzero()
        farthest = max(farthest, int((changed - place).abs().max()))
    assert farthest == model.reach


# --- XD -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["batch", "weight"])
@pytest.mark.parametrize(("op", "tolerance"), [("xd-grid", 1e-4), ("xd-hybrid", 0)])
def test_xd_starts_as_the_plain_network_of_the_same_seed(op, tolerance, norm):
    plain, searched = (unet(o, (16, 24), seed=3, norm=norm, levels=3) for o in ("conv", op))
    x = random_tensor(2, 1, 16, 24)
    for mode in (True, False):
        plain.train(mode)
        searched.train(mode)
        assert relative_error(searched(x), plain(x)) <= tolerance
    assert plain.reach == 23 and searched.reach is None


@pytest.mark.parametrize(("op", "kind"), [("xd-grid", XD), ("xd-hybrid", Hybrid)])
def test_all_convolutions_of_the_levels_are_replaced_each_on_its_grid(op, kind):
    model = unet(op, (16, 24))
    levels = [*model.down, *(up.level for up in model.up)]
    layers = [[m for m in level if isinstance(m, kind)] for level in levels]
    assert [len(found) for found in layers] == [2, 2, 2]
    assert not any(type(m) is nn.Conv2d for level in levels for m in level)
    size = lambda layer: layer.resolution.size if op == "xd-grid" else layer.length
    assert [size(found[0]) for found in layers] == [(16, 24), (8, 12), (16, 24)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(op="dilated"), "no op='dilated'; there are conv, xd-grid, xd-hybrid"),
        (dict(norm="group"), "no norm='group'; there are batch, weight"),
        (dict(levels=0), r"\(width, levels\)=\(4, 0\) must be whole numbers"),
        (dict(window=(9,)), "an image has two axes, but 'cosmic' has 1"),
        (dict(op="xd-grid", window=(16, 15)), r"a window that 2 divides, got \(16, 15\)"),
        (dict(taps=3), "op='conv' does not take these options.*taps"),
    ],
    ids=str,
)
def test_bad_requests(options, message):
    with pytest.raises(ValueError, match=message):
        unet(**options)
