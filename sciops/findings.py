"""A report of findings, each ok or not: what `check` says of data and `doctor` of a machine."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Findings:
    """True if nothing is wrong."""

    findings: tuple[Any, ...]  # data classes with a field `ok`

    @property
    def ok(self) -> bool:
        return all(finding.ok for finding in self.findings)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def table(self) -> "pd.DataFrame":
        import pandas as pd

        return pd.DataFrame([vars(finding) for finding in self.findings])
