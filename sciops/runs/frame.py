"""What every `train_…` has in common, whatever it is trained on.

A verb checks what it is asked for (`expect_known`, `asked_training`, `usable_machine` of
sciops.trainer), finds its data, and hands what is its own to `carried_out`.
"""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils.data import Dataset

from sciops.checkpoint import rng_state, set_rng_state
from sciops.config import CHANGES, Training, changed
from sciops.suggestions import did_you_mean
from sciops.task import Task
from sciops.training import fit
from sciops.training_memory import expect_memory_to_train

from .data import whole
from .expected import told
from .folder import as_json, claim, finish, is_first_process, only_process, write_history
from .networks import network_of
from .opening import open_run
from .run import AbstractRun

if TYPE_CHECKING:
    import xarray as xr

AtEpochEnd = Callable[[list[dict[str, float]]], None]  # of the rows of the history so far


def expect_known(**asked: tuple[Any, Iterable[str]]) -> None:
    """Names, each with those that there are.

    >>> expect_known(op=("fourier", ["conv", "xd"]))
    Traceback (most recent call last):
    ValueError: there is no op='fourier'; there are conv, xd
    >>> expect_known(recipe=("quik", ["quick", "paper"]))
    Traceback (most recent call last):
    ValueError: there is no recipe='quik'; there are quick, paper; did you mean 'quick'?
    """
    for argument, (value, known) in asked.items():
        if value not in list(known):
            raise ValueError(
                f"there is no {argument}={value!r}; there are {', '.join(known)}"
                f"{did_you_mean(value, known)}"
            )


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
    at_epoch_end: AtEpochEnd | None = None,
    **how,
) -> AbstractRun:
    """A run that is trained and judged; one that is in the folder already is finished, if need be.

    config: name, op, model (of `network_of`), data (their description), and what else was chosen
    data:   train, val and test
    fed:    makes of the new network what `fit` feeds it: samples to learn from, and to validate
    machine: of `usable_machine`
    at_epoch_end: is given the history after every epoch; what it raises ends the training
    how:    error=, units=, keep_best= and coords= of `fit`
    """
    trained = {"seed": training.seed, "training": training.as_dict()}
    config = as_json({**config, **trained})
    with own_random_numbers(training.seed):
        network = network_of(task, config["model"])  # one that cannot be is refused here
        path, is_finished = claim(out, config)
        if is_finished:
            run = open_run(path)
            run.data = data
            return run
        with only_process(path):
            train, val = fed(network)
            if machine["accelerator"] == "cpu":
                together = machine["devices"] * machine["num_nodes"]
                where = how.get("coords")
                expect_memory_to_train(network, train, training.batch_size, where, together)
            history = fit(
                network,
                train,
                val,
                training,
                folder=path / "checkpoints",
                at_epoch_end=lambda rows: _tell(path, rows, at_epoch_end),
                progress=progress,
                **machine,
                **how,
            )
            run = kind(network.eval(), task, config, {}, history, path, data)
            run = finish(run, progress=progress)
            if progress and is_first_process() and (line := told(run)):
                print(line, file=sys.stderr)
            return run


def _tell(path: Path, rows: list[dict], at_epoch_end: AtEpochEnd | None) -> None:
    write_history(path, rows)
    if at_epoch_end is not None:
        at_epoch_end(rows)


@contextlib.contextmanager
def own_random_numbers(seed: int) -> Iterator[None]:
    """Random numbers of this seed; afterwards those of the caller go on where they were."""
    before = rng_state()
    torch.manual_seed(seed)
    try:
        yield
    finally:
        set_rng_state(before)
