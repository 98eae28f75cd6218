"""`train_protein`: from alignments and structures to a network that predicts distances."""

from pathlib import Path

from sciops.backbones import build_model
from sciops.backbones.distance_maps import MAP_NETWORKS
from sciops.config import Optimisation, Training, changed
from sciops.metrics.distance_map import inverse_log_cosh, log_cosh
from sciops.proteins.kept import LENGTH
from sciops.proteins.map_windows import MapWindows, map_task
from sciops.proteins.ragged import proteins_of
from sciops.training import fit

from . import protein_data
from .data import whole
from .folder import as_json, claim, finish, only_process, write_history
from .pde import own_random_numbers
from .plan import expect_machine
from .protein_run import ProteinRun
from .run import open_run

LOSSES = {"distance": log_cosh, "inverse": inverse_log_cosh}
COUNTS = {"train": 60, "val": 8, "test": 12}
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
    recipe:   "quick" (minutes on two cores) or "paper" (as published for XD; hours)
    loss:     "distance": log cosh of distances up to 16 Å; "inverse": of inverse distances
    rate, arch_rate: learning rates of weights and architecture
    out:      folder of the run; None is one in runs/ that is named after the settings.  A run that
              is there already is finished, if need be, and returned
    options:  of the network: depth=, width=, dropout=, …
    """
    for name, value, known in (
        ("op", op, MAP_NETWORKS),
        ("recipe", recipe, RECIPES),
        ("loss", loss, LOSSES),
    ):
        if value not in list(known):
            raise ValueError(f"there is no {name}={value!r}; there are {', '.join(known)}")
    usual, training = RECIPES[recipe]
    seed = whole(seed, "seed", least=0)
    numbers = dict(epochs=whole(epochs, "epochs"), batch_size=whole(batch_size, "batch_size"))
    numbers |= dict(seed=seed)
    machine = dict(devices=devices, num_nodes=num_nodes, strategy=strategy, accelerator=accelerator)
    expect_machine(machine)
    training = changed(training, **numbers, rate=rate, arch_rate=arch_rate)
    counts = {"train": n_train, "val": n_val, "test": n_test}
    tree, described = _proteins(data, counts, length, progress)
    train, val = (proteins_of(tree[s].to_dataset()) for s in ("train", "val"))
    task = map_task(train[0], window=window, separation=recipe != "paper")
    network = {**({} if op == "unet" else usual), **options}
    config = as_json(
        {
            "name": "protein",
            "op": op,
            "recipe": recipe,
            "loss": loss,
            "window": window,
            "seed": seed,
            "training": training.as_dict(),
            "model": {"backbone": "distance_map", "op": op, **network},
            "data": described,
        }
    )
    with own_random_numbers(seed):
        model = build_model(task, config["model"])  # a network that cannot be is refused here
        path, is_finished = claim(out, config)
        if is_finished:
            run = open_run(path)
            run.data = tree
            return run
        with only_process(path):
            history = fit(
                model,
                MapWindows(train, task, seed=seed),
                MapWindows(val, task),
                training,
                error=LOSSES[loss],
                folder=path / "checkpoints",
                at_epoch_end=lambda rows: write_history(path, rows),
                progress=progress,
                **machine,
            )
            run = ProteinRun(model.eval(), task, config, {}, history, path, tree)
            return finish(run, progress=progress)


def _proteins(data, counts: dict[str, int | None], length, progress: bool):
    """The tree with train, val and test, and its description."""
    if data is None:
        counts = {split: COUNTS[split] if n is None else n for split, n in counts.items()}
        length = LENGTH if length is None else length
        return protein_data.synthetic(counts, length, progress=progress)
    if length is not None or any(n is not None for n in counts.values()):
        raise ValueError(
            "n_train, n_val, n_test and length are for synthetic chains; the data that are given "
            "have their own"
        )
    return protein_data.given(data)
