"""Probabilities and scores of classes, some samples at a time or all."""

import numpy as np
import pytest
import torch
from torch import nn

from sciops.evaluation import classes
from sciops.evaluation.classes import class_probabilities, evaluate_classes


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(6, 3), nn.Dropout(0.5)).train()


def test_scores_are_those_of_each_sample(model, monkeypatch):
    x, y = torch.randn(5, 1, 2, 3), torch.tensor([0, 1, 2, 1, 0])
    found = evaluate_classes(model, x, y, "abc", np.arange(5) + 10, progress=False)
    assert model.training  # as it was
    with torch.no_grad():
        p = model.eval()(x).double().softmax(1)
    right = (p.argmax(1) == y).numpy()
    np.testing.assert_array_equal(found["accuracy"], right)
    np.testing.assert_array_equal(found["error_rate"], 1 - right)
    np.testing.assert_allclose(found["cross_entropy"], -p[range(5), y].log(), rtol=1e-6)
    assert found["label"].values.tolist() == list("abcba")
    assert found["predicted"].values.tolist() == ["abc"[k] for k in p.argmax(1)]
    assert found["sample"].values.tolist() == [10, 11, 12, 13, 14]
    np.testing.assert_allclose(class_probabilities(model, x), p, rtol=1e-5)
    monkeypatch.setattr(classes, "AT_ONCE", 2)
    again = evaluate_classes(model, x, y, "abc", np.arange(5) + 10, progress=False)
    np.testing.assert_allclose(again["cross_entropy"], found["cross_entropy"], rtol=1e-6)
