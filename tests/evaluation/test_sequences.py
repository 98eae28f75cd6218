"""Scores of whole pieces by hand, whatever mode the model is in."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from sciops.evaluation.sequences import evaluate_sequences, marginal_nats, predict_next
from tests.music.toy import scale


class Same(nn.Module):
    """Expects the notes that sound now, with odds of 9 to 1."""

    def forward(self, x):
        return (2 * x - 1) * math.log(9)


def test_scores_by_hand():
    held = np.zeros((5, 88), np.uint8)
    held[:, 3] = 1
    changing = np.zeros((3, 88), np.uint8)
    changing[[0, 1, 2], [3, 3, 4]] = 1  # the last frame has one note more and one less
    scores = evaluate_sequences(Same(), [held, changing], progress=False)
    right, wrong = -math.log(0.9), -math.log(0.1)
    first, second = 88 * right, (174 * right + 2 * wrong) / 2
    assert scores["nats"].values == pytest.approx([first, second])
    assert scores["frames"].values.tolist() == [4, 2]
    assert scores.attrs["nats"] == pytest.approx((4 * first + 2 * second) / 6)


def test_probabilities_are_of_the_next_frame():
    roll = scale(6)
    probability = predict_next(Same(), roll)
    np.testing.assert_allclose(probability, np.where(roll, 0.9, 0.1), rtol=1e-5)


def test_a_model_is_left_in_the_mode_it_was_in():
    model = nn.Sequential(nn.Dropout(0.5), Same())
    first, second = (predict_next(model.train(), scale(6)) for _ in range(2))
    assert np.array_equal(first, second) and model.training
    predict_next(model.eval(), scale(6))
    assert not model.training


def test_marginals_by_hand():
    """A key that sounds in 1 of 2 training frames has the probability 1/2, all others 1/4."""
    train, test = np.zeros((2, 2, 88), np.uint8)
    train[0, 5] = test[1, 5] = 1
    expected = math.log(2) + 87 * math.log(4 / 3)
    assert marginal_nats([train], [test]) == pytest.approx(expected)
    assert torch.is_grad_enabled()
