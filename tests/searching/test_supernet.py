"""The supernet: its architecture, and that it is every network of its plan."""

import pytest
import torch

from sciops.backbones import Normalized
from sciops.backbones.cell_network import CellPlan
from sciops.backbones.genotype import OPERATIONS
from sciops.backbones.heterogeneous_cell import Block, Layout, all_candidates
from sciops.operators import arch_parameters, weight_parameters
from sciops.searching.cell import one_hot_weights, random_genotype
from sciops.searching.supernet import Supernet
from tests.contracts import assert_gradients_reach, random_tensor


def plan(**options) -> CellPlan:
    return CellPlan(**dict(in_channels=2, out_channels=3, width=4, n_cells=3, n_nodes=2) | options)


def supernet(**options) -> Supernet:
    torch.manual_seed(0)
    return Supernet(plan(**options))


@pytest.mark.parametrize("size", [(8,), (5, 6)], ids=str)
@pytest.mark.parametrize("dense", [True, False])
def test_gradients_reach_every_choice_and_every_weight(size, dense):
    model = supernet(n_axes=len(size), dense=dense).double()
    out = model(random_tensor(3, 2, *size, dtype=torch.float64))
    probe = random_tensor(*out.shape, dtype=torch.float64, seed=1)
    assert_gradients_reach(model, (out * probe).sum())
    for a in model.arch_parameters():
        assert (a.grad.abs() > 0).all()  # each number of it


def test_the_matrices_of_the_paper():
    model = Supernet(CellPlan(in_channels=1, out_channels=10, width=2, n_cells=3))
    assert {k: tuple(a.shape) for k, a in model.architecture.items()} == {
        "normal": (18, 11),
        "reduction": (18, 11),
    }
    assert all(0 < a.abs().max() < 0.01 for a in model.arch_parameters())
    for weights in model.weights().values():
        torch.testing.assert_close(weights.sum(1), torch.ones(18))


def test_architecture_is_marked_wherever_the_supernet_is():
    model = supernet()
    wrapped = torch.nn.Sequential(Normalized(model, 2, 3))
    ids = {id(a) for a in model.architecture.values()}
    assert {id(p) for p in arch_parameters(wrapped)} == ids and len(ids) == 2
    assert not ids & {id(p) for p in weight_parameters(wrapped)}
    assert len(list(wrapped.parameters())) == 2 + len(weight_parameters(wrapped))


def test_only_kinds_of_cells_that_there_are_have_an_architecture():
    assert list(supernet(halving=False).architecture) == ["normal"]
    assert list(supernet(n_cells=2).architecture) == ["reduction"]
    assert supernet(halving=False).derive().reduction == ()


def test_weights_are_a_softmax_of_the_architecture():
    model = supernet()
    x = random_tensor(3, 2, 5, 6)
    given = {kind: a.exp() / a.exp().sum(1, keepdim=True) for kind, a in model.architecture.items()}
    torch.testing.assert_close(model(x), model.forward_stages(x, given)[0])


def test_a_large_number_decides():
    model = supernet()
    genotype = random_genotype(model.plan, 3)
    assert model.derive() != genotype
    with torch.no_grad():
        for kind, weights in one_hot_weights(genotype).items():
            model.architecture[kind].copy_(9 * weights)
    assert model.derive() == genotype


def test_a_search_finds_the_one_operation_that_helps():
    """y is what max pooling makes of x: gradient steps on the architecture alone prefer it."""
    torch.manual_seed(0)
    block = Block(all_candidates(1)[0], Layout(4, (False, False), affine=False))
    weights = torch.zeros(3, 11, requires_grad=True)
    nodes = [torch.randn(4, 4, 8, 8), torch.randn(4, 4, 8, 8)]
    column = OPERATIONS.index("max_pool_3")
    target = 2 * block.first["0"]["max_pool_3"](nodes[0]).detach()
    optimiser = torch.optim.Adam([weights], 0.1)
    for _ in range(25):
        loss = (block(nodes, weights.softmax(1)) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert int(weights[0].argmax()) == column
