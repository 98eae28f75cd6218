"""Tables in benchmarks/results/: one row a finished run, kept as CSV, shown as Markdown.

A row that is there is not measured again, so a benchmark that was interrupted goes on, even on
another day; each row says on which machine and with which versions it was made.
"""

import os
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from sciops.atomic import write_text, writing
from sciops.version import __version__

FOLDER = Path(__file__).parent / "results"


def machine() -> str:
    """Processor, threads and versions."""
    return (
        f"{_processor()}, {torch.get_num_threads()} threads of {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, torch {torch.__version__}, {_neuraloperator()}"
        f"sciops {__version__}"
    )


def _neuraloperator() -> str:
    """Its version, where it is installed; it is not imported for that."""
    try:
        return f"neuraloperator {version('neuraloperator')}, "
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


class Rows:
    """The rows of one table, found by their key columns; several processes may add to it."""

    def __init__(self, name: str, key: tuple[str, ...], folder: Path = FOLDER):
        self.file, self.key = folder / f"{name}.csv", list(key)

    @property
    def table(self) -> pd.DataFrame:
        if not self.file.exists():
            return pd.DataFrame(columns=self.key)
        return pd.read_csv(self.file, dtype=dict.fromkeys(self.key, str))

    def get(self, key: Mapping[str, Any], measure: Callable[[], Mapping[str, Any]]) -> pd.Series:
        """The row of a key, measured and written now if it is not there."""
        wanted = pd.Series({name: str(key[name]) for name in self.key})
        found = self._found(wanted)
        if found is None:
            row = {**wanted, **measure(), "machine": machine()}
            with writing(self.file.parent):
                new = pd.concat([self.table, pd.DataFrame([row])], ignore_index=True)
                write_text(self.file, new.to_csv(index=False))
            found = self._found(wanted)
        return found

    def _found(self, wanted: pd.Series) -> pd.Series | None:
        table = self.table
        rows = table[(table[self.key] == wanted).all(axis=1)]
        return None if rows.empty else rows.iloc[0]


def markdown(table: pd.DataFrame) -> str:
    """A table for people.

    >>> print(markdown(pd.DataFrame({"op": ["xd"], "error": ["0.01"]})))
    | op | error |
    |---|---|
    | xd | 0.01 |
    """
    lines = [list(table.columns), ["---"] * len(table.columns), *table.astype(str).values.tolist()]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([text[0], text[1].replace(" ", ""), *text[2:]])


def digits(value: float) -> str:
    """Three that count.

    >>> digits(0.00340), digits(4.6963)
    ('0.00340', '4.70')
    """
    return f"{value:#.3g}"


def mean_and_spread(values: pd.Series) -> str:
    """mean ± standard deviation (number of seeds).

    >>> mean_and_spread(pd.Series([0.010, 0.012]))
    '0.0110 ± 0.0014 (2)'
    """
    spread = f" ± {values.std():#.2g}" if len(values) > 1 else ""
    return f"{digits(values.mean())}{spread} ({len(values)})"
