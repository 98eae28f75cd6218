"""Weights are read through weight norm, in both of torch's implementations."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from sciops.operators.torch_layers import (
    check_average_pool,
    check_convolution,
    copy_weight_norm,
    effective_weight,
    weight_norm_of,
)


def old_weight_norm(layer: nn.Module, dim: int | None = 0) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return nn.utils.weight_norm(layer, dim=dim)


@pytest.mark.parametrize("norm", [parametrizations.weight_norm, old_weight_norm])
@pytest.mark.parametrize("dim", [0, 2, None])
def test_weight_norm_is_found_and_copied(norm, dim):
    conv = norm(nn.Conv1d(2, 3, 4), dim=dim)
    check_convolution(conv)
    normed = weight_norm_of(conv)
    with torch.no_grad():
        normed.g.mul_(2)  # from here on the older norm's `conv.weight` is outdated
    x = torch.randn(1, 2, 6)
    expected = nn.functional.conv1d(x, effective_weight(conv), conv.bias)
    torch.testing.assert_close(conv(x), expected)
    normed.g.requires_grad_(False)
    twin = nn.Conv1d(2, 3, 4)
    copy_weight_norm(normed, twin)
    assert torch.equal(twin.weight, effective_weight(conv))
    assert torch.equal(weight_norm_of(twin).v, normed.v) and weight_norm_of(twin).v is not normed.v
    assert [p.requires_grad for p in twin.parameters()] == [True, False, True]


def test_plain_layers():
    conv = nn.Conv2d(1, 1, 1)
    check_convolution(conv)
    assert weight_norm_of(conv) is None and effective_weight(conv) is conv.weight
    assert [check_average_pool(p) for p in (nn.AvgPool1d(2), nn.AvgPool3d(2))] == [1, 3]


def test_older_spectral_norm_and_norm_of_the_bias_are_refused():
    for conv in (
        nn.utils.spectral_norm(nn.Conv1d(1, 1, 3)),
        parametrizations.weight_norm(nn.Conv1d(1, 1, 3), "bias"),
    ):
        with pytest.raises(ValueError, match=r"SpectralNorm|'bias' is parametrized by _WeightNorm"):
            check_convolution(conv)
