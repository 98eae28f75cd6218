"""Strategies over discrete candidates: what to try next, given what was tried.

    random      any candidate
    evolution   regularised evolution: the best of some recent candidates is mutated
    bayes       the largest expected improvement under a Gaussian process of graphs

A proposer is a frozen dataclass without a state: its proposal follows from its options, the trials
so far and the generator alone, so that a study that is resumed goes on as if nothing had happened.
None tries a candidate twice while it finds a new one.  Failed candidates have the score inf.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import Generator

from .acquisition import Evolution, expected_improvement
from .candidates import KERNELS, C, CandidateSpace, Trial

if TYPE_CHECKING:
    from .gaussian_process import GaussianProcess

DRAWS = 100  # to find a new candidate
ELITE = 10  # candidates with the best scores, from which the acquisition's evolution starts


@dataclass(frozen=True)
class AbstractProposer:
    """A strategy; concrete ones are in the table PROPOSERS."""

    name: ClassVar[str]

    def propose(
        self,
        space: CandidateSpace[C],
        trials: Sequence[Trial[C]],
        pending: Sequence[C],
        rng: Generator,
    ) -> C:
        """The next candidate; trials in the order of their numbers, pending ones being tried."""
        raise TypeError(f"{type(self).__name__} must define propose()")

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"proposer": self.name, **dataclasses.asdict(self)}


@dataclass(frozen=True)
class RandomProposer(AbstractProposer):
    """Random candidates."""

    name: ClassVar[str] = "random"

    def propose(self, space, trials, pending, rng):
        return new_candidate(lambda: space.sample(rng), tried(trials, pending))


@dataclass(frozen=True)
class EvolutionProposer(AbstractProposer):
    """Real et al. 2019, arXiv:1802.01548: the oldest dies, whatever its score.

    population: the last so many trials; as many random candidates are first
    tournament: of so many, drawn from the population, the best is mutated
    """

    population: int = 30
    tournament: int = 10

    name: ClassVar[str] = "evolution"

    def __post_init__(self):
        if not 1 <= self.tournament <= self.population:
            raise ValueError(
                f"tournament={self.tournament} must be from 1 to population={self.population}"
            )

    def propose(self, space, trials, pending, rng):
        if len(trials) + len(pending) < self.population or not trials:
            return RandomProposer().propose(space, trials, pending, rng)
        alive = trials[-self.population :]
        chosen = rng.permutation(len(alive))[: self.tournament]
        parent = min((alive[i] for i in chosen), key=lambda trial: trial.score).candidate
        return new_candidate(lambda: space.mutate(parent, rng), tried(trials, pending))


@dataclass(frozen=True)
class BayesProposer(AbstractProposer):
    """Expected improvement; pending candidates count as if the mean had been observed.

    initial: random candidates at first
    kernel: "hierarchical" or "flat"
    evolution: of the candidates with the largest expected improvement
    """

    initial: int = 10
    kernel: str = "hierarchical"
    evolution: Evolution = field(default_factory=Evolution)

    name: ClassVar[str] = "bayes"

    def __post_init__(self):
        if self.initial < 1:
            raise ValueError(f"initial={self.initial} must be a whole number ≥ 1")
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel={self.kernel!r} is not known; choose one of {KERNELS}")

    def propose(self, space, trials, pending, rng):
        random = RandomProposer()
        if len(trials) + len(pending) < self.initial or len(finished(trials)) < 2:
            return random.propose(space, trials, pending, rng)
        surrogate = fit_surrogate(space, trials, self.kernel)
        surrogate = surrogate.hallucinate([space.levels(c) for c in pending])
        ranked = sorted(finished(trials), key=lambda trial: trial.score)

        def fitness(candidates: Sequence[C]) -> np.ndarray:
            mean, deviation = surrogate.predict([space.levels(c) for c in candidates])
            return expected_improvement(mean, deviation, ranked[0].score)

        elite = list(dict.fromkeys(trial.candidate for trial in ranked))[:ELITE]
        found = self.evolution.fittest(space, fitness, elite, tried(trials, pending), rng)
        return random.propose(space, trials, pending, rng) if found is None else found


PROPOSERS: dict[str, type[AbstractProposer]] = {
    kind.name: kind for kind in (RandomProposer, EvolutionProposer, BayesProposer)
}


def make_proposer(proposer: str, **options) -> AbstractProposer:
    """A proposer by its name; options are those of its class.

    >>> make_proposer("evolution", population=20)
    EvolutionProposer(population=20, tournament=10)
    """
    if proposer not in PROPOSERS:
        known = ", ".join(PROPOSERS)
        raise ValueError(f"proposer={proposer!r} is not known; choose one of {known}")
    kind = PROPOSERS[proposer]
    known = [each.name for each in dataclasses.fields(kind)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(
            f"proposer {proposer!r} has no option {unknown[0]!r}; it has "
            f"{', '.join(known) or 'none'}"
        )
    return kind(**options)


def fit_surrogate(
    space: CandidateSpace[C], trials: Sequence[Trial[C]], kernel: str = "hierarchical"
) -> "GaussianProcess":
    """The Gaussian process of trials; failed ones get the worst score of the others."""
    from .gaussian_process import fit_gaussian_process  # torch, which other proposers do without

    worst = max((trial.score for trial in finished(trials)), default=0.0)
    scores = [trial.score if math.isfinite(trial.score) else worst for trial in trials]
    return fit_gaussian_process([space.levels(t.candidate) for t in trials], scores, kernel)


def finished(trials: Sequence[Trial[C]]) -> list[Trial[C]]:
    """Those that did not fail."""
    return [trial for trial in trials if math.isfinite(trial.score)]


def tried(trials: Sequence[Trial[C]], pending: Sequence[C]) -> set[C]:
    return {*(trial.candidate for trial in trials), *pending}


def new_candidate(draw: Callable[[], C], known: set[C]) -> C:
    """What is drawn first that is not known; after many draws, the last one."""
    for _ in range(DRAWS):
        candidate = draw()
        if candidate not in known:
            break
    return candidate
