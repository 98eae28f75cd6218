"""Networks of cells in the place of others: what is kept of them, and how a teacher guides."""

import pytest
import torch
from torch import nn

from sciops.backbones import Normalized, make_backbone
from sciops.backbones.classifiers import Standardized
from sciops.backbones.pyramidnet import PyramidNet
from sciops.operators import arch_parameters
from sciops.searching.engine import run_search
from sciops.searching.guidance import attention_transfer
from sciops.searching.result import load_search
from sciops.searching.space import architecture_of, install
from sciops.searching.spaces import make_space
from sciops.searching.strategies import make_strategy
from sciops.searching.supernet import Derived, Supernet
from sciops.task import Axis, Field, Task
from tests.contracts import random_tensor
from tests.search_toy import SIZE, LeNet, cross_entropy, data, quick

SMALL = dict(width=2, n_cells=3, n_nodes=1)
AXES = (
    Axis("x", tuple(k / 8 for k in range(8)), True, 1.0),
    Axis("y", tuple(k / 5 for k in range(6)), False, 1.0),
)
TASK = Task("demo", (Field("a"),), (Field("u"), Field("v")), AXES)


def space(**options):
    return make_space("nos", **SMALL, **options)


def fields() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    x, y = 3 + random_tensor(4, 1, 8, 6), 5 * random_tensor(4, 2, 8, 6, seed=1)
    return make_backbone(TASK, "conv", width=4, taps=3, blocks=1).fit(x, y), x, y


def test_fields_keep_their_units_and_get_points():
    model, x, y = fields()
    net = space().supernet(model, x[:1])
    assert isinstance(net, Normalized) and net.y_std.equal(model.y_std) and net(x).shape == y.shape
    supernet = net.model.network
    assert isinstance(supernet, Supernet) and supernet.plan.dense
    assert supernet.plan.in_channels == 1 + 3 and supernet.plan.periodic == (True, False)
    net.model.network = nn.Identity()  # shows what the cells see
    net.model.network.forward_stages = lambda x: (x[:, :2], [])
    seen = (net(x) - model.y_mean.view(-1, 1, 1)) / model.y_std.view(-1, 1, 1)
    torch.testing.assert_close(seen[:, 0], (x[:, 0] - model.x_mean) / model.x_std)
    torch.testing.assert_close(seen[0, 1, :, 0], torch.cos(2 * torch.pi * torch.arange(8) / 8))


def test_classes_keep_their_normalisation():
    model = Standardized(LeNet(), 1).fit(2 + random_tensor(9, 1, SIZE, SIZE))
    net = space().supernet(model, random_tensor(1, 1, SIZE, SIZE))
    assert isinstance(net, Standardized) and net.mean.equal(model.mean)
    assert isinstance(net.model, Supernet) and net.model.plan.out_channels == 2
    assert isinstance(model.model, LeNet)  # as it was


def test_members_are_plain_networks_of_the_strongest_operations():
    model, x, _ = fields()
    net = space().randomise(space().supernet(model, x[:1]), seed=4)
    member = space().member(model, x[:1], architecture_of(net))
    derived = member.model.network
    assert isinstance(derived, Derived) and derived.genotype == net.model.network.derive()
    assert space().described(member) == space().described(net)
    assert set(space().described(net)) == {"normal", "reduction"}
    assert "2 = " in space().described(net)["normal"]
    count = sum(p.numel() for p in member.parameters())
    assert count < sum(p.numel() for p in net.parameters()) / 3


def test_a_teacher_adds_what_the_formula_says():
    model, x, y = fields()
    how = space(guidance=7.0)
    net, teacher = how.supernet(model, x[:1]), how.teacher(model, x[:1]).eval()
    assert teacher(x).shape == y.shape and space().teacher(model, x[:1]) is None
    net.eval()
    answers, more = how.guide(net, teacher)(x)
    torch.testing.assert_close(answers, net(x))
    inside = (x - model.x_mean.view(-1, 1, 1)) / model.x_std.view(-1, 1, 1)
    seen = net.model.forward_stages(inside)[1], teacher.model.forward_stages(inside)[1]
    assert [s.shape[2:] for s in seen[0]] == [(8, 6), (4, 3), (2, 2)]
    torch.testing.assert_close(more, 7 * attention_transfer(*seen))
    more.backward()
    assert all(a.grad.abs().sum() > 0 for a in arch_parameters(net))
    assert all(p.grad is None for p in teacher.parameters())
    derived = how.member(model, x[:1], architecture_of(net))
    assert how.guide(derived, teacher) is None  # trained without


def found(strategy="joint", **options):
    how = dict(training=quick(1), controls=False, offline=False, strategy=strategy)
    return run_search(LeNet, *data(8), cross_entropy, **{**how, **options})


@pytest.mark.parametrize("strategy", ["joint", "bilevel"])
def test_a_guided_search_trains_a_teacher_and_counts_it(strategy):
    result = found(strategy, space=space(guidance=1000.0), offline=True)
    trials = result.trials.set_index("trial")
    assert list(trials.index) == ["teacher", "supernet", "offline"]
    assert trials.loc["teacher", "role"] == "teacher" and trials.loc["supernet", "epochs"] == 1
    assert result.cost["search_epochs"] == 2 and result.cost["offline_epochs"] == 1
    errors = result.history.set_index("training")["train_cross_entropy"]
    assert errors["search"] > 20 > errors["offline"]  # λ L is part of the first


def test_random_members_have_no_teacher():
    drawn = found(make_strategy("random", members=1), space=space(guidance=1000.0))
    assert list(drawn.trials["trial"]) == ["member-1"]
    assert isinstance(drawn.model, Derived)


@pytest.mark.parametrize("best", ["supernet", "offline"])
def test_what_was_found_comes_back(best, tmp_path):
    result = found(space=space(), offline=True)
    result.trials.loc[result.trials["trial"] != best, "val"] = 9.0
    make = {
        "supernet": lambda: install(space().supernet(LeNet(), result.sample), result.architecture),
        "offline": lambda: result.apply(LeNet()),
    }
    result.model = make[best]()
    loaded = load_search(result.save(tmp_path), LeNet)
    assert isinstance(loaded.model, {"supernet": Supernet, "offline": Derived}[best])
    x = random_tensor(3, 1, SIZE, SIZE)
    assert torch.equal(loaded.model.eval()(x), result.model.eval()(x))
    assert loaded.apply(LeNet(classes=5))(x).shape == (3, 5)


def test_what_it_cannot_replace():
    with pytest.raises(ValueError, match="replaces the whole network"):
        make_space("nos", layers=("conv1",))
    with pytest.raises(ValueError, match="guidance=-1 must be 0 or more"):
        make_space("nos", guidance=-1)
    with pytest.raises(ValueError, match="needs n_cells ≥ 2"):
        make_space("nos", guidance=1.0, n_cells=1)
    with pytest.raises(ValueError, match=r"the network makes \(1, 3, 4, 4\) of \(1, 2, 8, 8\)"):
        space().supernet(nn.Conv2d(2, 3, 2, stride=2), torch.zeros(1, 2, 8, 8))
    with pytest.raises(ValueError, match="no network of space 'nos'"):
        space().described(LeNet())
    assert isinstance(space(guidance=1.0).teacher(LeNet(), torch.zeros(1, 1, 8, 8)), PyramidNet)
