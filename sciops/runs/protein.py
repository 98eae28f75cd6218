"""`train_protein`: from alignments and structures to a network that predicts distances."""

from pathlib import Path

from sciops.backbones.distance_maps import MAP_NETWORKS
from sciops.config import Optimisation, Training
from sciops.metrics.distance_map import inverse_log_cosh, log_cosh
from sciops.proteins.map_windows import MapWindows, map_task
from sciops.trainer import usable_machine

from .frame import asked_training, carried_out, expect_known, of_optimisers
from .protein_run import PROTEINS, ProteinRun

LOSSES = {"distance": log_cosh, "inverse": inverse_log_cosh}
RECIPES = {  # options of the network, and how it is trained
    "quick": (
        dict(depth=10, width=32),
        Training(20, 2, Optimisation(2e-3, ramp=0.1), Optimisation(1e-3, ramp=0.1)),
    ),
    "paper": (
        dict(depth=34, width=64, output="relu"),
        Training(
            10,
            2,
            Optimisation(1e-3, "rmsprop", schedule="constant"),
            Optimisation(1e-3, "rmsprop", schedule="constant"),
        ),
    ),
}


def train_protein(
    op: str = "xd-hybrid",
    *,
    data=None,
    n_train: int | None = None,
    n_val: int | None = None,
    n_test: int | None = None,
    length: tuple[int, int] | None = None,
    window: int = 128,
    epochs: int | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    recipe: str = "quick",
    loss: str = "distance",
    rate: float | None = None,
    arch_rate: float | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    devices: int = 1,
    num_nodes: int = 1,
    strategy: str = "auto",
    accelerator: str = "cpu",
    **options,
) -> ProteinRun:
    """Train a network to predict the distances between residues, and judge it on other proteins.

    op:       "conv", "dilated", "xd-hybrid", "xd-grid" (PDNET's residual tower with these), "unet"
    data:     of `sciops.read("protein", …)`, or its store; None makes synthetic chains: they are
              protein-like and no proteins
    n_train, n_val, n_test, length: of synthetic chains, how many and how many residues they have
    window:   residues along a side of the maps that training sees
    recipe:   "quick" (minutes on two cores) or "paper" (as published for XD, with the model of the
              epoch that validates best; hours)
    loss:     "distance": log cosh of distances up to 16 Å; "inverse": of inverse distances
    rate, arch_rate: learning rates of weights and architecture
    out:      folder of the run; None is one in runs/ that is named after the settings.  A run that
              is there already is finished, if need be, and returned
    options:  of the network: depth= (even, 4 or more), width=, dropout=, …; of the optimisers:
              clip=, decay=, …
    """
    expect_known(op=(op, MAP_NETWORKS), recipe=(recipe, RECIPES), loss=(loss, LOSSES))
    usual, training = RECIPES[recipe]
    rates, options = of_optimisers({"rate": rate, "arch_rate": arch_rate, **options})
    numbers = dict(epochs=epochs, batch_size=batch_size, seed=seed)
    training = asked_training(training, **numbers, **rates)
    machine = usable_machine(
        devices=devices, num_nodes=num_nodes, strategy=strategy, accelerator=accelerator
    )
    counts = {"train": n_train, "val": n_val, "test": n_test}
    tree, described = PROTEINS.chosen(data, counts, length=length, progress=progress)
    train, val = (PROTEINS.samples_in(tree, split) for split in ("train", "val"))
    task = map_task(train[0], window=window, separation=recipe != "paper")
    network = {**({} if op == "unet" else usual), **options}
    config = {
        **dict(name="protein", op=op, recipe=recipe, loss=loss, window=window),
        "model": {"backbone": "distance_map", "op": op, **network},
        "data": described,
    }
    return carried_out(
        *(ProteinRun, task, config, training, tree),
        lambda _: (MapWindows(train, task, seed=training.seed), MapWindows(val, task)),
        error=LOSSES[loss],
        keep_best=recipe == "paper",
        out=out,
        progress=progress,
        machine=machine,
    )
