"""Continuous CNNs in the place of other networks: what is kept, what is found, what comes back."""

import pytest
import torch

from sciops.backbones import Normalized, make_backbone
from sciops.backbones.ccnn import Ccnn
from sciops.operators import arch_parameters
from sciops.searching.dnarch_space import sizes_in
from sciops.searching.engine import run_search
from sciops.searching.result import load_search
from sciops.searching.space import architecture_of, distances
from sciops.searching.spaces import make_space
from tests.contracts import random_tensor
from tests.search_toy import SIZE, LeNet, cross_entropy, data, quick
from tests.searching.test_nos_space import TASK

SMALL = dict(width=4, blocks=2)
SAMPLE = random_tensor(3, 1, SIZE, SIZE)


def space(**options):
    return make_space("dnarch", **SMALL, **options)


def test_classes_of_any_network():
    net = space().supernet(LeNet(), SAMPLE)
    assert isinstance(net, Ccnn) and net(SAMPLE).shape == (3, 2)
    assert net.cells and not net.positions
    twin = space().supernet(LeNet(), SAMPLE)
    assert torch.equal(twin(SAMPLE), net(SAMPLE))  # of the same seed


def test_fields_keep_their_units():
    x, y = 3 + random_tensor(4, 1, 8, 6), 5 * random_tensor(4, 2, 8, 6, seed=1)
    model = make_backbone(TASK, "conv", width=4, taps=3, blocks=1).fit(x, y)
    net = space(learn="KR").supernet(model, x[:1])
    assert isinstance(net, Normalized) and net.y_std.equal(model.y_std) and net(x).shape == y.shape
    assert net.model.task is not None and net.model.positions
    assert sorted(architecture_of(net)) == ["model.sizes.kernel", "model.sizes.resolution"]


def test_a_random_member_is_somewhere_else_and_may_be_there():
    here = space()
    net = here.supernet(LeNet(), SAMPLE)
    start = here.places(net)
    moved = here.places(here.randomise(net, seed=1))
    assert min(distances(moved, start).values()) > 1e-3
    before = architecture_of(net)
    sizes_in(net).project()
    assert all(torch.equal(a, before[name]) for name, a in architecture_of(net).items())
    other = here.randomise(here.supernet(LeNet(), SAMPLE), seed=2)
    assert not torch.equal(sizes_in(other).width, sizes_in(net).width)


def test_a_member_is_frozen_and_as_found():
    here = space()
    found = architecture_of(here.randomise(here.supernet(LeNet(), SAMPLE), seed=1))
    member = here.member(LeNet(), SAMPLE, found)
    assert not any(p.requires_grad for p in arch_parameters(member))
    assert all(torch.equal(a, found[name]) for name, a in architecture_of(member).items())
    words = here.described(member)
    assert set(words) == {"kernel", "resolution", "width", "depth"}
    assert words["depth"] == f"{sizes_in(member).blocks()} blocks"


def test_a_search_ends_with_sizes_and_comes_back(tmp_path):
    result = run_search(
        *(LeNet, *data(), cross_entropy),
        training=quick(2),
        space=space(learn="KRWD"),
        folder=tmp_path / "search",
        progress=False,
    )
    assert list(result.trials["trial"]) == ["backbone", "random-member", "supernet", "offline"]
    assert result.distances["distance"].max() > 0
    rows = result.history[result.history["training"] == "search"]
    assert rows["complexity"].notna().all()
    again = load_search(tmp_path / "search", LeNet)
    assert torch.equal(again.model.eval()(SAMPLE), result.model.eval()(SAMPLE))
    assert set(again.architecture) == {
        f"sizes.{n}" for n in ("kernel", "resolution", "width", "depth")
    }


def test_what_is_no_space():
    with pytest.raises(ValueError, match="leave layers out"):
        space(layers=("conv1",))
    with pytest.raises(ValueError, match="nothing to search"):
        space(learn="")
    with pytest.raises(ValueError, match="no network of space 'dnarch'"):
        space().places(LeNet())
    with pytest.raises(ValueError, match="any network for classes"):
        space().supernet(torch.nn.Conv2d(1, 2, 3, padding=1), SAMPLE)
