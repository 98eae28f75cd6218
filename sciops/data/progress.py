"""A progress bar for a person at a terminal; silent in scripts, batch jobs and tests."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar(
    title: str, total: int, *, done: int = 0, shown: bool = True, unit: str = "samples"
) -> Iterator[Callable[[int], None]]:
    """A function that counts samples; the bar has their number, samples a second and the time left.

    unit: what is counted, if not samples

    Nothing is shown if the standard error output is no terminal or SCIOPS_NO_PROGRESS is set.
    """
    if not shown or not sys.stderr.isatty() or os.environ.get("SCIOPS_NO_PROGRESS"):
        yield lambda samples: None
        return
    with _rich_bar(unit) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda samples: bar.advance(task, samples)


def _rich_bar(unit: str):
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task) -> Text:
            return Text(f"{task.speed:.3g} {unit}/s" if task.speed else "")

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate()
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))
