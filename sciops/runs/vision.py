"""`train_vision`: from images and their classes to a network that names the class.

Recipe "paper" is that of Roberts et al. 2021 for LeNet and ResNet-20 on CIFAR-10: 200 epochs, batch
128, SGD with momentum; the architecture follows Adam, on images that are not plain after 50 epochs.
The published rate falls twice, to a half and a tenth; ours is halved every 50 epochs.
"""

import dataclasses
from pathlib import Path
from typing import Any

from sciops.backbones import CLASSIFIERS, TERM
from sciops.config import Optimisation, Training
from sciops.metrics.classes import cross_entropy
from sciops.searching.spaces import SPACES
from sciops.trainer import usable_machine
from sciops.vision.samples import ImageSamples

from .frame import AtEpochEnd, asked_training, carried_out, expect_known, of_optimisers
from .vision_run import VISION, VisionRun

OPERATIONS = ("conv", "xd", "kop", "discrete", "klayer", "linear", "dnarch", TERM)
RECIPES = ("quick", "paper")
OF_SEQUENCES = ("text-cnn",)  # networks that read pixels one after the other
ARCHITECTURE_RATES = {"discrete": 0.1, "nos": 1e-2}  # of logits, which have far to go
PAPER_RATES = {"resnet20": 0.1}  # others have 0.01
DNARCH = {  # options of its network
    "quick": dict(width=16, cost=5.0),
    "paper": dict(width=140, hidden=128, layers=4, dropout=0.1, cost=0.1),
}


def recipe_of(
    recipe: str, op: str = "xd", network: str = "padded-lenet", *, plain: bool = True
) -> Training:
    """quick: Adam, 30 epochs, a minute on two cores for the digits.

    op="dnarch" has settings of its own: "paper" those of Romero & Zeghidour 2023 for CIFAR-10, with
    rates of the masks that are not published.
    """
    if op == "dnarch" and recipe == "paper":
        known = dict(optimiser="adamw", ramp=10 / 210)
        return Training(
            210, 50, Optimisation(0.01, decay=0.01, **known), Optimisation(0.01, **known)
        )
    if recipe == "paper":
        steps = dict(decay=1e-4, schedule="step", step_epochs=50)
        weights = Optimisation(PAPER_RATES.get(network, 0.01), "sgd", momentum=0.9, **steps)
        rate = ARCHITECTURE_RATES.get(op, 1e-4 if plain else 1e-3)
        warmup = 0 if plain or op in ARCHITECTURE_RATES else 50
        search = Optimisation(rate, warmup=warmup, schedule="step", step_epochs=50)
        return Training(200, 128, weights, search)
    search = Optimisation(ARCHITECTURE_RATES.get(op, 2e-3), ramp=0.1)
    if op == "dnarch":
        return Training(30, 32, Optimisation(5e-3, "adamw", decay=0.01, ramp=0.1), search)
    return Training(30, 32, Optimisation(2e-3, ramp=0.1), search)


