"""Training: one loop for all operators, with one optimiser for weights and one for architecture.

Both follow the same loss on the same batches (single-level search); operators without architecture
parameters simply have none.  Everything that decides the next step is written after every epoch, so
that a run that was killed goes on and ends with the same bits (on CPUs).
"""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities import rank_zero_only
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from .checkpoint import load_state, rng_state, save_state, set_rng_state, settle_states
from .config import Optimisation, Training
from .data.samples import MemorySamples, as_it_is
from .data.shuffling import ShuffledBatches
from .data.symmetries import transformed
from .metrics.field import relative_l2
from .operators import arch_parameters, weight_parameters
from .operators.heap import kept_heap
from .operators.operator import notes_of, searchables
from .schedules import plateau_cuts, rate_factor
from .task import Batch
from .trainer import make_trainer, quietly, stops_are_told
from .training_bar import TrainingBar, bar_is_wanted

if TYPE_CHECKING:
    import pandas as pd


Error = Callable[[Tensor, Tensor], Tensor]
Units = Callable[[Tensor], Tensor]


def samples_in(target: Tensor) -> Tensor:
    """One for each sample."""
    return torch.ones(len(target), device=target.device)


class TrainingFailed(RuntimeError):
    """A run that cannot go on; says what to change."""


def make_optimiser(parameters: list[nn.Parameter], how: Optimisation) -> torch.optim.Optimizer:
    if how.optimiser == "rmsprop":
        known = dict(alpha=0.9, eps=1e-7, momentum=how.momentum)  # as in Keras
        return torch.optim.RMSprop(parameters, how.rate, weight_decay=how.decay, **known)
    if how.optimiser == "sgd":
        return torch.optim.SGD(parameters, how.rate, how.momentum, weight_decay=how.decay)
    fused = all(p.is_floating_point() for p in parameters)  # several times faster, but not complex
    adam = torch.optim.AdamW if how.optimiser == "adamw" else torch.optim.Adam
    return adam(parameters, how.rate, weight_decay=how.decay, fused=fused)


