"""A folded network is the same function, and the network it was made of stays as it was."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from sciops.backbones.folding import folded
from sciops.backbones.image_masks import MASK_NETWORKS
from tests.contracts import random_tensor, relative_error
from tests.cosmic.mask_toy import network, stirred

CASES = [(op, {}) for op in MASK_NETWORKS]
CASES += [(op, dict(norm="weight")) for op in ("unet", "unet-xd", "unet-xd-grid")]


@pytest.mark.parametrize(("op", "options"), CASES, ids=str)
def test_the_same_function(op, options):
    model = stirred(network(op, **options)).double()
    x = random_tensor(2, 1, 16, 16, dtype=torch.float64)
    before = model(x)
    assert relative_error(folded(model)(x), before) < 1e-12
    assert torch.equal(model(x), before)  # the model itself is as it was
    assert relative_error(folded(model)(x), before) < 1e-12  # and can be folded again


@pytest.mark.parametrize("norm", ["batch", "weight"])
def test_nothing_is_left_to_fold(norm):
    fast = folded(network("unet", norm=norm).train())
    assert not fast.training and not any(p.requires_grad for p in fast.parameters())
    assert not any(isinstance(m, nn.BatchNorm2d) for m in fast.modules())
    assert not any(parametrize.is_parametrized(m) for m in fast.modules())
    weights = [m.weight for m in fast.modules() if isinstance(m, nn.Conv2d)]
    assert all(w.is_contiguous(memory_format=torch.channels_last) for w in weights)


def test_a_norm_without_statistics_of_its_own_stays():
    layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, track_running_stats=False))
    x = random_tensor(3, 1, 5, 5)
    torch.testing.assert_close(folded(layers)(x), layers(x))
    assert isinstance(folded(layers)[1], nn.BatchNorm2d)
