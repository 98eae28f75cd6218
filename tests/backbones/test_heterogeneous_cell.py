"""The two tiers of a block written out term by term, relaxed and derived; cells."""

import pytest
import torch

from sciops.backbones.genotype import OPERATIONS, Incoming, Node
from sciops.backbones.heterogeneous_cell import (
    Block,
    Candidates,
    Cell,
    Layout,
    all_candidates,
    chosen_candidates,
    dropped,
    rows_of_blocks,
)
from sciops.operators.calibration import ATTENTIONS, KERNELS, dynamic_convolution
from sciops.operators.features import FEATURES
from tests.contracts import assert_gradients_reach, random_tensor, relative_error

PERIODIC = (False, True)
LAYOUT = Layout(4, PERIODIC, affine=False)


def made(block: Candidates, *, halved: int = 0, layout: Layout = LAYOUT) -> Block:
    torch.manual_seed(0)
    return Block(block, layout, halved=halved).double()


def tier(features, attentions, kernels):
    """G + G ⊙ ΣA + Σ_D G ⊛ D, a convolution for each kernel."""
    base = sum(features)
    out = base + sum((base * a for a in attentions), torch.zeros_like(base))
    for kernel in kernels:
        out = out + dynamic_convolution(base, kernel, PERIODIC)
    return out


def slow_relaxed(block: Block, nodes: list[torch.Tensor], weights: torch.Tensor) -> torch.Tensor:
    """Equations 2 to 5 of the paper, each output multiplied by its weight."""

    def outputs(names, x, edge, row):
        return [row[OPERATIONS.index(name)] * edge[name](x) for name in names]

    def of_all(names):
        pairs = enumerate(nodes)
        lists = [outputs(names, x, block.first[str(i)], weights[i]) for i, x in pairs]
        return [value for values in lists for value in values]

    surrogate = tier(of_all(FEATURES), of_all(ATTENTIONS), of_all(KERNELS))
    last, second = weights[-1], block.second
    calibrating = sum(last[OPERATIONS.index(name)] for name in (*ATTENTIONS, *KERNELS))
    features = [*outputs(FEATURES, surrogate, second, last), calibrating * surrogate]
    rest = [outputs(names, surrogate, second, last) for names in (ATTENTIONS, KERNELS)]
    return tier(features, *rest)


@pytest.mark.parametrize("halved", [0, 2])
def test_a_relaxed_block_is_its_equations(halved):
    block = made(all_candidates(2)[1], halved=halved)
    weights = random_tensor(4, 11, dtype=torch.float64, seed=5).softmax(1)
    nodes = [random_tensor(2, 4, 6, 8, dtype=torch.float64, seed=i) for i in range(3)]
    nodes[2] = nodes[2][..., :3, :4] if halved else nodes[2]
    out = block(nodes, weights)
    assert out.shape == nodes[2].shape
    assert relative_error(out, slow_relaxed(block, nodes, weights)) < 1e-12


@pytest.mark.parametrize("second", OPERATIONS)
def test_a_derived_block_is_what_its_genotype_says(second):
    node = Node((Incoming(0, "dil_conv_3"), Incoming(1, "spatial_attention")), second)
    block = made(chosen_candidates([node])[0])
    nodes = [random_tensor(2, 4, 5, 6, dtype=torch.float64, seed=i) for i in range(2)]
    features = block.first["0"]["dil_conv_3"](nodes[0])
    surrogate = features + features * block.first["1"]["spatial_attention"](nodes[1])
    last = block.second[second](surrogate)
    expected = {
        **dict.fromkeys(FEATURES, lambda: last),
        **dict.fromkeys(ATTENTIONS, lambda: surrogate + surrogate * last),
        **dict.fromkeys(
            KERNELS, lambda: surrogate + dynamic_convolution(surrogate, last, PERIODIC)
        ),
    }[second]()
    assert relative_error(block(nodes), expected) < 1e-12
    assert set(block.first) == {"0", "1"} and list(block.second) == [second]


def test_every_weight_of_a_relaxed_block_matters():
    block = made(all_candidates(1)[0])
    nodes = [random_tensor(2, 4, 5, 6, dtype=torch.float64, seed=i) for i in range(2)]
    weights = torch.full((3, 11), 1 / 11, dtype=torch.float64, requires_grad=True)
    probe = random_tensor(2, 4, 5, 6, dtype=torch.float64, seed=9)
    (block(nodes, weights) * probe).sum().backward()
    assert (weights.grad.abs() > 1e-9).all()


def test_gradients_reach_every_layer_of_a_cell():
    torch.manual_seed(0)
    cell = Cell(all_candidates(2), (3, 5), LAYOUT, reduction=True, uneven=True).double()
    before = random_tensor(2, 3, 8, 12, dtype=torch.float64)
    last = random_tensor(2, 5, 4, 6, dtype=torch.float64, seed=1)
    weights = random_tensor(7, 11, dtype=torch.float64, seed=5).softmax(1)
    out = cell(before, last, weights)
    assert out.shape == (2, 8, 2, 3)
    assert_gradients_reach(cell, (out * random_tensor(*out.shape, seed=3)).sum())


def test_a_cell_is_its_blocks_one_after_another():
    cell = Cell(all_candidates(2), (3, 5), LAYOUT).double()
    before = random_tensor(2, 3, 4, 6, dtype=torch.float64)
    last = random_tensor(2, 5, 4, 6, dtype=torch.float64, seed=1)
    weights = random_tensor(7, 11, dtype=torch.float64, seed=5).softmax(1)
    nodes = [cell.before(before), cell.last(last)]
    nodes.append(slow_relaxed(cell.blocks[0], nodes, weights[:3]))
    nodes.append(slow_relaxed(cell.blocks[1], nodes, weights[3:]))
    assert relative_error(cell(before, last, weights), torch.cat(nodes[2:], 1)) < 1e-12
    assert sum(rows_of_blocks(2)) == 7


def test_dropped_samples_are_zero_and_the_mean_stays():
    torch.manual_seed(0)
    x = torch.ones(4000, 2, 3)
    out = dropped(x, 0.25)
    torch.testing.assert_close(out.unique(), torch.tensor([0.0, 4 / 3]))
    assert all(len(sample.unique()) == 1 for sample in out[:50])
    assert abs(out.mean() - 1) < 0.03 and dropped(x, 0.0) is x


def test_paths_are_dropped_in_training_only():
    node = Node((Incoming(0, "identity"), Incoming(1, "dil_conv_3")), "identity")
    block = made(chosen_candidates([node])[0], layout=LAYOUT._replace(drop_path=0.5))
    nodes = [random_tensor(20, 4, 5, 6, dtype=torch.float64, seed=i) for i in range(2)]
    left = (block(nodes) - nodes[0]).flatten(1).abs().sum(1)  # identity is never dropped
    assert 3 < (left == 0).sum() < 17
    quiet = (block.eval()(nodes) - nodes[0]).flatten(1).abs().sum(1)
    assert (quiet > 0).all()
