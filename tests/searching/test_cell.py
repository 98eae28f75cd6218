"""The space as a strategy sees it: the supernet with one-hot weights is each derived network."""

import json

import pytest
import torch

from sciops.backbones.genotype import OPERATIONS, Genotype, Incoming, Node
from sciops.backbones.positions import position_channels
from sciops.operators import arch_parameters
from sciops.searching.cell import (
    CellPlan,
    Positioned,
    Supernet,
    build,
    guided,
    inherit,
    one_hot_weights,
    plan_for_fields,
    random_genotype,
)
from sciops.task import Axis, Field, Task
from tests.contracts import random_tensor, relative_error


def small(**options) -> CellPlan:
    return CellPlan(**dict(in_channels=2, out_channels=3, width=4, n_cells=4, n_nodes=2) | options)


def pair(plan: CellPlan, genotype: Genotype):
    """A supernet, and the network of the genotype with its weights."""
    torch.manual_seed(0)
    supernet = Supernet(plan).double()
    return supernet, inherit(build(genotype, plan).double(), supernet)


def assert_same_function(plan: CellPlan, genotype: Genotype, size: tuple[int, ...]) -> None:
    """In training and evaluation mode, stages included, and its gradient with respect to x."""
    supernet, network = pair(plan, genotype)
    weights = {kind: w.double() for kind, w in one_hot_weights(genotype).items()}
    x = random_tensor(3, plan.in_channels, *size, dtype=torch.float64).requires_grad_()
    for mode in (True, False):
        answer, stages = supernet.train(mode).forward_stages(x, weights)
        other, others = network.train(mode).forward_stages(x)
        assert other.abs().max() > 1e-3
        for a, b in zip([answer, *stages], [other, *others], strict=True):
            assert relative_error(a, b) < 1e-12
        probe = random_tensor(*other.shape, dtype=torch.float64, seed=1)
        slopes = [torch.autograd.grad((out * probe).sum(), x)[0] for out in (answer, other)]
        assert relative_error(*slopes) < 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [(9,), (6, 5)], ids=str)
@pytest.mark.parametrize("dense", [True, False])
def test_a_one_hot_supernet_is_the_derived_network(seed, size, dense):
    circular = seed % 2 == 1
    kinds = dict(n_axes=len(size), dense=dense, periodic=(circular,) * len(size))
    plan = small(halving=seed != 2, **kinds)
    assert_same_function(plan, random_genotype(plan, seed), size)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_in_each_place(operation):
    """On both tiers, on edges of stride 1 and 2."""
    nodes = (
        Node((Incoming(0, operation), Incoming(1, "identity")), operation),
        Node((Incoming(0, "identity"), Incoming(2, operation)), operation),
    )
    assert_same_function(small(n_cells=2), Genotype(reduction=nodes), (6, 5))


def test_with_other_weights_it_is_another_function():
    plan = small()
    genotype, other = random_genotype(plan, 0), random_genotype(plan, 1)
    supernet, network = pair(plan, genotype)
    x = random_tensor(3, 2, 6, 5, dtype=torch.float64)
    weights = {kind: w.double() for kind, w in one_hot_weights(other).items()}
    assert relative_error(supernet.forward_stages(x, weights)[0], network(x)) > 1e-3
    assert relative_error(supernet(x), network(x)) > 1e-3


def test_scales_and_shifts_of_batch_norms_stay_as_they_are():
    plan = small()
    network = build(random_genotype(plan, 0), plan)
    names = [n for n, _ in network.named_parameters() if n.endswith("last.2.weight")]
    with torch.no_grad():
        network.get_parameter(names[0]).fill_(7)
    inherit(network, Supernet(plan))
    assert len(names) == 4 and (network.get_parameter(names[0]) == 7).all()


def test_networks_of_another_plan_inherit_nothing():
    network = build(random_genotype(small(), 0), small())
    with pytest.raises(ValueError, match="build both from the same plan"):
        inherit(network, Supernet(small(width=6)))
    with pytest.raises(ValueError, match=r"does not, as cells\.3\..*same plan"):
        inherit(network, Supernet(small(n_cells=3)))


def test_random_genotypes():
    plan = small(n_nodes=4)
    genotypes = [random_genotype(plan, seed) for seed in range(50)]
    assert len({str(g) for g in genotypes}) == 50
    assert random_genotype(plan, 7) == genotypes[7]
    for genotype in genotypes:
        assert Genotype.parse(str(genotype)) == genotype
        assert Genotype.from_dict(json.loads(json.dumps(genotype.as_dict()))) == genotype
        assert len(genotype.normal) == len(genotype.reduction) == 4
    assert random_genotype(small(halving=False), 0).reduction == ()
    assert set(one_hot_weights(random_genotype(small(halving=False), 0))) == {"normal"}


def test_a_search_from_supernet_to_network_on_fields():
    """Weights and architecture in turn on two halves, guided; then the network by itself."""
    axes = tuple(Axis(n, (0.0, 0.5, 1.0), False, 1.0) for n in "xy")
    task = Task("demo", (Field("u"),), (Field("v"),), axes)
    plan = plan_for_fields(task, width=4, n_cells=3, n_nodes=1)
    assert plan.in_channels == 1 + position_channels(task)
    torch.manual_seed(0)
    x = torch.randn(8, 1, 6, 7)
    y = x.cumsum(2)
    supernet = Supernet(plan)
    model = Positioned(supernet, task)
    master = Positioned(build(random_genotype(plan, 0), plan), task).eval()
    architecture = arch_parameters(model)
    chosen = {id(p) for p in architecture}
    weights = [p for p in model.parameters() if id(p) not in chosen]
    optimisers = torch.optim.Adam(weights, 0.01), torch.optim.Adam(architecture, 0.05)
    start, losses = [a.detach().clone() for a in architecture], []
    for _ in range(8):
        for half, optimiser in zip((slice(4), slice(4, 8)), optimisers, strict=True):
            answer, guidance = guided(model, master, x[half])
            loss = (answer - y[half]).square().mean() + guidance
            model.zero_grad()
            loss.backward()
            optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert all(not torch.equal(a, b) for a, b in zip(start, architecture, strict=True))
    network = Positioned(build(supernet.derive(), plan), task)
    assert network(x).shape == y.shape and arch_parameters(network) == []
