"""Training: one loop for all operators, with one optimiser for weights and one for architecture.

Both follow the same loss on the same batches (single-level search); operators without architecture
parameters simply have none.  Everything that decides the next step is written after every epoch, so
that a run that was killed goes on and ends with the same bits (on CPUs).
"""

import contextlib
import logging
import math
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Sampler

from .checkpoint import load_state, rng_state, save_state, set_rng_state
from .config import Optimisation, Training
from .data.samples import MemorySamples, as_it_is
from .metrics.field import relative_l2
from .operators import arch_parameters, weight_parameters
from .task import Batch

if TYPE_CHECKING:
    import pandas as pd


class TrainingFailed(RuntimeError):
    """A run that cannot go on; says what to change."""


class ShuffledBatches(Sampler[list[int]]):
    """Batches of indices; their order depends on the seed and the epoch alone.

    Of several processes each takes its share of every batch, so together they take the same steps
    as one.
    """

    def __init__(self, samples: int, batch_size: int, *, seed: int):
        self.samples, self.batch_size, self.seed, self.epoch = samples, batch_size, seed, 0

    def __len__(self) -> int:
        return math.ceil(self.samples / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.samples).tolist()
        rank, ranks = _process()
        for i in range(0, self.samples, self.batch_size):
            batch = order[i : i + self.batch_size]
            yield batch[rank::ranks] if len(batch) >= ranks else batch


