"""What `search` can search for: data, a network to begin with, and how it is trained.

    digits, vision   the class of images; LeNet, the share of wrong ones
    darcy, burgers   fields; FNO's network with convolutions, relative L2

Sizes are small: a search takes minutes on two cores.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torch import nn
from torch.utils.data import Dataset

from sciops.backbones import CLASSIFIERS, make_backbone, make_classifier
from sciops.config import Training, changed
from sciops.data.samples import MemorySamples, task_of
from sciops.domains import domain_named
from sciops.evaluation.grids import coords_of, trained_grid
from sciops.metrics.classes import cross_entropy, error_rate
from sciops.metrics.field import relative_l2
from sciops.suggestions import did_you_mean, options_of
from sciops.training import Error
from sciops.vision.samples import ImageSamples

from .data import generated, given
from .frame import expect_known
from .plan import network_options
from .recipes import settings
from .vision import ARCHITECTURE_RATES, OF_SEQUENCES, recipe_of
from .vision_run import VISION

COUNTS = ("n_train", "n_val", "n_test")
FIELD_GRIDS = {"darcy": 32, "burgers": 128}
FIELD_COUNTS = {"n_train": 200, "n_val": 50, "n_test": 100}
FIELD_NETWORK = {  # by dimension
    1: dict(width=16, blocks=3, hidden=32, taps=9),
    2: dict(width=12, blocks=3, hidden=32, taps=5),
}


class Problem(NamedTuple):
    """A search without its space and its strategy.

    make:     makes the network anew, from the global random numbers, normalised by the data
    metric:   what is reported and chosen by, the less the better
    training: as usual, without a budget
    layers:   those that spaces of layers change where nothing else is said; None: all
    network:  its name and options
    data:     what describes them
    title:    in words
    """

    make: Callable[[], nn.Module]
    train: Dataset
    val: Dataset
    test: Dataset
    loss: Error
    metric: Error
    training: Training
    layers: tuple[str, ...] | None
    network: dict[str, Any]
    data: dict[str, Any]
    title: str


def of_images(
    name: str, op: str, data, network: str | None, options: Mapping[str, Any], progress: bool
) -> Problem:
    """options: variant, n_train, n_val, n_test of the digits; those of the network"""
    network = "padded-lenet" if network is None else network
    expect_known(network=(network, CLASSIFIERS))
    own = {key: value for key, value in options.items() if key not in (*COUNTS, "variant")}
    counts = {split: options.get(f"n_{split}") for split in ("train", "val", "test")}
    variant = options.get("variant")
    tree, described = VISION.chosen(data, counts, variant=variant, progress=progress)
    splits = {
        split: ImageSamples(tree[split].to_dataset(), sequence=network in OF_SEQUENCES)
        for split in ("train", "val", "test")
    }
    train = splits["train"]
    x = train.__getitems__(range(len(train))).x
    kind = tree.attrs.get("variant", "plain")
    title = tree["train"].attrs.get("title", "images") + ("" if kind == "plain" else f", {kind}")
    return Problem(
        lambda: make_classifier(train.task, network, **own).fit(x),
        **splits,
        loss=cross_entropy,
        metric=error_rate,
        training=recipe_of("quick", op, network),
        layers=None,
        network={"name": network, **own},
        data=described,
        title=title,
    )


def of_fields(
    name: str, op: str, data, network: str | None, options: Mapping[str, Any], progress: bool
) -> Problem:
    """options: resolution, n_train, n_val, n_test, parameters of the equation; of the network"""
    expect_known(network=("fno-cnn" if network is None else network, ["fno-cnn"]))
    parameters = {k: v for k, v in options.items() if k in domain_named(name).parameters}
    known = network_options("conv", None)
    own = {key: value for key, value in options.items() if key in known}
    unknown = set(options) - {*parameters, *own, *COUNTS, "resolution"}
    if unknown:
        raise ValueError(
            f"there is no option {', '.join(sorted(unknown))}; the network has {', '.join(known)}, "
            f"{name} has {', '.join(domain_named(name).parameters)}"
            f"{did_you_mean(min(unknown), option_names(name, None))}"
        )
    tree, described = _fields(name, data, options, parameters, progress)
    train = MemorySamples(tree["train"].to_dataset())
    task = train.task
    if coords_of(task, trained_grid(task)) is not None:
        raise ValueError("these data lie on a grid that is not uniform; searches need one that is")
    own = {**FIELD_NETWORK[len(task.axes)], **own}
    return Problem(
        lambda: make_backbone(task, "conv", **own).fit(train.x, train.y),
        *(train, *(MemorySamples(tree[s].to_dataset(), task) for s in ("val", "test"))),
        loss=relative_l2,
        metric=relative_l2,
        training=_field_training(name, op),
        layers=("model.blocks.*.operator",),  # not the pointwise maps between them
        network={"name": "fno-cnn", **own},
        data=described,
        title=str(tree["train"].attrs.get("title") or name),
    )


def _field_training(name: str, op: str) -> Training:
    if op == "dnarch":
        return settings(name, op).training
    from_taps = settings(name, "xd", network={"weights": "taps"})
    return changed(from_taps.training, arch_rate=ARCHITECTURE_RATES.get(op))


def _fields(name: str, data, options: Mapping[str, Any], parameters: dict, progress: bool):
    if data is None:
        counts = {split: options.get(f"n_{split}") for split in ("train", "val", "test")}
        counts = {s: FIELD_COUNTS[f"n_{s}"] if n is None else n for s, n in counts.items()}
        grid = options.get("resolution") or FIELD_GRIDS[name]
        tree, described = generated(name, grid, counts, parameters, progress=progress)
        return tree, {"resolution": grid, **described}
    if parameters or options.get("resolution") is not None:
        raise ValueError("resolution and parameters of the equation are for data to be generated")
    tree, described = given(data, {s: options.get(f"n_{s}") for s in ("train", "val", "test")})
    found = task_of(tree["train"].to_dataset()).name
    if found != name and found in PROBLEMS:
        raise ValueError(f"these are data of {found!r}, not of {name!r}; say which you mean")
    return tree, described


PROBLEMS: dict[str, Callable[..., Problem]] = {
    "digits": of_images,
    "vision": of_images,
    "darcy": of_fields,
    "burgers": of_fields,
}


def option_names(name: str, network: str | None) -> tuple[str, ...]:
    """What may be given for a problem: of its data, and of its network.

    >>> option_names("digits", None)
    ('n_train', 'n_val', 'n_test', 'variant', 'padded', 'pool')
    """
    if PROBLEMS[name] is of_images:
        network = "padded-lenet" if network is None else network
        expect_known(network=(network, CLASSIFIERS))
        return (*COUNTS, "variant", *options_of(CLASSIFIERS[network]))
    parameters = domain_named(name).parameters
    return (*COUNTS, "resolution", *parameters, *network_options("conv", None))
