"""The bilevel loop moves the architecture by other data only, and weights by their own."""

from functools import partial

import torch
from torch import nn

from sciops.config import Optimisation, Training
from sciops.operators import arch_parameters
from sciops.searching.loops import MOVED, BilevelLoop, SearchLoop
from sciops.searching.parts import Part
from sciops.searching.spaces import make_space
from sciops.training import fit
from tests.search_toy import Images, LeNet, cross_entropy

SGD = Optimisation(0.1, "sgd", schedule="constant")


def supernet(norm: bool = False) -> nn.Module:
    torch.manual_seed(0)
    model = LeNet()
    if norm:
        model.conv1 = nn.Sequential(model.conv1, nn.BatchNorm2d(2))
    return make_space("xd").supernet(model, Images(1, 0).x)


def trained(model, loop, samples, epochs=1, **options):
    how = Training(epochs, 8, SGD, SGD, **options)
    return fit(model, samples, Images(4, 9), how, error=cross_entropy, make_loop=loop)


def test_first_order_takes_the_steps_of_its_definition():
    train, judges = Images(8, 0), Part(Images(8, 1), range(8))
    loop = partial(BilevelLoop, moved=dict, judges=judges, order=1)
    model, twin = supernet(), supernet()
    trained(model, loop, train)
    architecture = arch_parameters(twin)
    for parameters, samples in ((architecture, judges.whole), (None, train)):
        loss = cross_entropy(twin(samples.x), samples.y).mean()
        own = {id(p) for p in architecture}
        chosen = parameters or [p for p in twin.parameters() if id(p) not in own]
        slopes = torch.autograd.grad(loss, chosen)
        with torch.no_grad():
            for p, g in zip(chosen, slopes, strict=True):
                p.sub_(0.1 * g)
    pairs = zip(model.parameters(), twin.parameters(), strict=True)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in pairs)


def test_second_order_differs_and_leaves_the_statistics_of_the_data_to_the_weights():
    train, judges = Images(8, 0), Part(Images(8, 1), range(8))
    ends = {}
    for order in (1, 2):
        model = supernet(norm=True)
        loop = partial(BilevelLoop, moved=dict, judges=judges, order=order)
        trained(model, loop, train)
        assert model.conv1[1].num_batches_tracked == 1
        ends[order] = arch_parameters(model)[0].detach()
    assert not torch.equal(ends[1], ends[2])


def test_the_history_has_the_distances():
    model = supernet()
    table = trained(model, partial(SearchLoop, moved=lambda: {"conv1": 0.5}), Images(8, 0))
    assert table[MOVED + "conv1"].tolist() == [0.5]
