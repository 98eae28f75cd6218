"""Networks by their description: relaxed inside, from the random numbers of the caller."""

import pytest
import torch

from sciops.backbones import build_model
from sciops.operators import XD, arch_parameters
from sciops.runs.networks import network_of
from sciops.searching.tracing import distance
from sciops.vision.images import image_task
from tests.contracts import random_tensor
from tests.task_toys import images

TASK = image_task(images()["train"].to_dataset())
X = random_tensor(5, 1, 8, 8)


def made(op: str, seed: int = 0, **options):
    torch.manual_seed(seed)
    return network_of(TASK, {"backbone": "padded-lenet", "op": op, **options}).fit(X)


def test_without_a_space_it_is_build_model():
    torch.manual_seed(0)
    plain = build_model(TASK, {"backbone": "padded-lenet", "op": "conv"}).fit(X)
    assert torch.equal(made("conv")(X), plain(X))


def test_it_starts_as_the_network_with_the_same_weights():
    relaxed = made("xd", space={"depth": 3, "layers": ["features.0"]})
    assert distance(relaxed(X), made("conv")(X)) < 1e-5
    layers = [name for name, m in relaxed.named_modules() if isinstance(m, XD)]
    assert layers == ["model.features.0"]


@pytest.mark.parametrize("op", ["discrete", "klayer", "linear"])
def test_every_operation_stands_in_the_network(op):
    assert made(op)(X).shape == (5, 3)
    assert bool(arch_parameters(made(op))) == (op == "discrete")


def test_starts_that_are_drawn_depend_on_the_seed():
    nets = [made("kop", seed, space={"start": "scratch", "depth": 2}) for seed in (0, 0, 1)]
    starts = [torch.cat([p.flatten() for p in arch_parameters(net)]) for net in nets]
    assert torch.equal(starts[0], starts[1]) and not torch.equal(starts[0], starts[2])
