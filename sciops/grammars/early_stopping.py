"""Ending trials that do badly, on the scores they report on the way."""

import dataclasses
from dataclasses import dataclass
from typing import Any

RULES = ("halving", "hyperband")


@dataclass(frozen=True)
class EarlyStopping:
    """A multi-fidelity rule: at steps first · factorʳ only the best 1 / factor of trials goes on.

    rule:    "halving" (asynchronous successive halving), or "hyperband", which divides the trials
             among brackets that begin to judge at different steps
    first:   the step at which trials are judged first; steps, such as epochs, are 1, 2, …
    last:    the last step a trial can reach, after which there is nothing to judge; hyperband
             must know it
    factor:  see above
    """

    rule: str = "halving"
    first: int = 1
    last: int | None = None
    factor: int = 3

    def __post_init__(self):
        if self.rule not in RULES:
            raise ValueError(f"rule={self.rule!r} is not known; choose one of {', '.join(RULES)}")
        if self.first < 1 or self.factor < 2:
            raise ValueError(f"first={self.first} must be ≥ 1 and factor={self.factor} ≥ 2")
        if self.last is None and self.rule == "hyperband":
            raise ValueError("hyperband needs `last`, the last step a trial can reach")
        if self.last is not None and self.last < self.first:
            raise ValueError(f"last={self.last} is before first={self.first}")

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return dataclasses.asdict(self)

    def pruner(self):
        """The rule as Optuna has it."""
        from optuna import pruners

        if self.rule == "halving":
            return pruners.SuccessiveHalvingPruner(self.first, self.factor, 0)
        return pruners.HyperbandPruner(self.first, self.last, self.factor)