def train_vision(
    op: str = "xd",
    *,
    network: str | None = None,
    data=None,
    variant: str | None = None,
    n_train: int | None = None,
    n_val: int | None = None,
    n_test: int | None = None,
    flip: bool = False,
    margin: int = 0,
    epochs: int | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    recipe: str = "quick",
    rate: float | None = None,
    arch_rate: float | None = None,
    out: str | Path | None = None,
    at_epoch_end: AtEpochEnd | None = None,
    progress: bool = True,
    devices: int = 1,
    num_nodes: int = 1,
    strategy: str = "auto",
    accelerator: str = "cpu",
    **options,
) -> VisionRun:
    """Train a network to name the class of images, and judge it on others.

    op:       "conv", the network as it is; or what its convolutions become: "xd", "kop"
              (K-operations), "discrete" (the DARTS operations), "klayer" or "linear" (controls);
              "dnarch", a continuous CNN that learns its sizes (learn="", "K", "KR" or "KRWD"); or
              "term", the network that term="Linear2(lift8, …)" spells
    network:  "padded-lenet" (None), "lenet", "wide-lenet", "resnet20", "spherical-cnn", "text-cnn"
              (reads pixels one after the other), "linear" or "ccnn", which is that of "dnarch"
    data:     a folder of MNIST's or CIFAR's files or of images, a table, a store or tree of
              `sciops.read("vision", …)`; None are scikit-learn's digits
    variant:  of the digits: "plain" (None), "permuted", "bit-reversed", "pixels", "spherical", …;
              `sciops.read("vision", …, variant=…)` makes it of other images
    n_train, n_val, n_test: so many of the digits; None are all
    flip, margin: augmentation, see `sciops.vision.samples`
    recipe:   "quick" (a minute on the digits) or "paper" (200 epochs, as published)
    rate, arch_rate: learning rates of weights and architecture
    out:      folder of the run; None is one in runs/ that is named after the settings.  A run that
              is there already is finished, if need be, and returned
    at_epoch_end: is given the rows of the history after every epoch; what it raises ends training,
              and the same call goes on from there
    options:  of the operation (depth=, start=, kernel_size=, …, see `sciops.searching.spaces`); of
              the network; of the optimisers: clip=, decay=, warmup=, with arch_ before them of the
              architecture
    """
    expect_known(op=(op, OPERATIONS), recipe=(recipe, RECIPES))
    network = _network(op, network)
    rates, options = of_optimisers({"rate": rate, "arch_rate": arch_rate, **options})
    numbers = dict(epochs=epochs, batch_size=batch_size, seed=seed)
    asked_training(recipe_of(recipe, op), **numbers, **rates)  # refused before data are looked for
    machine = usable_machine(
        devices=devices, num_nodes=num_nodes, strategy=strategy, accelerator=accelerator
    )
    counts = {"train": n_train, "val": n_val, "test": n_test}
    tree, described = VISION.chosen(data, counts, variant=variant, progress=progress)
    plain = tree.attrs.get("variant", "plain") == "plain"
    training = asked_training(recipe_of(recipe, op, network, plain=plain), **numbers, **rates)
    sequence = network in OF_SEQUENCES
    train = ImageSamples(
        tree["train"].to_dataset(), sequence=sequence, flip=flip, margin=margin, seed=seed
    )
    val = ImageSamples(tree["val"].to_dataset(), sequence=sequence)
    config = {
        **dict(name="vision", op=op, network=network, recipe=recipe, flip=flip, margin=margin),
        "model": {"backbone": network, "op": op, **_divided(op, options, recipe)},
        "image": [tree["train"].sizes[dim] for dim in ("channel", "y", "x")],
        "data": described,
    }

    def fed(model):
        x = train.x.flatten(2) if sequence else train.x
        model.fit(x)
        return train, val

    return carried_out(
        *(VisionRun, train.task, config, training, tree, fed),
        error=cross_entropy,
        out=out,
        at_epoch_end=at_epoch_end,
        progress=progress,
        machine=machine,
    )


def _network(op: str, network: str | None) -> str:
    if op == "dnarch":
        return "ccnn"
    if op != TERM:
        network = "padded-lenet" if network is None else network
        expect_known(network=(network, CLASSIFIERS))
        return network
    if network is not None:
        raise ValueError(f"op='term' is a whole network; leave network={network!r} out")
    return TERM


def _divided(op: str, options: dict[str, Any], recipe: str = "quick") -> dict[str, Any]:
    """Options of the operation, as `space`, and those of the network.

    >>> _divided("xd", {"depth": 3, "pool": "max"})
    {'space': {'depth': 3}, 'pool': 'max'}
    """
    if op in ("conv", TERM):
        return options
    if op == "dnarch":
        return {"learn": "KRWD", **DNARCH[recipe], **options}
    known = {field.name for field in dataclasses.fields(SPACES[op])}
    space = {name: value for name, value in options.items() if name in known}
    return {"space": space} | {name: v for name, v in options.items() if name not in known}
