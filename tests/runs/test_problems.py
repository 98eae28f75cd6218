"""Problems: networks of their data, made anew from the random numbers of the caller."""

import pytest
import torch

import sciops
from sciops.runs.problems import PROBLEMS
from tests.task_toys import images

SMALL = dict(n_train=4, n_val=2, n_test=3)


@pytest.fixture(scope="module", autouse=True)
def kept(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(tmp_path_factory.mktemp("kept")))
        yield


def problem(name: str, space: str = "xd", data=None, network=None, **options):
    return PROBLEMS[name](name, space, data, network, options, False)


@pytest.mark.parametrize(
    "name, options",
    [
        ("vision", dict(data=images())),
        ("vision", dict(data=images(), network="text-cnn")),
        ("darcy", dict(SMALL, resolution=9, width=3, blocks=1)),
        ("burgers", dict(SMALL, resolution=16, width=3, viscosity=0.2)),
    ],
)
def test_a_network_is_normalised_and_drawn_anew(name, options):
    found = problem(name, **options)
    x, y = found.train.__getitems__([0, 1])
    torch.manual_seed(0)
    first, second = found.make(), found.make()
    torch.manual_seed(0)
    assert torch.equal(first.eval()(x), found.make().eval()(x))
    assert not torch.equal(first(x), second.eval()(x))
    assert found.loss(first(x), y).shape == found.metric(first(x), y).shape == (2,)
    assert len(found.val) > 0 and len(found.test) > 0
    names = [n for n, _ in first.named_modules()]
    assert found.layers is None or "model.blocks.0.operator" in names


def test_logits_have_rates_of_their_own():
    rates = {s: problem("vision", s, images()).training.architecture.rate for s in ("xd", "nos")}
    assert rates["nos"] > rates["xd"]
    field = problem("darcy", "discrete", resolution=9, **SMALL).training
    assert field.architecture.rate == 0.1 and field.weights.rate == 3e-3


def test_given_fields_have_their_own_grid_and_equation():
    tree = problem("darcy", resolution=9, **SMALL)
    assert tree.data["resolution"] == 9
    data = sciops.load("darcy", resolution=9, progress=False, **SMALL)
    found = problem("darcy", data=data, n_train=3)
    assert len(found.train) == 3 and "fingerprint" in found.data
    with pytest.raises(ValueError, match="are for data to be generated"):
        problem("darcy", data=data, resolution=9)
    with pytest.raises(ValueError, match="data of 'darcy', not of 'burgers'"):
        problem("burgers", data=data)


def test_what_there_is_not():
    with pytest.raises(ValueError, match="there is no network='unet'; there are fno-cnn"):
        problem("darcy", network="unet")
    with pytest.raises(ValueError, match="there is no network='vgg'; there are lenet"):
        problem("digits", network="vgg")
    with pytest.raises(ValueError, match="there is no option colour; the network has width"):
        problem("burgers", colour="red")
