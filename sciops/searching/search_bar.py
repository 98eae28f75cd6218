"""The progress of a search: budget used, current and best score, time left."""

from sciops.training_bar import bar_is_wanted


class SearchBar:
    """One bar for all trainings of a search, counted in epochs; only for a person at a terminal."""

    def __init__(self, epochs: int, *, shown: bool = True):
        self.epochs, self.bar = epochs, None
        if bar_is_wanted(shown):
            self._start()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        self.bar = Progress(*columns, console=Console(stderr=True))
        self.task = self.bar.add_task("search", total=self.epochs)
        self.bar.start()

    def show(self, phase: str, done: int, score: float | None, best: float | None) -> None:
        """done: epochs of all trainings so far."""
        if self.bar is not None:
            text = progress_text(phase, done, self.epochs, score, best)
            self.bar.update(self.task, completed=done, description=text)

    def stop(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def progress_text(
    phase: str, done: int, total: int, score: float | None, best: float | None
) -> str:
    """
    >>> progress_text("search", 7, 40, 0.0213, 0.0198)
    'search: epoch 7 of 40 in all, val 0.0213, best 0.0198'
    >>> progress_text("backbone", 0, 40, None, None)
    'backbone: epoch 0 of 40 in all'
    """
    parts = [f"{phase}: epoch {done} of {total} in all"]
    parts += [f"{name} {v:.4f}" for name, v in (("val", score), ("best", best)) if v is not None]
    return ", ".join(parts)
