"""K-operations: convolutions or random unitary maps at the start, shared or not."""

import pytest
import torch
from torch import nn

from sciops.operators import arch_parameters
from sciops.searching.space import architecture_of, install, searched_layers
from sciops.searching.spaces import make_space
from sciops.searching.tracing import distance
from tests.contracts import random_tensor, relative_error
from tests.search_toy import SIZE, LeNet

X = random_tensor(3, 1, SIZE, SIZE)


def unitary_error(k) -> float:
    matrix = k.as_matrix().detach()
    return relative_error(matrix @ matrix.mH, torch.eye(k.n).to(matrix.dtype))


@pytest.mark.parametrize("depth", [1, 2, 3, None])
@pytest.mark.parametrize("unitary_taps", [False, True])
def test_from_scratch_all_maps_are_unitary_up_to_the_scale_of_l(depth, unitary_taps):
    space = make_space("kop", start="scratch", depth=depth, unitary_taps=unitary_taps)
    net = space.supernet(LeNet(), X[:1], seed=4)
    for layer in searched_layers(net).values():
        frame = layer.frame
        assert {k.depth for k in (*frame.k, *frame.l, *frame.m)} == {depth or 9}
        assert max(unitary_error(k) for k in (*frame.k, *frame.m)) < 1e-5
        for k in frame.l:
            matrix = k.as_matrix().detach()
            scale = 1.0 if unitary_taps else k.n
            assert relative_error(matrix @ matrix.mH, scale * torch.eye(k.n) + 0j) < 1e-5
        assert layer.arch_bias is None and layer.gates is None


def test_from_scratch_outputs_are_as_large_as_those_of_a_convolution():
    torch.manual_seed(0)
    conv, x = nn.Conv2d(4, 16, 5, padding=2, bias=False), random_tensor(8, 4, 16, 16)
    made = {
        taps: make_space("kop", start="scratch", depth=3, unitary_taps=taps).supernet(
            nn.Sequential(conv), x[:1]
        )
        for taps in (False, True)
    }
    with torch.no_grad():
        sizes = {taps: (net(x).std() / conv(x).std()).item() for taps, net in made.items()}
    # Re has half the energy, and a quarter of the 32 × 32 points of the circles is read
    assert sizes[False] == pytest.approx(0.125**0.5, rel=0.3)
    assert sizes[True] == pytest.approx(sizes[False] / 32, rel=1e-3)


def test_starts_may_differ_between_layers_and_depend_on_the_seed():
    torch.manual_seed(0)
    model = LeNet()
    space = make_space("kop", start={"conv1": "conv", "*": "scratch"}, depth=3)
    net, other = (space.supernet(model, X[:1], seed=seed) for seed in (0, 1))
    assert distance(net.conv1(X), model.conv1(X)) < 1e-5
    assert distance(net(X), model(X)) > 0.01
    assert torch.equal(net.conv1.frame.k[0].values, other.conv1.frame.k[0].values)
    assert not torch.equal(net.conv2.frame.k[0].values, other.conv2.frame.k[0].values)
    mixed = make_space("kop", start={"conv1": "conv", "*": "scratch"}).supernet(model, X[:1])
    assert [layer.frame.k[0].depth for layer in searched_layers(mixed).values()] == [1, 9]
    with pytest.raises(ValueError, match="has nothing for the layer 'conv2'"):
        make_space("kop", start={"conv1": "conv"}).start_of("conv2")
    with pytest.raises(ValueError, match="choose 'conv' or 'scratch'"):
        make_space("kop", start="fourier")


def test_tied_layers_share_one_operation():
    model = nn.Sequential(*(nn.Conv2d(a, b, 3, padding=1) for a, b in ((1, 2), (2, 3), (3, 3))))
    space = make_space("kop", start="scratch", depth=2, tied=("1", "2"))
    net = space.supernet(model, X[:1])
    assert net[1].frame.k is net[2].frame.k and net[0].frame.k is not net[1].frame.k
    single = make_space("kop", start="scratch", depth=2, tied=True).supernet(model, X[:1])
    assert len(arch_parameters(single)) == 6 < len(arch_parameters(net)) == 12
    space.randomise(net, seed=1)
    again = install(space.supernet(model, X[:1]), architecture_of(net))
    assert torch.equal(again(X), net(X))
    net(X).sum().backward()
    assert net[2].frame.m[1].values.grad.abs().sum() > 0


def test_layers_of_other_sizes_cannot_be_tied():
    with pytest.raises(ValueError, match="cannot share an operation"):
        make_space("kop", tied=True).supernet(LeNet(), X[:1])


def test_xd_grows_kernels_and_changes_pools():
    model = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.AvgPool2d(2))
    space = make_space("xd", depth=(1, 3, 1), kernel_size=5, pooling=True, arch_bias=True)
    net = space.supernet(model, X[:1])
    assert net[0].kernel_size == (5, 5) and net[0].arch_bias is not None
    assert distance(net(X), model(X)) < 1e-5
    space.randomise(net, seed=0)
    assert net[1].gates.abs().min() > 0 and torch.isfinite(net(X)).all()


def test_descriptions_have_depth_and_points():
    layer = make_space("kop", depth=3).supernet(LeNet(), X[:1]).conv1
    assert make_space("kop").describe(layer) == "depth 3 on 16 × 16 points"
