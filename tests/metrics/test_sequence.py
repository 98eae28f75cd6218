"""Nats of a sequence: worked out by hand, and of the marginals on the real collections."""

import math

import numpy as np
import pytest
import torch

from sciops.evaluation.sequences import marginal_nats
from sciops.metrics.sequence import frames, marginal_logits, nats
from sciops.music.collection import read_tree
from sciops.music.rolls import pieces_of
from tests.data.file_writers import shared
from tests.music.toy import REAL


def test_a_value_by_hand():
    """p = 1/2, 3/4 in the first frame, 1/2, 1/4 in the second; the third is not known."""
    logits = torch.tensor([[[0.0, 0.0, 9.0], [math.log(3), -math.log(3), 9.0]]])
    y = torch.tensor([[[1.0, 0.0, math.nan], [1.0, 1.0, math.nan]]])
    expected = math.log(2) + math.log(4 / 3) + math.log(2) + math.log(4)
    assert nats(logits, y).item() == pytest.approx(expected)
    assert frames(y).tolist() == [2]


def test_sequences_keep_their_axis_and_certainty_costs_nothing():
    y = torch.randint(2, (3, 88, 7)).float()
    sure = (2 * y - 1) * 60
    assert nats(sure, y).max() < 1e-20
    noise = torch.randn(3, 88, 7)
    assert torch.equal(nats(noise, y)[[2, 0]], nats(noise[[2, 0]], y[[2, 0]]))
    assert torch.isfinite(nats(-sure, y)).all()  # as wrong as can be


def test_what_is_not_known_has_no_gradient():
    y = torch.full((1, 88, 3), torch.nan)
    y[..., 0] = 1
    logits = torch.zeros(1, 88, 3, requires_grad=True)
    nats(logits, y).sum().backward()
    assert (logits.grad[..., 0] == -0.5).all() and not logits.grad[..., 1:].any()


def test_marginals_follow_laplace():
    notes = np.array([[1, 0], [1, 0], [0, 0]])
    torch.testing.assert_close(
        marginal_logits(notes).sigmoid(), torch.tensor([3 / 5, 1 / 5], dtype=torch.float64)
    )


@pytest.mark.parametrize(("name", "expected"), [("jsb", 11.09), ("nottingham", 10.26)])
def test_marginals_of_the_real_collections(name, expected):
    tree = read_tree(shared(REAL[name]))
    train, test = (pieces_of(tree[split].to_dataset()) for split in ("train", "test"))
    assert marginal_nats(train, test) == pytest.approx(expected, abs=0.005)
