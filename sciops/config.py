"""How a network is trained: a frozen, typed configuration that is saved beside every result."""

import dataclasses
from dataclasses import dataclass
from typing import Any

SCHEDULES = ("cosine", "step", "constant")
OPTIMISERS = ("adam", "sgd")


@dataclass(frozen=True)
class Optimisation:
    """One optimiser: of the weights, or of the architecture.

    step_epochs: with schedule="step", the rate is halved every so many epochs
    warmup:      epochs at rate 0, at the beginning
    clip:        largest norm of the gradient, None for no limit
    """

    rate: float
    optimiser: str = "adam"
    decay: float = 0.0
    momentum: float = 0.0  # of "sgd"
    schedule: str = "cosine"
    step_epochs: int = 100
    warmup: int = 0
    clip: float | None = None

    def __post_init__(self):
        for name, known in (("schedule", SCHEDULES), ("optimiser", OPTIMISERS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} must be one of {known}")
        for name in ("rate", "decay", "momentum", "warmup"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}={getattr(self, name)!r} must not be negative")


@dataclass(frozen=True)
class Training:
    """A training run.

    loss: "mean" or "sum" of the relative errors of a batch; the sum, as published, makes gradients
          grow with the batch, which SGD notices and Adam does not
    """

    epochs: int
    batch_size: int
    weights: Optimisation
    architecture: Optimisation
    loss: str = "mean"
    seed: int = 0

    def __post_init__(self):
        for name, least in (("epochs", 1), ("batch_size", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number ≥ {least}")
        if self.loss not in ("mean", "sum"):
            raise ValueError(f"loss={self.loss!r} must be 'mean' or 'sum'")

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it.

        >>> rates = Optimisation(1e-3), Optimisation(1e-2)
        >>> training_from(Training(5, 8, *rates).as_dict()) == Training(5, 8, *rates)
        True
        """
        return dataclasses.asdict(self)


def training_from(values: dict[str, Any]) -> Training:
    """The configuration that `as_dict` wrote."""
    rates = {name: Optimisation(**values[name]) for name in ("weights", "architecture")}
    return Training(**{**values, **rates})
