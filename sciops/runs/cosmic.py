"""`train_cosmic`: from exposures and masks to a network that finds cosmic rays.

Recipe "paper" is deepCR's (Zhang & Bloom 2020): 128² windows, 32 and 64 channels, Adam at 0.005,
batches of 16, 50 epochs, the rate divided by 10 when the validation error stops falling.  It
differs in that

- batch statistics are those of the batch to the end; published are two phases, the last 60 % of the
  epochs with the statistics kept and the rate divided by 2.5;
- the rate falls after one epoch that is worse than the three before it; published are five without
  a new best;
- images are scaled robustly, and the network starts at the log-odds of a hit;
- the epoch with the least validation error is kept.

Nobody has published rates of K, L and M for this task.
"""

from pathlib import Path
from typing import Any, NamedTuple

from sciops.backbones.image_masks import MASK_NETWORKS
from sciops.config import Optimisation, Training
from sciops.cosmic.crops import CoveringCrops, TrainingCrops, cosmic_task
from sciops.metrics.mask import masked_bce
from sciops.trainer import usable_machine

from .cosmic_run import COSMIC, CosmicRun
from .frame import asked_training, carried_out, expect_known, of_optimisers


class Recipe(NamedTuple):
    """Pixels along the side of a window, options of every network, and how it is trained."""

    window: int
    network: dict[str, Any]
    training: Training


RECIPES = {
    "quick": Recipe(
        64,
        dict(width=16),
        Training(30, 8, Optimisation(1e-2, ramp=0.1), Optimisation(2.5e-3, ramp=0.1)),
    ),
    "paper": Recipe(
        128,
        dict(width=32),
        Training(
            50,
            16,
            Optimisation(5e-3, schedule="plateau", step_epochs=5),
            Optimisation(1e-3, schedule="plateau", step_epochs=5),
        ),
    ),
}


DNARCH = {  # of Romero & Zeghidour 2023 on NAS-Bench-360's cosmic rays; rates of masks are ours
    "quick": Recipe(
        64,
        dict(width=16),
        Training(
            30, 8, Optimisation(1e-2, "adamw", ramp=0.1), Optimisation(2e-3, "adamw", ramp=0.1)
        ),
    ),
    "paper": Recipe(
        128,
        dict(width=140, hidden=128, layers=4, dropout=0.3, tau_resolution=100.0, cost=0.1),
        Training(
            310,
            8,
            Optimisation(0.02, "adamw", decay=1e-4, ramp=10 / 310),
            Optimisation(0.02, "adamw", ramp=10 / 310),
        ),
    ),
}


def train_cosmic(
    op: str = "unet-xd",
    *,
    data=None,
    n_train: int | None = None,
    n_val: int | None = None,
    n_test: int | None = None,
    size: int | None = None,
    detector: str | None = None,
    window: int | None = None,
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
) -> CosmicRun:
    """Train a network to find cosmic rays in exposures, and judge it on others.

    Each epoch sees a random crop of every stamp, turned, mirrored and under another sky.  The model
    that is kept is that of the epoch with the least validation error.

    op:       "unet" (deepCR's), "resnet", each also with "-xd" (a band-limited XD beside every
              convolution) or "-xd-grid" (XD as published); "fno", "xd"; "dnarch" (a continuous
              CNN that learns its sizes: learn="", "K", "KR" or "KRWD")
    data:     a FITS file of several exposures, deepCR's folder, or a store or tree of
              `sciops.read("cosmic", …)`; None simulates exposures, which no telescope took
    n_train, n_val, n_test, size, detector: of simulated stamps, how many, how many pixels along a
              side, and "thin" or "thick"
    window:   pixels along a side of the crops that training sees; None is the recipe's
    recipe:   "quick" (minutes on two cores) or "paper" (deepCR's, as near as it can be; hours)
    rate, arch_rate: learning rates of weights and architecture
    out:      folder of the run; None is one in runs/ that is named after the settings.  A run that
              is there already is finished, if need be, and returned
    options:  of the network: width=, levels=, norm=, of towers depth= (even, 4 or more), …; of the
              optimisers: clip=, decay=, …
    """
    expect_known(op=(op, MASK_NETWORKS), recipe=(recipe, RECIPES))
    usual_window, network, training = (DNARCH if op == "dnarch" else RECIPES)[recipe]
    rates, options = of_optimisers({"rate": rate, "arch_rate": arch_rate, **options})
    numbers = dict(epochs=epochs, batch_size=batch_size, seed=seed)
    training = asked_training(training, **numbers, **rates)
    machine = usable_machine(
        devices=devices, num_nodes=num_nodes, strategy=strategy, accelerator=accelerator
    )
    task = cosmic_task(usual_window if window is None else window)
    counts = {"train": n_train, "val": n_val, "test": n_test}
    simulated = dict(size=size, detector=detector)
    tree, described = COSMIC.chosen(data, counts, **simulated, progress=progress)
    train, val = (tree[split].to_dataset() for split in ("train", "val"))
    crops = TrainingCrops(train, task, seed=training.seed), CoveringCrops(val, task)
    config = {
        **dict(name="cosmic", op=op, recipe=recipe, window=task.axes[0].size),
        "model": {"backbone": "image_mask", "op": op, **network, **options},
        "data": described,
    }
    return carried_out(
        *(CosmicRun, task, config, training, tree),
        lambda _: crops,
        error=masked_bce,
        keep_best=True,
        out=out,
        progress=progress,
        machine=machine,
    )
