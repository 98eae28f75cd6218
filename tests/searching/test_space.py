"""Every registered space keeps the contract; architectures travel by name, by order, or not."""

import pytest
import torch
from torch import nn

from sciops.operators import arch_parameters, weight_parameters
from sciops.searching.space import (
    architecture_of,
    distances,
    freeze,
    install,
    searched_layers,
)
from sciops.searching.spaces import SPACES, make_space
from sciops.searching.tracing import distance
from tests.contracts import assert_gradients_reach, random_tensor
from tests.search_toy import SIZE, LeNet

LEARNING = [name for name, kind in SPACES.items() if kind.learns]
OF_LAYERS = [name for name, kind in SPACES.items() if not kind.whole]
OPTIONS = {
    "nos": {"width": 2, "n_cells": 2, "n_nodes": 1},
    "dnarch": {"width": 4, "blocks": 2},
}


def small(name: str):
    return make_space(name, **OPTIONS.get(name, {}))


@pytest.fixture
def model() -> LeNet:
    torch.manual_seed(0)
    return LeNet()


@pytest.fixture
def x() -> torch.Tensor:
    return random_tensor(5, 1, SIZE, SIZE)


@pytest.mark.parametrize("name", SPACES)
def test_a_supernet_is_another_network_with_parameters_of_two_kinds(name, model, x):
    before = {n: p.clone() for n, p in model.state_dict().items()}
    net = small(name).supernet(model, x[:1])
    assert net(x).shape == model(x).shape
    assert all(torch.equal(p, before[n]) for n, p in model.state_dict().items())
    architecture, weights = arch_parameters(net), weight_parameters(net)
    assert bool(architecture) == SPACES[name].learns == bool(searched_layers(net))
    ids = [id(p) for p in architecture + weights]
    assert sorted(ids) == sorted(id(p) for p in net.parameters())
    assert_gradients_reach(net, net(x).square().sum())


@pytest.mark.parametrize("name", SPACES)
def test_a_space_comes_back_from_json(name):
    space = make_space(name, **OPTIONS.get(name, {"layers": ["conv1"]}))
    assert make_space(**space.as_dict()) == space


@pytest.mark.parametrize("name", OF_LAYERS)
def test_only_the_layers_asked_for_are_changed(name, model, x):
    net = make_space(name, layers=("conv2",)).supernet(model, x[:1])
    assert isinstance(net.conv1, nn.Conv2d) and not isinstance(net.conv2, nn.Conv2d)


@pytest.mark.parametrize("name", LEARNING)
def test_random_members_depend_on_the_seed_alone_and_leave_weights(name, model, x):
    space = small(name)
    net = space.supernet(model, x[:1])
    weights = [p.clone() for p in weight_parameters(net)]
    found = []
    for seed in (1, 2, 1):
        space.randomise(net, seed=seed)
        found.append(torch.cat([p.detach().flatten() for p in arch_parameters(net)]))
    assert torch.equal(found[0], found[2]) and not torch.equal(found[0], found[1])
    assert all(map(torch.equal, weights, weight_parameters(net)))
    assert torch.isfinite(net(x)).all()


@pytest.mark.parametrize("name", LEARNING)
def test_a_member_has_the_architecture_frozen_and_the_models_weights(name, model, x):
    space = small(name)
    torch.manual_seed(5)
    net = space.supernet(model, x[:1])
    space.randomise(net, seed=3)
    torch.manual_seed(5)
    member = space.member(model, x[:1], architecture_of(net))
    if not space.derives:
        assert distance(member(x), net(x)) < 1e-6
    assert all(map(torch.equal, architecture_of(member).values(), architecture_of(net).values()))
    assert list(architecture_of(member)) == list(architecture_of(net))
    assert not any(p.requires_grad for p in arch_parameters(member))
    assert all(p.requires_grad for p in weight_parameters(member))


@pytest.mark.parametrize("name", LEARNING)
def test_distances_are_zero_at_the_start_only(name, model, x):
    space = small(name)
    net = space.supernet(model, x[:1])
    start = space.places(net)
    assert distances(space.places(net), start) == dict.fromkeys(start, 0)
    assert set(start) == set(space.described(net)) and len(start) > 0
    space.randomise(net, seed=0)
    moved = distances(space.places(net), start).values()
    assert min(moved) > 0 and max(moved) > 0.1


def test_a_distance_is_relative(model, x):
    space = make_space("xd")
    net = space.supernet(model, x[:1])
    start = space.places(net)
    with torch.no_grad():
        for parameter in net.conv1.arch_parameters():
            parameter.mul_(1.25)
    moved = distances(space.places(net), start)
    assert moved["conv1"] == pytest.approx(0.25, rel=1e-5) and moved["conv2"] == 0


def test_install_finds_parts_by_name_or_by_order(model, x):
    space = make_space("xd")
    net = space.randomise(space.supernet(model, x[:1]), seed=0)
    other = space.supernet(nn.Sequential(LeNet()), x[:1])
    install(other, architecture_of(net))
    pairs = zip(arch_parameters(net), arch_parameters(other), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_install_refuses_other_networks_and_grids(model, x):
    space = make_space("xd")
    net = space.supernet(model, x[:1])
    architecture = architecture_of(net)
    part = make_space("xd", layers=("conv1",)).supernet(model, x[:1])
    with pytest.raises(ValueError, match="of another network"):
        install(part, architecture)
    finer = space.supernet(nn.Sequential(model.conv1), random_tensor(1, 1, 20, 20))
    alone = {n.replace("conv1", "0"): p for n, p in architecture.items() if "conv1" in n}
    with pytest.raises(ValueError, match="found on another grid"):
        install(finer, alone)


def test_freezing_keeps_weights_learning(model, x):
    net = freeze(make_space("xd").supernet(model, x[:1]))
    net(x).sum().backward()
    assert all(p.grad is None for p in arch_parameters(net))
    assert all(p.grad is not None for p in weight_parameters(net))


def test_names_and_options_that_are_not_known():
    with pytest.raises(ValueError, match="choose one of xd, kop"):
        make_space("darts")
    with pytest.raises(ValueError, match="has no option 'deep'"):
        make_space("xd", deep=3)


def test_spaces_that_start_as_the_network_do(model, x):
    for space in (make_space("xd", depth=3, arch_bias=True, gates=True), make_space("kop")):
        assert distance(space.supernet(model, x[:1])(x), model(x)) < 1e-5
    near = make_space("discrete", perturb=1e-6).supernet(model, x[:1])
    assert distance(near(x), model(x)) < 1e-4
