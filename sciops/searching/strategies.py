"""How a space is searched: strategies, generic over spaces.

    joint     weights and architecture follow the same loss on the same data (supernet SGD)
    restarts  the same in cycles: rates and weights begin anew, the architecture stays (SGDR)
    bilevel   the architecture follows the loss of data that the weights do not see (DARTS)
    random    random members of the space, weights trained only; the best of the validation data

All have the same budget, a number of epochs.  A strategy is a frozen dataclass; `search` returns
the network it ends with, whose architecture is what was found.
"""

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from torch import nn

from sciops.suggestions import did_you_mean

from .space import architecture_of, freeze, install

if TYPE_CHECKING:
    from .work import Work


@dataclass(frozen=True)
class AbstractStrategy:
    """A way to search; concrete ones are in the table STRATEGIES."""

    name: ClassVar[str]
    guided: ClassVar[bool] = True  # whether it trains supernets, which a teacher may guide

    def search(self, work: "Work", epochs: int) -> nn.Module:
        """The network found, trained; every training goes through `work`."""
        raise TypeError(f"{type(self).__name__} must define search()")

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"strategy": self.name, **dataclasses.asdict(self)}


@dataclass(frozen=True)
class Joint(AbstractStrategy):
    """Single-level search: one training of weights and architecture."""

    name: ClassVar[str] = "joint"

    def search(self, work: "Work", epochs: int) -> nn.Module:
        return work.train("search", work.supernet(), epochs)


@dataclass(frozen=True)
class Restarts(AbstractStrategy):
    """Joint training in cycles, each with new weights and the architecture of the one before.

    cycles: how many; they share the epochs
    """

    cycles: int = 4

    name: ClassVar[str] = "restarts"

    def __post_init__(self):
        _check_count("cycles", self.cycles)

    def search(self, work: "Work", epochs: int) -> nn.Module:
        model = work.supernet()
        for number, share in enumerate(shares(epochs, self.cycles, "cycles")):
            if number:
                model = install(work.supernet(draw=number), architecture_of(model))
            model = work.train(f"cycle-{number + 1}", model, share)
        return model


@dataclass(frozen=True)
class Bilevel(AbstractStrategy):
    """DARTS: one half of the training data for the weights, the other for the architecture.

    order: of the gradient, 1 or 2
    """

    order: int = 2

    name: ClassVar[str] = "bilevel"

    def __post_init__(self):
        if self.order not in (1, 2):
            raise ValueError(f"order={self.order!r} must be 1 or 2")

    def search(self, work: "Work", epochs: int) -> nn.Module:
        from .loops import BilevelLoop
        from .parts import halves

        seen, judges = halves(work.data.train, work.training.seed)
        loop = partial(BilevelLoop, judges=judges, order=self.order)
        return work.train("search", work.supernet(), epochs, samples=seen, loop=loop)


@dataclass(frozen=True)
class Random(AbstractStrategy):
    """The best of some random members.

    members: how many; they share the epochs
    """

    members: int = 4

    name: ClassVar[str] = "random"
    guided: ClassVar[bool] = False

    def __post_init__(self):
        _check_count("members", self.members)

    def search(self, work: "Work", epochs: int) -> nn.Module:
        found, models = [], []
        for number, share in enumerate(shares(epochs, self.members, "members")):
            model = freeze(work.random_member(draw=number + 1))
            name = f"member-{number + 1}"
            work.train(name, model, share, may_fail=True)
            found.append((work.judge(name, model, role="search", evaluation="member"), number))
            models.append(model)
        return models[min(found)[1]]


STRATEGIES: dict[str, type[AbstractStrategy]] = {
    kind.name: kind for kind in (Joint, Restarts, Bilevel, Random)
}


def make_strategy(strategy: str, **options) -> AbstractStrategy:
    """A strategy by its name; options are those of its class.

    >>> make_strategy("bilevel", order=1)
    Bilevel(order=1)
    """
    if strategy not in STRATEGIES:
        raise ValueError(
            f"strategy={strategy!r} is not known; choose one of {', '.join(STRATEGIES)}"
            f"{did_you_mean(strategy, STRATEGIES)}"
        )
    kind = STRATEGIES[strategy]
    known = [field.name for field in dataclasses.fields(kind)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(
            f"strategy {strategy!r} has no option {unknown[0]!r}; it has "
            f"{', '.join(known) or 'none'}{did_you_mean(unknown[0], known)}"
        )
    return kind(**options)


def shares(epochs: int, parts: int, name: str) -> list[int]:
    """Epochs divided as evenly as possible, the first parts having one more.

    >>> shares(10, 4, "cycles")
    [3, 3, 2, 2]
    """
    if epochs < parts:
        raise ValueError(f"{epochs} epochs are fewer than {name}={parts}; give more epochs")
    return [epochs // parts + (number < epochs % parts) for number in range(parts)]


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number ≥ 1")