class Loop(pl.LightningModule):
    """A model in training."""

    def __init__(
        self,
        model: nn.Module,
        how: Training,
        sampler: ShuffledBatches,
        folder: Path | None,
        at_epoch_end: Callable[[list[dict]], None],
        coords: Sequence[Tensor] | None,
        error: Error,
        units: Units = samples_in,
        keep_best: bool = False,
        slopes: Error | None = None,
    ):
        super().__init__()
        self.automatic_optimization = False
        self.model, self.how, self.sampler, self.folder = model, how, sampler, folder
        self.error, self.units, self.keep_best, self.slopes = error, units, keep_best, slopes
        self.coords = None if coords is None else tuple(coords)
        self.searchables = searchables(model)
        self.at_epoch_end, self.first_epoch = at_epoch_end, 0
        pairs = (weight_parameters(model), how.weights), (arch_parameters(model), how.architecture)
        self.groups = [(parameters, o) for parameters, o in pairs if parameters]
        self.made = [make_optimiser(parameters, o) for parameters, o in self.groups]
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Tensor] | None = None  # state of the model, if it is kept
        self.sums: list[Tensor] = []  # of the errors of each batch
        self.counts: list[Tensor] = []  # of its units

    def configure_optimizers(self):
        return self.made

    @property
    def epoch(self) -> int:
        return self.first_epoch + self.current_epoch

    def on_train_epoch_start(self) -> None:
        self.started = time.perf_counter()
        self.sampler.epoch = self.epoch
        self.sampler.process = self.trainer.global_rank, self.trainer.world_size

    def _set_rates(self, epoch: float) -> None:
        begin = self.how.architecture.warmup if len(self.groups) == 2 else 0
        for optimiser, (_, how) in zip(self.made, self.groups, strict=True):
            cuts = 0
            if how.schedule == "plateau":
                cuts = plateau_cuts(self._validated(), how.step_epochs, begin)
            for group in optimiser.param_groups:
                group["lr"] = how.rate * rate_factor(how, epoch, self.how.epochs, cuts)

    def _validated(self) -> list[float]:
        """The validation error of every epoch so far."""
        return [row[self.named("val")] for row in self.history if self.named("val") in row]

    def training_step(self, batch: Batch, index: int) -> None:
        self._set_rates(self.epoch + (index + 0.5) / len(self.sampler))  # the middle of the step
        coords = self.coords
        if self.how.symmetries:
            chance = np.random.default_rng([self.how.seed, self.epoch, index])
            batch, coords = transformed(batch, self.how.symmetries, chance, coords)
        errors, rough = self._judged(batch, coords)
        size = self.sampler.size(index)
        shares = self.sampler.shares(size)  # torch averages over processes
        total, count = errors.sum() * shares, self.units(batch.y).sum() * shares
        loss = (errors + rough).sum() * shares
        loss = loss if self.how.loss == "sum" else loss / size
        if not torch.isfinite(loss):
            raise self._failed(f"the loss became {loss.item()} in batch {index + 1}")
        self.descend(self.with_penalties(loss))
        self.sums.append(total.detach())
        self.counts.append(count)

    def with_penalties(self, loss: Tensor) -> Tensor:
        """The loss and what architectures add to it; errors of the history are without."""
        found = (module.penalty() for module in self.searchables)
        return sum((p for p in found if p is not None), loss)

    def descend(self, loss: Tensor) -> None:
        """A step of all optimisers."""
        for optimiser in self.made:
            optimiser.zero_grad()
        self.manual_backward(loss)
        for number in range(len(self.made)):
            self.step(number)

    def step(self, number: int) -> None:
        """A step of one optimiser with the gradients that are there."""
        optimisers = self.optimizers()
        optimisers = optimisers if isinstance(optimisers, list) else [optimisers]
        parameters, how = self.groups[number]
        if how.clip is not None:
            nn.utils.clip_grad_norm_(parameters, how.clip)
        optimisers[number].step()
        for module in self.searchables:
            module.project()

    def notes(self) -> dict[str, float]:
        """What else the history says of an epoch."""
        return notes_of(self.model)

    def _judged(self, batch: Batch, coords: tuple[Tensor, ...] | None) -> tuple[Tensor, Any]:
        """The errors of a batch, and what slopes add to them in training."""
        if not self.how.h1:
            return self._errors(batch, coords), 0.0
        predicted = self._predicted(batch, coords)
        return self.error(predicted, batch.y), self.how.h1 * self.slopes(predicted, batch.y)

    def _errors(self, batch: Batch, coords: tuple[Tensor, ...] | None) -> Tensor:
        return self.error(self._predicted(batch, coords), batch.y)

    def _predicted(self, batch: Batch, coords: tuple[Tensor, ...] | None) -> Tensor:
        return self.model(batch.x) if coords is None else self.model(batch.x, coords)

    def _failed(self, how: str) -> TrainingFailed:
        return TrainingFailed(
            f"{how} of epoch {self.epoch + 1}; lower the learning rates "
            f"({self.how.weights.rate:g} for weights, {self.how.architecture.rate:g} for the "
            "architecture) or clip the gradients, and look at the data with sciops.check"
        )

    def validation_step(self, batch: Batch, index: int) -> None:
        errors, count = self._errors(batch, self.coords), self.units(batch.y).sum()
        mean = errors.sum() / count
        self.log(self.named("val"), mean, batch_size=int(count), sync_dist=True)

    def named(self, split: str) -> str:
        return f"{split}_{self.error.__name__}"

    def on_train_epoch_end(self) -> None:
        if not all(torch.isfinite(p).all() for p in self.model.parameters()):
            raise self._failed("a parameter is not finite after the last batch")
        total, count = (
            self.all_gather(torch.stack(parts).sum()).mean() for parts in (self.sums, self.counts)
        )
        row = {
            "epoch": self.epoch + 1,
            self.named("train"): (total / count).item(),
            "seconds": time.perf_counter() - self.started,
        }
        validated = self.trainer.callback_metrics.get(self.named("val"))
        if validated is not None:
            row[self.named("val")] = validated.item()
        row |= self.notes()
        if self.keep_best and row[self.named("val")] < min(self._validated(), default=math.inf):
            state = self.model.state_dict()
            self.best = {name: tensor.detach().clone() for name, tensor in state.items()}
        self.history.append(row)
        self.sums.clear()
        self.counts.clear()
        if not self.trainer.is_global_zero:
            return
        if self.folder is not None:
            save_state(self.folder, self.state(), {"training": self.how.as_dict()})
        self.at_epoch_end(self.history)

    def state(self) -> dict[str, Any]:
        """All that decides the rest of the run."""
        optimisers = [optimiser.state_dict() for optimiser in self.made]
        model = self.model.state_dict()
        kept = {} if self.best is None else {"best": self.best}
        state = dict(model=model, optimisers=optimisers, history=self.history, **kept)
        return {**state, "random": rng_state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        for optimiser, saved in zip(self.made, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self.history = state["history"]
        self.first_epoch, self.best = len(self.history), state.get("best")
        set_rng_state(state["random"])


def fit(
    model: nn.Module,
    train: Dataset,
    val: MemorySamples | None,
    how: Training,
    *,
    error: Error = relative_l2,
    units: Units = samples_in,
    keep_best: bool = False,
    slopes: Error | None = None,
    coords: Sequence[Tensor] | None = None,
    folder: str | Path | None = None,
    at_epoch_end: Callable[[list[dict]], None] = lambda rows: None,
    progress: bool = True,
    make_loop: Callable[..., Loop] = Loop,
    devices: int = 1,
    num_nodes: int = 1,
    strategy: str = "auto",
    accelerator: str = "cpu",
) -> "pd.DataFrame":
    """Train a model in place; the history, one row an epoch.

    Several processes take the same steps as one with the whole batch, except that batch
    normalisation on CPUs has the statistics of each process.

    train: MemorySamples, or another data set of batches: SeveralGrids, WindowSamples, MapWindows,
           Sequences
    error: of predictions and targets, (batch,); what is made small, and gives the history its names
    units: of targets, (batch,), such as the frames of a sequence; the history has errors per unit
    keep_best: end with the model of the epoch with the least validation error, not of the last
    slopes: a second error, how.h1 times which is added in training; the history does not have it
    coords: points of each axis in units of its length; None is the uniform grid
    folder: where the state is kept after every epoch; a run that is there already goes on
    at_epoch_end: is given the rows of the history so far
    make_loop: another kind of Loop, for searches
    devices, num_nodes, strategy, accelerator: as Lightning takes them
    """
    import pandas as pd

    sampler = ShuffledBatches(
        len(train),
        how.batch_size,
        seed=how.seed,
        grids=getattr(train, "grids", 1),
        coarse_epochs=None if how.coarse is None else round(how.coarse * how.epochs),
        anew=getattr(train, "draws_anew", False),
        lengths=getattr(train, "lengths", None),
    )
    folder = None if folder is None else Path(folder)
    if keep_best and val is None:
        raise ValueError("keep_best chooses an epoch by its validation error: give val=…")
    if how.h1 and slopes is None:
        raise ValueError(f"h1={how.h1} weighs an error of slopes: give slopes=…")
    judged = error, units, keep_best, slopes
    loop = make_loop(model.train(), how, sampler, folder, at_epoch_end, coords, *judged)
    _resume(loop)
    left = how.epochs - loop.first_epoch
    if left > 0:
        loaders = [DataLoader(train, batch_sampler=sampler, collate_fn=as_it_is)]
        if val is not None:
            loaders.append(DataLoader(val, batch_size=how.batch_size, collate_fn=as_it_is))
        bars = [TrainingBar()] if bar_is_wanted(progress) else []
        machine = dict(devices=devices, num_nodes=num_nodes, strategy=strategy)
        with quietly(), kept_heap(), stops_are_told(lambda: _how_far(loop)):
            make_trainer(left, bars, accelerator=accelerator, **machine).fit(loop, *loaders)
    elif folder is not None and rank_zero_only.rank == 0:
        settle_states(folder)
    if loop.best is not None:
        model.load_state_dict(loop.best)
    return pd.DataFrame(loop.history)


def _how_far(loop: Loop) -> str:
    goes_on = "" if loop.folder is None else "; the same call goes on from there"
    return f"stopped after epoch {len(loop.history)} of {loop.how.epochs}{goes_on}"


def _resume(loop: Loop) -> None:
    """Go on where an earlier run in the same folder stopped."""
    if loop.folder is None or not any(loop.folder.glob("save-*")):  # none was finished
        return
    state, metadata = load_state(loop.folder)
    if metadata["training"] != loop.how.as_dict():
        raise ValueError(
            f"{loop.folder} holds a run that was trained otherwise; choose another folder, or "
            "remove it to begin anew"
        )
    loop.restore(state)
