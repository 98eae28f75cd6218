"""A dense layer keeps the operator contract."""

import pytest
import torch

from sciops.operators.dense import Dense
from tests.contracts import assert_operator


@pytest.mark.parametrize("size, other", [((6,), (7,)), ((3, 4), (4, 4))])
def test_it_keeps_the_contract(size, other):
    assert_operator(Dense(2, 3, size), size, other)


def test_its_matrix_is_its_weight():
    layer = Dense(2, 1, (3, 2), (2, 2))
    assert torch.allclose(layer.as_matrix(), layer.weight, atol=1e-6)
