"""Relaxation: a rough chain becomes one with the bonds, angles and distances of a protein.

All that is known of the shape of a protein is said by limits of distances between residues.  A pair
outside its limits is pulled together or pushed apart by a spring:

    E(x) = Σ k (d − clip(d, lower, upper))²  +  3 n (R(x) − R)²

over pairs at the distance d; n residues, R(x) their radius of gyration and R what it should be.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .chain_geometry import BOND, helix, pull_back, side_chains, strand
from .chain_layout import HELIX, STRAND, Element, side_by_side

STIFF_BOND, STIFF, FIRM, SOFT = 100.0, 6.0, 5.0, 3.0
APART = 4.6  # Å, the least between Cα
RADIUS = (1.8, 2.8)  # Å, of side chains, from and to: Cβ keep the sum of two apart
APART_IN_TURNS = 3.9  # Å, the least between Cβ of residues i and i + 3
SECOND = (5.2, 7.1)  # Å between residues i and i + 2 of a loop: bond angles of 86° to 138°
THIRD = (4.8, 10.5)  # Å between residues i and i + 3 of a loop
REACH = 7  # residues of an element, the distances among which are held
IRREGULAR = {HELIX: 0.12, STRAND: 0.3}  # Å, the deviation of these distances
LADDER = {1: (4.85, 4.85), -1: (4.6, 5.3)}  # Å across parallel and antiparallel pairs, in turn
LADDER_IRREGULAR = 0.15  # Å
ROUNDS = (False, False, True, True)  # with side chains or without
STEPS = 50  # of a round
MARGIN = 5.0  # Å; pairs that are farther apart do not come too close within a round


class Limits:
    """The least and the largest distance of all pairs of Cα and the least of Cβ, all (n, n)."""

    def __init__(self, residues: int, rng: np.random.Generator):
        shape = residues, residues
        self.lower = np.full(shape, APART)
        self.upper = np.full(shape, np.inf)
        self.stiffness = np.full(shape, STIFF)
        radius, place = rng.uniform(*RADIUS, residues), np.arange(residues)
        apart = abs(place[:, None] - place)
        self.sides = np.where(apart > 3, radius[:, None] + radius, APART_IN_TURNS)
        self.sides[apart < 3] = 0

    def hold(self, i: np.ndarray, j: np.ndarray, lower, upper, stiffness: float) -> None:
        """Limits for the pairs (i, j), instead of what was there."""
        for pair in ((i, j), (j, i)):
            self.lower[pair], self.upper[pair], self.stiffness[pair] = lower, upper, stiffness


class Springs(NamedTuple):
    """Pairs (i, j) of points, each with its limits and stiffness; all (pairs,)."""

    i: np.ndarray
    j: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    stiffness: np.ndarray


def limits_of(
    elements: Sequence[Element], starts: Sequence[int], residues: int, rng: np.random.Generator
) -> Limits:
    """Limits of a chain with these elements, which begin at these residues."""
    limits, every = Limits(residues, rng), np.arange(residues)
    limits.hold(every[:-1], every[1:], BOND, BOND, STIFF_BOND)
    second = rng.uniform(*SECOND, residues - 2)
    limits.hold(every[:-2], every[2:], second, second, SOFT)
    limits.hold(every[:-3], every[3:], *THIRD, SOFT)
    for element, start in zip(elements, starts, strict=True):
        _hold_element(limits, element, start, rng)
    for i, j in side_by_side(elements):
        _hold_ladder(limits, (elements[i], elements[j]), (starts[i], starts[j]), rng)
    return limits


def _hold_element(limits: Limits, element: Element, start: int, rng: np.random.Generator) -> None:
    ideal = helix(REACH) if element.kind == HELIX else strand(np.arange(REACH))
    for apart in range(2, min(REACH, element.length)):
        i = start + np.arange(element.length - apart)
        distance = np.linalg.norm(ideal[apart] - ideal[0])
        distance = distance + rng.normal(0, IRREGULAR[element.kind], len(i))
        limits.hold(i, i + apart, distance, distance, FIRM)


def _hold_ladder(
    limits: Limits,
    strands: tuple[Element, Element],
    starts: tuple[int, int],
    rng: np.random.Generator,
) -> None:
    """Residues of two neighbouring strands that are on the same rung stay opposite each other."""
    left, right = strands
    rungs, i, j = np.intersect1d(left.rungs(), right.rungs(), return_indices=True)
    even, odd = LADDER[left.direction * right.direction]
    width = np.where(rungs % 2 == 0, even, odd) + rng.normal(0, LADDER_IRREGULAR, len(rungs))
    limits.hold(starts[0] + i, starts[1] + j, width, width, FIRM)


def relax(x: np.ndarray, limits: Limits, radius: float) -> np.ndarray:
    """The chain (n, 3) after a descent to low energy; radius: of gyration, that it should have."""
    from scipy.optimize import minimize

    for with_sides in ROUNDS:
        chain = springs_near(x, limits.lower, limits.upper, limits.stiffness)
        sides = springs_near(side_chains(x), limits.sides) if with_sides else None
        found = minimize(
            energy,
            x.ravel(),
            args=(chain, sides, radius),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": STEPS},
        )
        x = found.x.reshape(-1, 3)
    return x


def springs_near(
    x: np.ndarray, lower: np.ndarray, upper=np.inf, stiffness: np.ndarray | float = STIFF
) -> Springs:
    """The springs of pairs that have an upper limit, or are near their lower one."""
    upper, stiffness = np.broadcast_to(upper, lower.shape), np.broadcast_to(stiffness, lower.shape)
    distance = np.linalg.norm(x[:, None] - x, axis=-1)
    chosen = np.isfinite(upper) | (distance < lower + MARGIN)
    pairs = np.nonzero(np.triu(chosen & (lower > 0), 1))
    return Springs(*pairs, lower[pairs], upper[pairs], stiffness[pairs])


def energy(
    flat: np.ndarray, chain: Springs, sides: Springs | None, radius: float
) -> tuple[float, np.ndarray]:
    """E of positions (3 n,) and its gradient, with springs between Cβ as well if there are any."""
    x = flat.reshape(-1, 3)
    total, gradient = stretched(x, chain)
    if sides is not None:
        more, on_sides = stretched(side_chains(x), sides)
        total, gradient = total + more, gradient + pull_back(x, on_sides)
    from_centre = x - x.mean(0)
    gyration = math.sqrt((from_centre**2).sum() / len(x))
    total += 3 * len(x) * (gyration - radius) ** 2
    gradient += 6 * (gyration - radius) / gyration * from_centre
    return total, gradient.ravel()


def stretched(x: np.ndarray, springs: Springs) -> tuple[float, np.ndarray]:
    """Σ k (d − clip(d, lower, upper))² over the springs, and its gradient (points, 3)."""
    i, j, lower, upper, stiffness = springs
    step = x[i] - x[j]
    distance = np.sqrt(np.einsum("pc,pc->p", step, step)) + 1e-9
    excess = distance - np.clip(distance, lower, upper)
    tension = stiffness * excess
    pull = (2 * tension / distance)[:, None] * step
    onto = [np.bincount(i, p, len(x)) - np.bincount(j, p, len(x)) for p in pull.T]
    return float(tension @ excess), np.stack(onto, axis=1)
