"""Networks for classes: published sizes, any image, gradients everywhere, normalised inputs."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import sciops
from sciops.backbones import CLASSIFIERS, build_model, make_classifier
from sciops.backbones.lenet import LeNet, PaddedLeNet
from sciops.backbones.resnet_cifar import Block, CifarResNet
from sciops.backbones.text_cnn import TextCnn
from sciops.task import Axis, Field, Task
from tests.contracts import assert_gradients_reach, random_tensor, randomise


def class_task(*size: int, channels: int = 3, classes: int = 10) -> Task:
    axes = tuple(
        Axis(name, tuple(map(float, range(n))), False, n - 1.0)
        for name, n in zip("yx", size, strict=False)
    )
    names = tuple(map(str, range(classes)))
    return Task("toy", (Field("image", (0, channels)),), (Field("label"),), axes, names)


def parameters(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize(
    ("name", "task", "count"),
    [
        ("lenet", class_task(32, 32), 62_006),  # as published
        ("resnet20", class_task(32, 32), 269_722),  # as published
        ("padded-lenet", class_task(32, 32), 456 + 2416 + 1024 * 120 + 120 + 84 * 121 + 10 * 85),
        (
            "linear",
            class_task(32, 32),
            3073 * 1536 + 1537 * 1024 + 1025 * 120 + 121 * 84 + 85 * 10,
        ),
        (
            "wide-lenet",
            class_task(32, 32),
            *[28 * 32 + 64 + 289 * 64 + 128 + 577 * 128 + 8193 * 128 + 256 + 129 * 10],
        ),
        ("spherical-cnn", class_task(60, 60, channels=1), 26 * 20 + 501 * 40 + 1001 * 10),
        ("text-cnn", class_task(40, channels=300, classes=2), 300 * 1200 + 300 + 301 * 2),
        ("linear", class_task(40, channels=300, classes=2), 12001 * 300 + 301 * 2),
    ],
)
def test_parameter_counts(name, task, count):
    assert parameters(make_classifier(task, name)) == count


def sizes_of(name: str) -> list[tuple[int, ...]]:
    if name == "text-cnn":
        return [(5,), (31,)]
    return [(60, 60), (17, 20)] if name == "spherical-cnn" else [(16, 16), (28, 28), (21, 18)]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_any_image_and_gradients_everywhere(name):
    for size in sizes_of(name):
        task = class_task(*size, channels=2, classes=7)
        torch.manual_seed(0)
        x = random_tensor(6, 2, *size)
        model = make_classifier(task, name).fit(x)
        assert model(x).shape == (6, 7)
    assert_gradients_reach(model, model(x).square().sum())


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_saved_network_gives_the_same_bits(name):
    task = class_task(*sizes_of(name)[0], channels=2)
    x = random_tensor(2, 2, *sizes_of(name)[0])
    model = make_classifier(task, name).fit(x).eval()
    twin = randomise(copy.deepcopy(model), seed=1)
    assert not torch.equal(twin(x), model(x))
    twin = build_model(task, {"op": "conv", "backbone": name})
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin.eval()(x), model(x))


def test_inputs_are_normalised_channel_by_channel():
    x = random_tensor(50, 2, 16, 16) * torch.tensor([3.0, 0.1]).view(-1, 1, 1) + 5
    model = make_classifier(class_task(16, 16, channels=2), "lenet")
    with pytest.raises(RuntimeError, match=r"call fit\(x\)"):
        model(x)
    y = model.fit(x)(x)
    scaled = (x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), correction=0, keepdim=True)
    torch.testing.assert_close(y, model.model(scaled), rtol=1e-4, atol=1e-4)
    black = torch.zeros(4, 2, 16, 16)
    assert torch.isfinite(model.fit(black)(black)).all()
    with pytest.raises(ValueError, match="NaN or infinite"):
        model.fit(black * torch.nan)


def test_lenet_layer_by_layer():
    task = class_task(20, 24)
    plain, padded = LeNet(task), PaddedLeNet(task)
    x = random_tensor(2, 3, 20, 24)
    for network, padding, pool in ((plain, 0, F.max_pool2d), (padded, 2, F.avg_pool2d)):
        first, second = (m for m in network.features if isinstance(m, nn.Conv2d))
        assert first.padding == second.padding == (padding, padding)
        h = pool(F.relu(F.conv2d(x, first.weight, first.bias, padding=padding)), 2)
        h = pool(F.relu(F.conv2d(h, second.weight, second.bias, padding=padding)), 2)
        a, b, c = (m for m in network.head if isinstance(m, nn.Linear))
        torch.testing.assert_close(network(x), c(F.relu(b(F.relu(a(h.flatten(1)))))))


def test_shortcuts_take_every_second_point_and_add_channels_of_zeros():
    block = Block(2, 4, stride=2)
    h = random_tensor(1, 2, 6, 6)
    expected = torch.zeros(1, 4, 3, 3)
    expected[:, 1:3] = h[..., ::2, ::2]
    assert torch.equal(block._shortcut(h), expected)
    nn.init.zeros_(block.second_norm.weight)
    torch.testing.assert_close(block(h), F.relu(expected))
    assert Block(4, 4, stride=1)._shortcut(expected) is not None


def test_resnets_have_the_depth_that_they_say():
    for depth in (8, 20, 32):
        network = CifarResNet(class_task(32, 32), depth=depth)
        layers = [m for m in network.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
        assert len(layers) == depth
    assert parameters(CifarResNet(class_task(32, 32), depth=56)) == 853_018  # as published: 0.85 M


def test_a_resnet_without_classes_is_dense():
    axes = class_task(12, 9).axes
    task = Task("field", (Field("a"),), (Field("u", (0, 2)),), axes)
    network = CifarResNet(task)
    assert network(random_tensor(2, 1, 12, 9)).shape == (2, 2, 12, 9)
    assert network(random_tensor(1, 1, 20, 20)).shape == (1, 2, 20, 20)


def test_the_text_network_is_blind_to_where():
    """A pattern counts once, wherever it stands; the largest of each channel, by hand."""
    network = TextCnn(class_task(12, channels=4, classes=3), width=5).eval()
    x = random_tensor(1, 4, 12)
    parts = [F.relu(conv(x)).max(-1).values for conv in network.convs]
    torch.testing.assert_close(network(x), network.project(torch.cat(parts, 1)))
    signal = torch.zeros(2, 4, 12)
    signal[0, :, 4:6], signal[1, :, 6:8] = 1, 1
    here, there = network(signal)
    torch.testing.assert_close(here, there)
    assert network(random_tensor(2, 4, 30)).shape == (2, 3)


@pytest.mark.parametrize("name", ["lenet", "padded-lenet", "wide-lenet", "resnet20", "text-cnn"])
def test_every_convolution_can_be_relaxed(name):
    size = (20,) if name == "text-cnn" else (16, 16)
    task = class_task(*size)
    x = random_tensor(3, 3, *size)
    model = make_classifier(task, name).fit(x).eval()
    relaxed = sciops.relax(model, x, verbose=False, pooling=True)
    report = sciops.relaxation_report(relaxed)
    assert set(report["kind"][~report["changed"]]) <= {"MaxPool2d"} and report["changed"].any()
    torch.testing.assert_close(relaxed(x), model(x), rtol=1e-3, atol=1e-3)


FIELD = Task("darcy", (Field("a"),), (Field("u"),), class_task(32, 32).axes)


@pytest.mark.parametrize(
    ("task", "name", "options", "message"),
    [
        (class_task(32, 32), "alexnet", {}, "no network 'alexnet'; there are lenet"),
        (class_task(8, 8), "lenet", {}, "8 × 8 are too small for this network, which needs 16"),
        (class_task(3, 9), "padded-lenet", {}, "needs 4 pixels or more"),
        (class_task(3, 9), "linear", {}, "too small; give 4 × 4"),
        (class_task(16, 60), "spherical-cnn", {}, "needs 17"),
        (class_task(32), "lenet", {}, "images have two axes, but 'toy' has 1"),
        (class_task(32), "resnet20", {}, "images have two axes"),
        (class_task(32, 32), "text-cnn", {}, "a sequence has one axis, but 'toy' has 2"),
        (class_task(4), "text-cnn", {}, "sequences of 4 steps are shorter than kernels"),
        (class_task(32, 32), "lenet", {"pool": "sum"}, "pool='sum' is not known"),
        (class_task(32, 32), "lenet", {"depth": 5}, "'lenet' does not take these options"),
        (class_task(32, 32), "resnet20", {"depth": 19}, r"depth=19 must be 6 n \+ 2"),
        (FIELD, "lenet", {}, "'darcy' has no classes; it predicts u"),
        (FIELD, "linear", {}, "'darcy' has no classes"),
    ],
)
def test_what_cannot_be_is_refused(task, name, options, message):
    with pytest.raises(ValueError, match=message):
        make_classifier(task, name, **options)


def test_other_operators_are_made_by_relax():
    with pytest.raises(ValueError, match=r"sciops.relax makes it 'xd'"):
        build_model(class_task(32, 32), {"op": "xd", "backbone": "lenet"})
