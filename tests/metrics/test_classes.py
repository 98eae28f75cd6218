"""Scores of classes: by hand, sample by sample, and differentiable where it is a loss."""

import math

import pytest
import torch

from sciops.metrics.classes import accuracy, cross_entropy, error_rate

LOGITS = torch.tensor([[0.0, math.log(3)], [math.log(4), 0.0], [0.0, 0.0]])  # p = 3/4, 4/5, 1/2
TARGET = torch.tensor([1, 1, 0])


def test_values_by_hand():
    expected = torch.tensor([math.log(4 / 3), math.log(5), math.log(2)])
    torch.testing.assert_close(cross_entropy(LOGITS, TARGET), expected)
    assert error_rate(LOGITS, TARGET).tolist() == [0, 1, 0]
    assert accuracy(LOGITS, TARGET).tolist() == [1, 0, 1]


@pytest.mark.parametrize("score", [cross_entropy, error_rate, accuracy])
def test_samples_keep_their_axis(score):
    order = [2, 0, 1]
    assert torch.equal(score(LOGITS, TARGET)[order], score(LOGITS[order], TARGET[order]))
    with pytest.raises(ValueError, match=r"expected logits .* got \(3, 2\) and \(3, 1\)"):
        score(LOGITS, TARGET[:, None])


def test_certainty_costs_nothing_and_the_gradient_is_known():
    """∂/∂z = softmax(z) − one-hot."""
    assert cross_entropy(1e3 * torch.eye(3), torch.arange(3)).tolist() == [0, 0, 0]
    logits = LOGITS.clone().requires_grad_()
    cross_entropy(logits, TARGET).sum().backward()
    expected = LOGITS.softmax(1) - torch.eye(2)[TARGET]
    torch.testing.assert_close(logits.grad, expected)


def test_nan_is_never_right():
    nan = torch.full((1, 2), torch.nan)
    assert error_rate(nan, torch.tensor([0])).item() == 1
    assert cross_entropy(nan, torch.tensor([0])).isnan().all()
