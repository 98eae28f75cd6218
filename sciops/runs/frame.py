"""What every `train_…` has in common, whatever it is trained on.

A verb checks what it is asked for (`expect_known`, `asked_training`, `usable_machine`), finds its
data, and hands what is its own to `carried_out`.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.exceptions import MisconfigurationException
from torch import nn
from torch.utils.data import Dataset

from sciops.backbones import build_model
from sciops.checkpoint import rng_state, set_rng_state
from sciops.config import CHANGES, Training, changed
from sciops.task import Task
from sciops.training import fit, quietly

from .data import whole
from .folder import as_json, claim, finish, only_process, write_history
from .run import AbstractRun, open_run

if TYPE_CHECKING:
    import xarray as xr


def expect_known(**asked: tuple[Any, Iterable[str]]) -> None:
    """Names, each with those that there are.

    >>> expect_known(op=("fourier", ["conv", "xd"]))
    Traceback (most recent call last):
    ValueError: there is no op='fourier'; there are conv, xd
    """
    for argument, (value, known) in asked.items():
        if value not in list(known):
            raise ValueError(f"there is no {argument}={value!r}; there are {', '.join(known)}")


def asked_training(usual: Training, *, epochs, batch_size, seed, **changes) -> Training:
    """The training of a recipe with what was asked for instead; None leaves it to the recipe."""
    numbers = dict(epochs=whole(epochs, "epochs"), batch_size=whole(batch_size, "batch_size"))
    return changed(usual, **numbers, seed=whole(seed, "seed", least=0), **changes)


def of_optimisers(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the optimisers, and the others.

    >>> of_optimisers({"width": 8, "clip": 0.5})
    ({'clip': 0.5}, {'width': 8})
    """
    others = {key: value for key, value in options.items() if key not in CHANGES}
    return {key: options[key] for key in options if key not in others}, others


def usable_machine(**machine) -> dict[str, Any]:
    """devices, num_nodes, strategy and accelerator as they are, if this machine has them.

    Lightning looks for the processors; from now on it knows which process this one is.
    """
    quiet = ("logger", "enable_checkpointing", "enable_model_summary", "enable_progress_bar")
    try:
        with quietly(), warnings.catch_warnings(action="ignore"):
            pl.Trainer(**machine, **dict.fromkeys(quiet, False))
    except (MisconfigurationException, TypeError, RuntimeError) as error:
        asked = ", ".join(f"{name}={value!r}" for name, value in machine.items())
        raise ValueError(f"this machine cannot train with {asked}: {error}") from error
    return machine


def carried_out(
    kind: type[AbstractRun],
    task: Task,
    config: dict[str, Any],
    training: Training,
    data: "xr.DataTree",
    fed: Callable[[nn.Module], tuple[Dataset, Dataset]],
    *,
    out: str | Path | None,
    progress: bool,
    machine: dict[str, Any],
    **how,
) -> AbstractRun:
    """A run that is trained and judged; one that is in the folder already is finished, if need be.

    config: name, op, model (of `build_model`), data (their description), and what else was chosen
    data:   train, val and test
    fed:    makes of the new network what `fit` feeds it: samples to learn from, and to validate
    machine: of `usable_machine`
    how:    error=, units=, keep_best= and coords= of `fit`
    """
    trained = {"seed": training.seed, "training": training.as_dict()}
    config = as_json({**config, **trained})
    with own_random_numbers(training.seed):
        network = build_model(task, config["model"])  # one that cannot be is refused here
        path, is_finished = claim(out, config)
        if is_finished:
            run = open_run(path)
            run.data = data
            return run
        with only_process(path):
            history = fit(
                network,
                *fed(network),
                training,
                folder=path / "checkpoints",
                at_epoch_end=lambda rows: write_history(path, rows),
                progress=progress,
                **machine,
                **how,
            )
            run = kind(network.eval(), task, config, {}, history, path, data)
            return finish(run, progress=progress)


@contextlib.contextmanager
def own_random_numbers(seed: int) -> Iterator[None]:
    """Random numbers of this seed; afterwards those of the caller go on where they were."""
    before = rng_state()
    torch.manual_seed(seed)
    try:
        yield
    finally:
        set_rng_state(before)
