"""Trials of a search in a grammar: each is a run with the network of a term.

    score = log(validation error + 10⁻⁸)

Errors of networks differ by factors; their logarithms are what a Gaussian process can follow.
"""

import bisect
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from sciops.backbones import TERM, make_backbone
from sciops.backbones.choice import FREQUENCIES
from sciops.grammars.term import Term
from sciops.studies.journal import Attempt
from sciops.task import Task

from .pde import train_pde
from .run import AbstractRun
from .vision import train_vision

OF_IMAGES = ("digits", "vision")
LEAST_ERROR = 1e-8
RUN = "run"  # the folder of the run in that of its trial
WIDTHS = range(1, 129)  # of controls
USUAL_WIDTH = 12  # what the frequencies of controls should leave room for


@dataclass(frozen=True)
class TermTraining:
    """The training of the network of a term; it can be sent to other processes.

    task_name: of `search`
    data:      as of `train_pde` and `train_vision`
    network:   frame and topologies of terms
    options:   epochs, seed, and all others of these verbs
    threads:   of each process; None leaves them as they are
    told:      whether the error of every trial is printed
    """

    task_name: str
    data: Any
    network: Mapping[str, Any]
    options: Mapping[str, Any]
    threads: int | None = None
    told: bool = False

    def __call__(self, term: Term, attempt: Attempt) -> float:
        """The score of a term, told after every epoch."""
        if self.threads is not None:
            torch.set_num_threads(self.threads)

        def tell(rows: Sequence[Mapping[str, float]]) -> None:
            for row in rows:  # also those whose report a dying process could not make
                attempt.report(int(row["epoch"]), score_of(row))

        own = {"term": str(term), **self.network}
        run = self.train(TERM, attempt.folder / RUN, at_epoch_end=tell, **own)
        rows = run.history.to_dict("records")
        tell(rows)
        if self.told:
            error = rows[-1][validated(rows[-1])]
            print(f"trial {attempt.number}: validation error {error:.4g}", file=sys.stderr)
        return score_of(rows[-1])

    def train(self, op: str, out: Path, **own) -> AbstractRun:
        """A run of the same problem."""
        known = {"data": self.data, "out": out, "progress": False, **self.options, **own}
        if self.task_name in OF_IMAGES:
            return train_vision(op, **known)
        return train_pde(self.task_name, op, **known)

    def train_controls(self, folder: Path, found: AbstractRun) -> None:
        """Runs to compare with, below a folder.

        Of fields they are FNO and XD with as many parameters as what was found, as far as a width
        gives that, and as many frequencies as leave it a usual width; of images LeNet as it is and
        with XD.
        """
        if self.task_name in OF_IMAGES:
            self.train("conv", folder / "lenet")
            self.train("xd", folder / "lenet-xd")
            return
        for op in ("fno", "xd"):
            size = size_for(found.task, op, found.metrics["parameters"])
            name = f"{op}-width{size['width']}-frequencies{size['frequencies']}"
            self.train(op, folder / name, **size)


def validated(row: Mapping[str, float]) -> str:
    """The name of the validation error in a row of the history."""
    return next(name for name in row if name.startswith("val_"))


def score_of(row: Mapping[str, float]) -> float:
    """
    >>> round(score_of({"epoch": 1, "val_relative_l2": 0.1}), 3)
    -2.303
    """
    return math.log(row[validated(row)] + LEAST_ERROR)


def size_for(task: Task, op: str, parameters: float) -> dict[str, int]:
    """Width and frequencies of FNO's network with an operator, of about so many parameters.

    Of the usual frequencies, half of them and four: the most at which it is not thin.
    """
    usual = FREQUENCIES[len(task.axes)]
    for frequencies in (usual, usual // 2, 4):
        width = width_for(task, op, parameters, frequencies)
        if width >= USUAL_WIDTH:
            break
    return {"width": width, "frequencies": frequencies}


def width_for(task: Task, op: str, parameters: float, frequencies: int) -> int:
    """The width at which it is nearest to a number of parameters."""

    def count(width: int) -> int:
        with torch.random.fork_rng(devices=[]):
            network = make_backbone(task, op, width=width, frequencies=frequencies)
        return sum(p.numel() for p in network.parameters())

    above = bisect.bisect_left(WIDTHS, parameters, key=count)
    near = WIDTHS[max(above - 1, 0) : above + 1]
    return min(near, key=lambda width: abs(count(width) - parameters))
