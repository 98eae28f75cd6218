"""A K-layer is the sum of dense Kronecker products that it says it is."""

import pytest
import torch

from sciops.operators import arch_parameters
from sciops.operators.klayer import KLayer
from tests.contracts import assert_gradients_reach, linearity_error, random_tensor, relative_error


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("size, out_size", [((6,), (6,)), ((5, 8), (3, 9)), ((3, 4, 2), (2, 4, 1))])
def test_it_is_the_sum_of_dense_maps(size, out_size, depth):
    layer = KLayer(2, 3, size, out_size, depth=depth).double()
    x = random_tensor(4, 2, *size, dtype=torch.float64)
    maps = layer.matrices()
    y = torch.zeros(4, 3, *out_size, dtype=torch.float64)
    for o in range(3):
        for i in range(2):
            whole = torch.ones(1, 1, dtype=torch.complex128)
            for k in maps:
                whole = torch.kron(whole, k[o, i])
            y[:, o] += (x[:, i].flatten(1) + 0j).matmul(whole.mT).real.view(4, *out_size)
    assert relative_error(layer(x), y) < 1e-13
    assert linearity_error(layer, *random_tensor(2, 4, 2, *size, dtype=torch.float64)) < 1e-12
    assert_gradients_reach(layer, layer(x).square().sum())


def test_it_starts_unitary_and_keeps_the_energy():
    layer = KLayer(8, 8, (16, 16))
    first, second = layer.matrices()
    assert relative_error(second @ second.mH, torch.eye(16).expand(8, 8, 16, 16) + 0j) < 1e-5
    assert relative_error(first @ first.mH, torch.eye(16).expand(8, 8, 16, 16) / 4 + 0j) < 1e-5
    x = random_tensor(8, 8, 16, 16)
    assert 0.8 < layer(x).std() / x.std() < 1.2


def test_it_has_weights_only_and_one_size():
    layer = KLayer(1, 1, (4, 4))
    assert arch_parameters(layer) == []
    with pytest.raises(ValueError, match=r"built for size=\(4, 4\)"):
        layer(torch.zeros(1, 1, 5, 4))
