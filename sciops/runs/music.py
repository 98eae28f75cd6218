"""`train_music`: from piano rolls to a network that predicts the next frame."""

from pathlib import Path

from sciops.backbones.tcn import OPERATORS
from sciops.config import Optimisation, Training
from sciops.metrics.sequence import frames, nats
from sciops.music.sequences import Sequences, music_task
from sciops.trainer import usable_machine

from .frame import asked_training, carried_out, expect_known, of_optimisers
from .music_run import MUSIC, MusicRun

NETWORKS = {  # as published, by collection
    "jsb": dict(width=150, levels=3, kernel_size=2, dropout=0.5),
    "nottingham": dict(width=150, levels=4, kernel_size=6, dropout=0.2),
}
QUICK_EPOCHS = {"jsb": 100, "nottingham": 30}
SEARCH = {"jsb": dict(rate=2e-4, warmup=25), "nottingham": dict(rate=2e-3, warmup=0)}


def _recipe(name: str, recipe: str) -> Training:
    """quick: batches of pieces of about one length; paper: one piece at a time, as published."""
    if recipe == "paper":
        weights = Optimisation(1e-3, schedule="plateau", step_epochs=10, clip=0.4)
        search = Optimisation(schedule="plateau", step_epochs=10, **SEARCH[name])
        return Training(100, 1, weights, search, loss="sum")
    weights, search = Optimisation(3e-3, ramp=0.05), Optimisation(1e-3, ramp=0.3)
    return Training(QUICK_EPOCHS[name], 4, weights, search, loss="sum")


RECIPES = ("quick", "paper")


def train_music(
    name: str = "jsb",
    op: str = "xd",
    *,
    data=None,
    n_train: int | None = None,
    n_val: int | None = None,
    n_test: int | None = None,
    length: tuple[int, int] | None = None,
    window: int = 40,
    epochs: int | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    recipe: str = "quick",
    rate: float | None = None,
    arch_rate: float | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    devices: int = 1,
    num_nodes: int = 1,
    strategy: str = "auto",
    accelerator: str = "cpu",
    **options,
) -> MusicRun:
    """Train a network to predict the next frame of polyphonic music, and judge it on other pieces.

    The model that is kept is that of the epoch with the least validation error.

    name:     "jsb" or "nottingham": the published network for this collection
    op:       "conv" (dilated, as published), "undilated", "xd" (causal XD on whole pieces, starting
              as undilated), "xd-grid" (XD as published: a window for every frame; very slow)
    data:     JSB_Chorales.mat, Nottingham.mat or another such file, a store or tree of
              `sciops.read("music", …)`; None makes synthetic pieces, which nobody composed
    n_train, n_val, n_test, length: of synthetic pieces, how many and how many frames they have
    window:   frames that XD spans
    recipe:   "quick" (batches of pieces) or "paper" (one piece at a time, 100 epochs, as published)
    rate, arch_rate: learning rates of weights and architecture
    out:      folder of the run; None is one in runs/ that is named after the settings.  A run that
              is there already is finished, if need be, and returned
    options:  of the network: width=, levels=, kernel_size=, dropout=, k_depth=, lags=, arch_bias=;
              of the optimisers: clip=, decay=, warmup= of weights, arch_warmup= of architecture, …
    """
    expect_known(name=(name, NETWORKS), op=(op, OPERATORS), recipe=(recipe, RECIPES))
    rates, options = of_optimisers({"rate": rate, "arch_rate": arch_rate, **options})
    numbers = dict(epochs=epochs, batch_size=batch_size, seed=seed)
    training = asked_training(_recipe(name, recipe), **numbers, **rates)
    machine = usable_machine(
        devices=devices, num_nodes=num_nodes, strategy=strategy, accelerator=accelerator
    )
    task = music_task(window=window)
    counts = {"train": n_train, "val": n_val, "test": n_test}
    tree, described = MUSIC.chosen(data, counts, length=length, progress=progress)
    train, val = (MUSIC.samples_in(tree, split) for split in ("train", "val"))
    config = {
        **dict(name="music", collection=name, op=op, recipe=recipe, window=window),
        "model": {"backbone": "tcn", "op": op, **NETWORKS[name], **options},
        "data": described,
    }
    return carried_out(
        *(MusicRun, task, config, training, tree),
        lambda _: (Sequences(train), Sequences(sorted(val, key=len))),  # little padding
        error=nats,
        units=frames,
        keep_best=True,
        out=out,
        progress=progress,
        machine=machine,
    )
