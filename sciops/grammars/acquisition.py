"""Which candidate to try next: expected improvement, made large by evolution.

    EI(x) = E max(best − s(x), 0) = σ (z Φ(z) + φ(z)),   z = (best − μ) / σ,   s(x) ~ N(μ, σ²)

Scores are minimised.  Φ and φ: distribution and density of the standard normal.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from .candidates import C, CandidateSpace

Fitness = Callable[[Sequence[C]], np.ndarray]  # of candidates, (candidate,)


def expected_improvement(mean: np.ndarray, deviation: np.ndarray, best: float) -> np.ndarray:
    """EI of normal scores, (candidate,).

    >>> mean, deviation = np.array([0.0, 1.0]), np.array([1.0, 1e-6])
    >>> expected_improvement(mean, deviation, best=0.0).round(4).tolist()
    [0.3989, 0.0]
    """
    z = (best - mean) / deviation
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return np.maximum(deviation * (z * ndtr(z) + density), 0.0)  # rounding can go below


@dataclass(frozen=True)
class Evolution:
    """Evolution of a pool of candidates towards a large fitness.

    pool:         candidates of a generation
    generations:  at least so many
    limit:        at most so many, if the best fitness still grew during the last `patience`
    tournament:   share of the pool from which the best two become parents
    crossover:    share of children by crossover, half of them of a parent with itself;
                  the others are mutated
    """

    pool: int = 200
    generations: int = 10
    limit: int = 50
    patience: int = 5
    tournament: float = 0.2
    crossover: float = 0.5

    def __post_init__(self):
        for name in ("pool", "generations", "limit", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be a whole number ≥ 1")
        for name in ("tournament", "crossover"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)} must be a share from 0 to 1")

    def fittest(
        self,
        space: CandidateSpace[C],
        fitness: Fitness,
        start: Sequence[C],
        excluded: Collection[C],
        rng: Generator,
    ) -> C | None:
        """The fittest candidate ever met that is not excluded; None if all are.

        start: of the first generation, which random candidates fill
        """
        known: dict[C, float] = {}
        pool = list(start)[: self.pool]
        pool += [space.sample(rng) for _ in range(self.pool - len(pool))]
        history = []
        while True:
            values = _known_fitness(pool, fitness, known)
            history.append(max(known.values()))
            if self._ends(history):
                break
            pool = self._children(space, pool, values, rng)
        free = {c: value for c, value in known.items() if c not in excluded}
        return max(free, key=free.get, default=None)

    def _ends(self, history: list[float]) -> bool:
        """Given the best fitness up to each generation, the first one included."""
        done = len(history) - 1
        if done < self.generations:
            return False
        return done >= self.limit or history[-1] <= history[max(done - self.patience, 0)]

    def _children(
        self, space: CandidateSpace[C], pool: list[C], values: np.ndarray, rng: Generator
    ) -> list[C]:
        children = []
        while len(children) < self.pool:
            first, second = self._parents(pool, values, rng)
            if rng.random() >= self.crossover:
                children.append(space.mutate(first, rng))
            else:
                second = first if rng.random() < 0.5 else second
                children.extend(space.crossover(first, second, rng))
        return children[: self.pool]

    def _parents(self, pool: list[C], values: np.ndarray, rng: Generator) -> tuple[C, C]:
        chosen = rng.integers(len(pool), size=max(2, round(self.tournament * len(pool))))
        order = chosen[np.argsort(-values[chosen], kind="stable")]
        return pool[order[0]], pool[order[1]]


def _known_fitness(pool: list[C], fitness: Fitness, known: dict[C, float]) -> np.ndarray:
    """Fitness (candidate,); only candidates not yet `known` are asked for, and become so."""
    new = [c for c in dict.fromkeys(pool) if c not in known]
    if new:
        known.update(zip(new, fitness(new).tolist(), strict=True))
    return np.array([known[c] for c in pool])
