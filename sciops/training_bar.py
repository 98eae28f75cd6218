"""The progress bar of training: epoch, error of the training and validation data, time left."""

import os
import sys

import pytorch_lightning as pl


def bar_is_wanted(progress: bool) -> bool:
    """Only for a person at a terminal."""
    return progress and sys.stderr.isatty() and not os.environ.get("SCIOPS_NO_PROGRESS")


class TrainingBar(pl.Callback):
    """One bar for the whole run, counted in batches."""

    def __init__(self, title: str = "training"):
        self.title = title

    def on_train_start(self, trainer, loop) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        if not trainer.is_global_zero:
            self.bar = None
            return
        columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        self.bar = Progress(*columns, console=Console(stderr=True))
        self.total = trainer.max_epochs * trainer.num_training_batches
        self.task = self.bar.add_task(self.title, total=self.total)
        self.bar.start()

    def on_train_batch_end(self, trainer, loop, outputs, batch, index) -> None:
        if self.bar is not None:
            self.bar.update(self.task, advance=1, description=self.describe(loop, index))

    def describe(self, loop, index: int) -> str:
        """epoch 3/40, train 0.0210 (of this epoch, so far), val 0.0250 (of the last one)."""
        error = float(sum(loop.sums)) / float(sum(loop.counts))
        text = f"{self.title}: epoch {loop.epoch + 1}/{loop.how.epochs}, train {error:.4f}"
        validated = loop.history[-1].get(loop.named("val")) if loop.history else None
        return text if validated is None else f"{text}, val {validated:.4f}"

    def on_train_end(self, trainer, loop) -> None:
        self._stop()

    def on_exception(self, trainer, loop, exception) -> None:
        self._stop()

    def _stop(self) -> None:
        if getattr(self, "bar", None) is not None:
            self.bar.stop()
