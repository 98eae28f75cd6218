"""The bench that strategies work at: fresh networks, data, and trainings that can be resumed.

Every training of a search has a name and, if there is a folder, its own folder below it, where its
state is kept after every epoch.  A search that was killed is simply done again: what was finished
is read, what was under way goes on, and the result is the same to the bit (on CPUs).
"""

import contextlib
import json
import math
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from sciops.atomic import write_text
from sciops.checkpoint import rng_state, set_rng_state
from sciops.config import Training
from sciops.operators import arch_parameters
from sciops.training import Error, TrainingFailed, Units, fit, samples_in
from sciops.training_memory import expect_memory_to_train

from .loops import MOVED, SearchLoop
from .relaxation import ATTRIBUTE
from .search_bar import SearchBar
from .space import AbstractSpace, Places, architecture_of, distances

EVERY = 4096  # samples of a batch when nothing is learned


@dataclass(frozen=True)
class Data:
    """What is trained with, what chooses, and what only judges; and how errors are measured.

    loss:   of predictions and targets, (batch,); what is made small
    metric: the same kind of function; what is reported and chosen by: the less, the better
    units:  of targets, (batch,): metrics are per unit
    """

    train: Dataset
    val: Dataset
    test: Dataset | None
    loss: Error
    metric: Error
    units: Units = samples_in

    def sample(self) -> Tensor:
        """An input, (1, channel, *space)."""
        index = (0, 0) if getattr(self.train, "grids", 1) > 1 else 0
        return self.train.__getitems__([index]).x


