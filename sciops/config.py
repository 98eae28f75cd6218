"""How a network is trained: a frozen, typed configuration that is saved beside every result."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from sciops.suggestions import did_you_mean

SCHEDULES = ("cosine", "step", "constant", "plateau")
OPTIMISERS = ("adam", "adamw", "sgd", "rmsprop")


@dataclass(frozen=True)
class Optimisation:
    """One optimiser: of the weights, or of the architecture.

    step_epochs: with schedule="step", the rate is halved every so many epochs; with "plateau" it is
                 divided by 10 after an epoch whose validation error is above that of the three
                 before it, but not in the first so many, nor in as many after the architecture has
                 begun to learn, which disturbs the error at first
    warmup:      epochs at rate 0, at the beginning
    ramp:        share of all epochs in which the rate rises to its full height
    clip:        largest norm of the gradient, None for no limit
    """

    rate: float
    optimiser: str = "adam"
    decay: float = 0.0
    momentum: float = 0.0  # of "sgd" and "rmsprop"
    schedule: str = "cosine"
    step_epochs: int = 100
    warmup: int = 0
    ramp: float = 0.0
    clip: float | None = None

    def __post_init__(self):
        for name, known in (("schedule", SCHEDULES), ("optimiser", OPTIMISERS)):
            if getattr(self, name) not in known:
                value = getattr(self, name)
                raise ValueError(
                    f"{name}={value!r} must be one of {known}{did_you_mean(value, known)}"
                )
        if not 0 <= self.ramp < 1:
            raise ValueError(f"ramp={self.ramp!r} must be a share of the epochs, from 0 to below 1")
        for name in ("rate", "decay", "momentum", "warmup"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise ValueError(f"{name}={value!r} must be a number, and not negative")
        if self.step_epochs < 1 or (self.clip is not None and not self.clip > 0):
            raise ValueError(
                f"step_epochs={self.step_epochs!r} and clip={self.clip!r} must be above 0"
            )


@dataclass(frozen=True)
class Training:
    """A training run.

    loss: "mean" or "sum" of the relative errors of a batch; the sum, as published, makes gradients
          grow with the batch, which SGD notices and Adam does not
    coarse: of several grids, the share of the epochs that the coarser ones have, one after another,
          before the last; None draws one of the grids at random for each batch
    symmetries: of the equation; each batch is mapped by a random member of these groups (see
          sciops.data.symmetries)
    h1:   what is made small is the relative error + h1 · relative H¹ error, so that slopes count
    """

    epochs: int
    batch_size: int
    weights: Optimisation
    architecture: Optimisation
    loss: str = "mean"
    seed: int = 0
    coarse: float | None = None
    symmetries: tuple[str, ...] = ()
    h1: float = 0.0

    def __post_init__(self):
        for name, least in (("epochs", 1), ("batch_size", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number ≥ {least}")
        if self.loss not in ("mean", "sum"):
            raise ValueError(f"loss={self.loss!r} must be 'mean' or 'sum'")
        if self.coarse is not None and not 0 <= self.coarse < 1:
            raise ValueError(
                f"coarse={self.coarse!r} must be a share of the epochs, from 0 to below 1"
            )
        if not isinstance(self.h1, int | float) or not 0 <= self.h1 < math.inf:
            raise ValueError(f"h1={self.h1!r} must be a number, and not negative")

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it; without h1 where it is not used, as before there was one.

        >>> rates = Optimisation(1e-3), Optimisation(1e-2)
        >>> training_from(Training(5, 8, *rates).as_dict()) == Training(5, 8, *rates)
        True
        """
        values = {**dataclasses.asdict(self), "symmetries": list(self.symmetries)}
        return {key: value for key, value in values.items() if key != "h1" or value}


OPTIMISATION = ("rate", "decay", "warmup", "clip")  # what a user may change of an optimiser
CHANGES = (*OPTIMISATION, *(f"arch_{name}" for name in OPTIMISATION))


def changed(training: Training, **values) -> Training:
    """The same with other values, where they are not None.

    rate, decay, warmup and clip are of the weights; with arch_ before them, of the architecture.

    >>> usual = Training(5, 8, Optimisation(1e-3), Optimisation(1e-2))
    >>> new = changed(usual, epochs=7, batch_size=None, clip=1.0, arch_rate=0.0)
    >>> new.weights.clip, new.architecture.rate
    (1.0, 0.0)
    """
    given = {name: value for name, value in values.items() if value is not None}
    for group, prefix in (("weights", ""), ("architecture", "arch_")):
        new = {o: given.pop(prefix + o) for o in OPTIMISATION if prefix + o in given}
        given[group] = dataclasses.replace(getattr(training, group), **new)
    return dataclasses.replace(training, **given)


def training_from(values: dict[str, Any]) -> Training:
    """The configuration that `as_dict` wrote."""
    try:
        rates = {name: Optimisation(**values[name]) for name in ("weights", "architecture")}
        return Training(**{**values, **rates, "symmetries": tuple(values["symmetries"])})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"this is no configuration of a training ({error}); give what as_dict() wrote"
        ) from error
