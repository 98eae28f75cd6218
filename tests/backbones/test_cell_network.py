"""Networks of cells: sizes, stages and grids of any size, in one to three dimensions."""

import dataclasses
import json

import pytest
import torch

from sciops.backbones import build_model
from sciops.backbones.cell_network import CellPlan, derived_network, plan_for_fields
from sciops.backbones.genotype import Genotype, Incoming, Node
from sciops.backbones.positioned import Positioned
from sciops.task import Axis, Field, Task
from tests.contracts import assert_gradients_reach, random_tensor

FIRST = Node((Incoming(0, "sep_conv_3"), Incoming(1, "channel_attention")), "dynamic_conv_3")
OTHER = Node((Incoming(1, "max_pool_3"), Incoming(2, "dil_conv_5")), "spatial_attention")
GENOTYPE = Genotype(normal=(FIRST, OTHER), reduction=(FIRST, OTHER))


def small(**options) -> CellPlan:
    return CellPlan(in_channels=2, out_channels=3, width=4, n_cells=3, n_nodes=2, **options)


def network(plan: CellPlan, genotype: Genotype = GENOTYPE):
    torch.manual_seed(0)
    return derived_network(plan, genotype)


@pytest.mark.parametrize("size", [(12,), (7, 10), (4, 5, 3)], ids=str)
@pytest.mark.parametrize("halving", [True, False])
@pytest.mark.parametrize("circular", [True, False])
def test_shapes_and_gradients(size, halving, circular):
    kinds = dict(n_axes=len(size), halving=halving, periodic=(circular,) * len(size))
    x = random_tensor(3, 2, *size)
    for dense, shape in ((False, (3, 3)), (True, (3, 3, *size))):
        model = network(small(dense=dense, **kinds))
        out = model(x)
        assert out.shape == shape
        assert_gradients_reach(model, (out * random_tensor(*shape, seed=1)).sum())


@pytest.mark.parametrize("circular", [True, False])
@pytest.mark.parametrize("halving", [True, False])
def test_fields_of_any_size_keep_it(halving, circular):
    model = network(small(dense=True, halving=halving, periodic=(circular, circular)))
    for size in ((1, 1), (1, 2), (3, 2), (9, 17)):
        assert model(random_tensor(2, 2, *size)).shape == (2, 3, *size)


def test_stages_end_where_the_grid_is_halved():
    x = random_tensor(2, 2, 9, 12)
    plan = dataclasses.replace(small(), n_cells=6)
    assert plan.kinds == ("normal", "normal", "reduction", "normal", "reduction", "normal")
    stages = network(plan).forward_stages(x)[1]
    assert [tuple(s.shape[1:]) for s in stages] == [(8, 9, 12), (16, 5, 6), (32, 3, 3)]
    flat = network(dataclasses.replace(plan, halving=False)).forward_stages(x)[1]
    assert [tuple(s.shape[1:]) for s in flat] == [(8, 9, 12)] * 3
    assert CellPlan(in_channels=1, out_channels=1).kinds.index("reduction") == 2  # of 8 cells
    assert CellPlan(in_channels=1, out_channels=1).marks == (2, 5)


def test_few_cells():
    for n_cells, n_stages in ((1, 2), (2, 3)):
        plan = dataclasses.replace(small(), n_cells=n_cells, dense=True)
        out, stages = network(plan).forward_stages(random_tensor(2, 2, 5, 6))
        assert out.shape == (2, 3, 5, 6) and len(stages) == n_stages


def test_a_periodic_field_has_no_seam():
    """Moved by four points, which the coarse grids can follow, the answer moves with it."""
    model = network(small(dense=True, n_axes=1, periodic=(True,))).eval()
    x = random_tensor(2, 2, 16)
    torch.testing.assert_close(model(x.roll(4, 2)), model(x).roll(4, 2), atol=1e-5, rtol=1e-4)
    open_ended = network(small(dense=True, n_axes=1)).eval()
    assert (open_ended(x.roll(4, 2)) - open_ended(x).roll(4, 2)).abs().max() > 1e-3


def test_a_plan_survives_json():
    plan = small(periodic=(True, False), drop_path=0.3)
    assert CellPlan(**json.loads(json.dumps(dataclasses.asdict(plan)))) == plan


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(n_cells=0), "n_cells=0 must be a whole number ≥ 1"),
        (dict(width=1.5), "width=1.5 must be"),
        (dict(n_axes=4), "there are networks for 1, 2 and 3"),
        (dict(periodic=(True,)), r"periodic=\(True,\) must have 2 entries"),
        (dict(drop_path=1.0), "drop_path=1.0 must be at least 0"),
    ],
)
def test_plans_that_make_no_network(options, message):
    with pytest.raises(ValueError, match=message):
        CellPlan(**dict(in_channels=1, out_channels=1) | options)


def test_genotypes_that_do_not_fit():
    with pytest.raises(
        ValueError, match="needs a reduction cell of 2 nodes, the genotype has none"
    ):
        network(small(), Genotype(normal=GENOTYPE.normal))
    with pytest.raises(ValueError, match="needs a normal cell of 2 nodes, the genotype has 1"):
        network(small(halving=False), Genotype(normal=(FIRST,)))
    assert network(small(halving=False), Genotype(normal=GENOTYPE.normal))
    with pytest.raises(
        ValueError, match=r"expected x of shape \(batch, 2, n0, n1\), got \(1, 2, 4"
    ):
        network(small())(torch.zeros(1, 2, 4))


AXES = Axis("x", (0.0, 0.5), True, 1.0), Axis("y", (0.0, 1.0), False, 1.0)
TASK = Task("demo", (Field("u", (0, 2)),), (Field("v"),), AXES)


def test_a_plan_for_the_fields_of_a_task():
    plan = plan_for_fields(TASK, width=4, n_cells=3, n_nodes=2)
    assert (plan.in_channels, plan.out_channels, plan.n_axes) == (5, 1, 2)
    assert plan.periodic == (True, False) and plan.dense
    model = Positioned(network(plan), TASK)
    assert model(torch.zeros(2, 2, 6, 5)).shape == (2, 1, 6, 5)


def test_a_network_by_its_description():
    size = dict(width=4, n_cells=3, n_nodes=2)
    described = dict(op="nos", backbone="cells", genotype=GENOTYPE.as_dict(), **size)
    x, y = random_tensor(3, 2, 6, 5), random_tensor(3, 1, 6, 5, seed=1)
    model = build_model(TASK, json.loads(json.dumps(described))).fit(x, 5 + 3 * y).eval()
    inner = derived_network(plan_for_fields(TASK, **size), GENOTYPE)
    inner.load_state_dict(model.model.network.state_dict())
    scaled = (x - model.x_mean.view(-1, 1, 1)) / model.x_std.view(-1, 1, 1)
    answer = Positioned(inner.eval(), TASK)(scaled)
    torch.testing.assert_close(model(x), answer * model.y_std + model.y_mean)
