"""What a relaxation did: one row a layer, kept with the model it made."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    import pandas as pd

ATTRIBUTE = "sciops_relaxation"  # of the model; copies of the model keep it


@dataclass(frozen=True)
class Row:
    """What became of one layer."""

    name: str
    kind: str
    size: tuple[int, ...] | None  # of the grid it was called on; None if it was not
    changed: bool
    reason: str  # why it was left as it is, or empty
    moved: float  # relative L2 distance of its output on the sample

    def __str__(self) -> str:
        size = "×".join(map(str, self.size or ()))
        result = f"changed, moved {self.moved:.1e}" if self.changed else f"left: {self.reason}"
        return f"{self.name or '(model)':<24} {self.kind:<18} {size:<11} {result}"


@dataclass(frozen=True)
class Relaxation:
    """What `relax` did to a model; `str` makes a table of it."""

    op: str
    rows: tuple[Row, ...]
    moved: float  # relative L2 distance of the model's output on the sample

    def __str__(self) -> str:
        changed = sum(row.changed for row in self.rows)
        total = f"{changed} of {len(self.rows)} layers are now {self.op}"
        return "\n".join([*map(str, self.rows), f"{total}; the output moved {self.moved:.1e}"])


def relaxation_of(model: nn.Module) -> Relaxation:
    """What `relax` did to this model (or to the one it is a copy of)."""
    report = vars(model).get(ATTRIBUTE)
    if report is None:
        raise ValueError(
            f"this {type(model).__name__} has no relaxation report; "
            "sciops.relax(model, sample_input) returns a model that has one"
        )
    return report


def relaxation_report(model: nn.Module) -> "pd.DataFrame":
    """A table of the layers `relax` met: name, kind, size, changed, reason, moved.

    `.attrs` holds the operation ("op") and how far the model's output moved ("moved").
    """
    import pandas as pd

    report = relaxation_of(model)
    table = pd.DataFrame([asdict(row) for row in report.rows])
    table.attrs = {"op": report.op, "moved": report.moved}
    return table