def _process() -> tuple[int, int]:
    """Number of this process and how many there are."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return 0, 1
    return torch.distributed.get_rank(), torch.distributed.get_world_size()


def make_optimiser(parameters: list[nn.Parameter], how: Optimisation) -> torch.optim.Optimizer:
    if how.optimiser == "sgd":
        return torch.optim.SGD(parameters, how.rate, how.momentum, weight_decay=how.decay)
    return torch.optim.Adam(parameters, how.rate, weight_decay=how.decay)


def rate_factor(how: Optimisation, epoch: int, epochs: int) -> float:
    """By which the rate of an optimiser is multiplied in an epoch.

    >>> how = Optimisation(1e-3, schedule="step", step_epochs=2, warmup=1)
    >>> [rate_factor(how, epoch, 5) for epoch in range(5)]
    [0.0, 1.0, 0.5, 0.5, 0.25]
    """
    if epoch < how.warmup:
        return 0.0
    if how.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * epoch / epochs))
    return 0.5 ** (epoch // how.step_epochs) if how.schedule == "step" else 1.0


class Loop(pl.LightningModule):
    """A model in training."""

    def __init__(
        self, model: nn.Module, how: Training, sampler: ShuffledBatches, folder: Path | None
    ):
        super().__init__()
        self.automatic_optimization = False
        self.model, self.how, self.sampler, self.folder = model, how, sampler, folder
        self.first_epoch = 0
        pairs = (weight_parameters(model), how.weights), (arch_parameters(model), how.architecture)
        self.groups = [(parameters, o) for parameters, o in pairs if parameters]
        self.made = [make_optimiser(parameters, o) for parameters, o in self.groups]
        self.history: list[dict[str, float]] = []
        self.losses: list[Tensor] = []

    def configure_optimizers(self):
        return self.made

    @property
    def epoch(self) -> int:
        return self.first_epoch + self.current_epoch

    def on_train_epoch_start(self) -> None:
        self.started = time.perf_counter()
        self.sampler.epoch = self.epoch
        for optimiser, (_, how) in zip(self.made, self.groups, strict=True):
            for group in optimiser.param_groups:
                group["lr"] = how.rate * rate_factor(how, self.epoch, self.how.epochs)

    def training_step(self, batch: Batch, index: int) -> None:
        errors = relative_l2(self.model(batch.x), batch.y)
        loss = self._loss(errors)
        if not torch.isfinite(loss):
            raise TrainingFailed(
                f"the loss became {loss.item()} in epoch {self.epoch + 1}, batch {index + 1}; "
                f"lower the learning rates ({self.how.weights.rate:g} for weights, "
                f"{self.how.architecture.rate:g} for the architecture) or clip the gradients, and "
                "look at the data with sciops.check"
            )
        optimisers = self.optimizers()
        optimisers = optimisers if isinstance(optimisers, list) else [optimisers]
        for optimiser in optimisers:
            optimiser.zero_grad()
        self.manual_backward(loss)
        for optimiser, (parameters, how) in zip(optimisers, self.groups, strict=True):
            if how.clip is not None:
                nn.utils.clip_grad_norm_(parameters, how.clip)
            optimiser.step()
        self.losses.append(errors.detach().mean())

    def _loss(self, errors: Tensor) -> Tensor:
        """Of the whole batch; torch averages gradients over processes."""
        processes = self.trainer.world_size
        if self.how.loss == "sum":
            return processes * errors.sum()
        if processes == 1:
            return errors.mean()
        count = self.all_gather(torch.tensor(len(errors), device=errors.device)).sum()
        return processes * errors.sum() / count

    def validation_step(self, batch: Batch, index: int) -> None:
        errors = relative_l2(self.model(batch.x), batch.y).mean()
        self.log("val_relative_l2", errors, batch_size=len(batch.x), sync_dist=True)

    def on_train_epoch_end(self) -> None:
        row = {
            "epoch": self.epoch + 1,
            "train_relative_l2": torch.stack(self.losses).mean().item(),
            "seconds": time.perf_counter() - self.started,
        }
        validated = self.trainer.callback_metrics.get("val_relative_l2")
        if validated is not None:
            row["val_relative_l2"] = validated.item()
        self.history.append(row)
        self.losses.clear()
        if self.folder is not None and self.trainer.is_global_zero:
            save_state(self.folder, self.state(), {"training": self.how.as_dict()})

    def state(self) -> dict[str, Any]:
        """All that decides the rest of the run."""
        return {
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.made],
            "history": self.history,
            "random": rng_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        for optimiser, saved in zip(self.made, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self.history = state["history"]
        self.first_epoch = len(self.history)
        set_rng_state(state["random"])


def fit(
    model: nn.Module,
    train: MemorySamples,
    val: MemorySamples | None,
    how: Training,
    *,
    folder: str | Path | None = None,
    progress: bool = True,
    devices: int = 1,
    num_nodes: int = 1,
    strategy: str = "auto",
    accelerator: str = "cpu",
) -> "pd.DataFrame":
    """Train a model in place; the history, one row an epoch.

    Several processes take the same steps as one with the whole batch, except that batch
    normalisation on CPUs has the statistics of each process.

    folder: where the state is kept after every epoch; a run that is there already goes on
    devices, num_nodes, strategy, accelerator: as Lightning takes them
    """
    import pandas as pd

    sampler = ShuffledBatches(len(train), how.batch_size, seed=how.seed)
    loop = Loop(model, how, sampler, None if folder is None else Path(folder))
    _resume(loop)
    left = how.epochs - loop.first_epoch
    if left > 0:
        loaders = [DataLoader(train, batch_sampler=sampler, collate_fn=as_it_is)]
        if val is not None:
            loaders.append(DataLoader(val, batch_size=how.batch_size, collate_fn=as_it_is))
        with _quietly():
            trainer = pl.Trainer(
                max_epochs=left,
                accelerator=accelerator,
                devices=devices,
                num_nodes=num_nodes,
                strategy=strategy,
                sync_batchnorm=accelerator != "cpu",  # torch has none for CPUs
                use_distributed_sampler=False,
                logger=False,
                enable_checkpointing=False,
                enable_model_summary=False,
                enable_progress_bar=progress and sys.stderr.isatty(),
                num_sanity_val_steps=0,
            )
            trainer.fit(loop, *loaders)
    return pd.DataFrame(loop.history)


def _resume(loop: Loop) -> None:
    """Go on where an earlier run in the same folder stopped."""
    if loop.folder is None or not loop.folder.exists():
        return
    state, metadata = load_state(loop.folder)
    if metadata["training"] != loop.how.as_dict():
        raise ValueError(
            f"{loop.folder} holds a run that was trained otherwise; choose another folder, or "
            "remove it to begin anew"
        )
    loop.restore(state)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without Lightning's advice, which is for other kinds of data."""
    logger = logging.getLogger("pytorch_lightning")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            for advice in ("many workers", "no `val_dataloader`", "number of training batches"):
                warnings.filterwarnings("ignore", f".*{advice}")
            warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
            yield
    finally:
        logger.setLevel(level)