class Work:
    """All that a strategy needs to search."""

    def __init__(
        self,
        model_factory: Callable[[], nn.Module],
        data: Data,
        space: AbstractSpace,
        training: Training,
        folder: Path | None,
        bar: SearchBar,
    ):
        self.model_factory, self.data, self.space = model_factory, data, space
        self.training, self.folder, self.bar = training, folder, bar
        self.sample = data.sample()
        self.rows: list[dict[str, Any]] = []  # of the table of trials
        self.models: dict[str, nn.Module] = {}  # those of the search, by trial
        self.histories: dict[str, list[dict]] = {}  # by training
        self.failed: set[str] = set()  # trainings
        self.start: Places = {}
        self.teacher: nn.Module | None = None
        self.left: dict[str, str] = {}  # layers that could not be changed, and why

    # --- networks ---

    def backbone(self, draw: int = 0) -> nn.Module:
        """A fresh network; the same weights for the same draw."""
        with seeded(self.seed(f"weights {draw}")):
            return self.model_factory()

    def supernet(self, draw: int = 0) -> nn.Module:
        """A fresh supernet, at the start of the space."""
        with seeded(self.seed(f"supernet {draw}")):
            model = self.space.supernet(
                self.backbone(draw), self.sample, seed=self.seed(f"start {draw}")
            )
        if not self.start:
            self.start, self.left = self.space.places(model), _left_alone(model)
        return model

    def random_member(self, draw: int = 0) -> nn.Module:
        """A supernet with a random architecture, or the network derived from it."""
        model = self.space.randomise(self.supernet(), seed=self.seed(f"member {draw}"))
        return self.member(architecture_of(model)) if self.space.derives else model

    def member(self, architecture) -> nn.Module:
        """A fresh network with this architecture, frozen."""
        with seeded(self.seed("supernet 0")):
            return self.space.member(self.backbone(), self.sample, architecture)

    def train_teacher(self, epochs: int) -> None:
        """Train the teacher that guides supernets from now on, if the space has one."""
        with seeded(self.seed("teacher")):
            teacher = self.space.teacher(self.backbone(), self.sample)
        if teacher is not None:
            self.train("teacher", teacher, epochs)
            self.judge("teacher", teacher, role="teacher", evaluation="fixed")
            self.teacher = teacher.eval()

    # --- training and judging ---

    def train(
        self,
        name: str,
        model: nn.Module,
        epochs: int,
        *,
        samples: Dataset | None = None,
        loop: Callable[..., SearchLoop] = SearchLoop,
        may_fail: bool = False,
    ) -> nn.Module:
        """Train a network, or read what was trained; frozen parameters stay.

        may_fail: whether a loss that is not finite is a bad score and not an error, as of
                  architectures drawn at random
        """
        self.histories[name] = []
        samples = self.data.train if samples is None else samples
        expect_memory_to_train(model, samples, self.training.batch_size)
        guide = None if self.teacher is None else self.space.guide(model, self.teacher)
        try:
            with seeded(self.seed(f"training {name}")):
                table = fit(
                    model,
                    samples,
                    self.data.val,
                    replace(self.training, epochs=epochs),
                    error=self.data.loss,
                    units=self.data.units,
                    folder=None if self.folder is None else self.folder / "trainings" / name,
                    at_epoch_end=lambda rows: self._note(name, rows),
                    progress=False,
                    make_loop=partial(loop, moved=lambda: self.moved(model), guide=guide),
                )
            self._note(name, table.to_dict("records"))
        except TrainingFailed:
            if not may_fail:
                raise
            self.failed.add(name)
        return model

    def moved(self, model: nn.Module) -> dict[str, float]:
        """How far each layer is from the start of the space."""
        return distances(self.space.places(model), self.start) if self.start else {}

    def judge(self, trial: str, model: nn.Module, *, role: str, evaluation: str, of=None) -> float:
        """Add a row to the table of trials; its validation metric.

        role: "search", "control" or "teacher"
        evaluation: what the weights are: "supernet" (found with the architecture), "offline"
                    (trained for it afterwards), "member" or "fixed"
        of: names of the trainings that led to it, if not its own
        """
        histories = [self.histories[name] for name in (of or [trial])]
        architecture = arch_parameters(model)
        score, test = self._scores(model) if trial not in self.failed else (math.inf, math.nan)
        row = {
            "trial": trial,
            "role": role,
            "evaluation": evaluation,
            "epochs": sum(map(len, histories)),
            "val": score,
            "test": test,
            "seconds": sum(row["seconds"] for rows in histories for row in rows),
            "parameters": sum(p.numel() for p in model.parameters()),
            "arch_parameters": sum(p.numel() for p in architecture),
            "moved": max(self.moved(model).values(), default=0.0) if architecture else 0.0,
        }
        self.rows.append(row)
        if role == "search":
            self.models[trial] = model
        return score

    def _scores(self, model: nn.Module) -> tuple[float, float]:
        """Of the validation and test data."""
        val, test = self.data.val, self.data.test
        score = self.mean_error(model, val)
        return score, math.nan if test is None else self.mean_error(model, test)

    def mean_error(self, model: nn.Module, data: Dataset) -> float:
        """The metric per unit of a data set."""
        training, total, count = model.training, 0.0, 0.0
        model.eval()
        with torch.no_grad():
            for first in range(0, len(data), self._judged_at_once()):
                last = min(first + self._judged_at_once(), len(data))
                batch = data.__getitems__(list(range(first, last)))
                total += float(self.data.metric(model(batch.x), batch.y).double().sum())
                count += float(self.data.units(batch.y).sum())
        model.train(training)
        return total / count

    # --- notes ---

    def _note(self, name: str, rows: list[dict]) -> None:
        self.histories[name] = [dict(row) for row in rows]
        done = sum(map(len, self.histories.values()))
        column = f"val_{self.data.loss.__name__}"
        score = rows[-1][column]
        best = min(row[column] for rows in self.histories.values() for row in rows)
        self.bar.show(name, done, score, best)
        if self.folder is not None:
            trainings = {
                n: {"epochs": len(h), column: h[-1][column]} for n, h in self.histories.items() if h
            }
            text = {"epochs": done, "of": self.bar.epochs, "best": best, "trainings": trainings}
            write_text(self.folder / "journal.json", json.dumps(text, indent=1))

    def history(self) -> list[dict[str, Any]]:
        """All epochs of all trainings, without the distances."""
        return [
            {"training": name, **{k: v for k, v in row.items() if not k.startswith(MOVED)}}
            for name, rows in self.histories.items()
            for row in rows
        ]

    def distance_rows(self, trainings: list[str]) -> list[dict[str, Any]]:
        """A row for each epoch and layer of the trainings of a search, one after another."""
        rows = [row for name in trainings for row in self.histories[name]]
        return [
            {"epoch": epoch, "layer": key.removeprefix(MOVED), "distance": value}
            for epoch, row in enumerate(rows, 1)
            for key, value in row.items()
            if key.startswith(MOVED)
        ]

    def _judged_at_once(self) -> int:
        return max(1, min(self.training.batch_size * 4, EVERY))

    def seed(self, purpose: str) -> int:
        """One for each purpose, from that of the search."""
        return zlib.crc32(f"{self.training.seed} {purpose}".encode())


def _left_alone(model: nn.Module) -> dict[str, str]:
    report = vars(model).get(ATTRIBUTE)
    return {} if report is None else {r.name: r.reason for r in report.rows if not r.changed}


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Random numbers of torch, numpy and Python from a seed; afterwards those of before go on."""
    before = rng_state()
    try:
        torch.manual_seed(seed)
        np.random.seed(seed)
        random.seed(seed)
        yield
    finally:
        set_rng_state(before)
