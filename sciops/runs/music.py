"""`train_music`: from piano rolls to a network that predicts the next frame."""

from pathlib import Path

from sciops.backbones import build_model
from sciops.backbones.tcn import OPERATORS
from sciops.config import CHANGES, Optimisation, Training, changed
from sciops.metrics.sequence import frames, nats
from sciops.music.rolls import pieces_of
from sciops.music.sequences import Sequences, music_task
from sciops.music.tonal import LENGTH
from sciops.training import fit

from . import music_data
from .data import whole
from .folder import as_json, claim, finish, only_process, write_history
from .music_run import MusicRun
from .pde import own_random_numbers
from .plan import expect_machine
from .run import open_run

COUNTS = {"train": 200, "val": 40, "test": 40}
NETWORKS = {  # as published, by collection
    "jsb": dict(width=150, levels=3, kernel_size=2, dropout=0.5),
    "nottingham": dict(width=150, levels=4, kernel_size=6, dropout=0.2),
}
QUICK_EPOCHS = {"jsb": 100, "nottingham": 20}
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
    for argument, value, known in (
        ("name", name, NETWORKS),
        ("op", op, OPERATORS),
        ("recipe", recipe, RECIPES),
    ):
        if value not in list(known):
            raise ValueError(f"there is no {argument}={value!r}; there are {', '.join(known)}")
    seed = whole(seed, "seed", least=0)
    numbers = dict(epochs=whole(epochs, "epochs"), batch_size=whole(batch_size, "batch_size"))
    numbers |= dict(seed=seed)
    machine = dict(devices=devices, num_nodes=num_nodes, strategy=strategy, accelerator=accelerator)
    expect_machine(machine)
    numbers |= {key: options.pop(key) for key in CHANGES if key in options}
    training = changed(_recipe(name, recipe), **numbers, rate=rate, arch_rate=arch_rate)
    task = music_task(window=window)
    counts = {"train": n_train, "val": n_val, "test": n_test}
    tree, described = _music(data, counts, length, progress)
    train, val = (pieces_of(tree[s].to_dataset()) for s in ("train", "val"))
    config = as_json(
        {
            "name": "music",
            "collection": name,
            "op": op,
            "recipe": recipe,
            "window": window,
            "seed": seed,
            "training": training.as_dict(),
            "model": {"backbone": "tcn", "op": op, **NETWORKS[name], **options},
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
                Sequences(train),
                Sequences(sorted(val, key=len)),  # little padding
                training,
                error=nats,
                units=frames,
                keep_best=True,
                folder=path / "checkpoints",
                at_epoch_end=lambda rows: write_history(path, rows),
                progress=progress,
                **machine,
            )
            run = MusicRun(model.eval(), task, config, {}, history, path, tree)
            return finish(run, progress=progress)


def _music(data, counts: dict[str, int | None], length, progress: bool):
    """The tree with train, val and test, and its description."""
    if data is None:
        counts = {split: COUNTS[split] if n is None else n for split, n in counts.items()}
        length = LENGTH if length is None else length
        return music_data.synthetic(counts, length, progress=progress)
    if length is not None or any(n is not None for n in counts.values()):
        raise ValueError(
            "n_train, n_val, n_test and length are for synthetic pieces; the data that are given "
            "have their own"
        )
    return music_data.given(data)
