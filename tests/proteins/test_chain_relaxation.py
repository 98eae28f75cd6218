"""Springs against double loops and finite differences, and what relaxed chains look like."""

import math

import numpy as np
import pytest

from sciops.proteins.chain_geometry import assemble, connect, helix, side_chains, strand
from sciops.proteins.chain_layout import HELIX, STRAND, Element
from sciops.proteins.chain_relaxation import (
    APART,
    Limits,
    Springs,
    energy,
    limits_of,
    relax,
    springs_near,
    stretched,
)


def points(n=14, seed=0, scale=4.0):
    return scale * np.random.default_rng(seed).standard_normal((n, 3))


def some_springs(n=14, seed=1):
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    lower = rng.uniform(3, 8, len(i))
    return Springs(i, j, lower, lower + rng.uniform(0, 3, len(i)), rng.uniform(1, 5, len(i)))


def slow_energy(x, springs):
    total = 0.0
    for i, j, lower, upper, stiffness in zip(*springs, strict=True):
        distance = math.dist(x[i], x[j])
        if distance < lower:
            total += stiffness * (lower - distance) ** 2
        if distance > upper:
            total += stiffness * (distance - upper) ** 2
    return total


def slow_gradient(function, x):
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        found[place] = (function(x + step) - function(x - step)) / 2e-6
    return found


def test_springs_pull_and_push_as_a_double_loop_says():
    x, springs = points(), some_springs()
    total, gradient = stretched(x, springs)
    assert total == pytest.approx(slow_energy(x, springs))
    slow = slow_gradient(lambda y: slow_energy(y, springs), x)
    np.testing.assert_allclose(gradient, slow, rtol=1e-6, atol=1e-6)


def test_within_the_limits_there_is_no_force():
    springs = Springs(np.array([0]), np.array([1]), np.array([3.0]), np.array([5.0]), np.ones(1))
    for distance, expected in ((2.0, 1.0), (3.0, 0), (4.0, 0), (5.0, 0), (7.0, 4.0)):
        x = np.array([[0.0, 0, 0], [distance, 0, 0]])
        assert stretched(x, springs)[0] == pytest.approx(expected, abs=1e-7)


def test_points_that_coincide_are_no_disaster():
    springs = Springs(np.array([0]), np.array([1]), np.array([3.0]), np.array([5.0]), np.ones(1))
    total, gradient = stretched(np.zeros((2, 3)), springs)
    assert total == pytest.approx(9)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("with_sides", [False, True])
@pytest.mark.parametrize("radius", [3.0, 12.0])
def test_the_gradient_of_the_energy_is_its_slope(with_sides, radius):
    x, chain = points(), some_springs()
    sides = some_springs(seed=5) if with_sides else None
    slope = slow_gradient(lambda y: energy(y.ravel(), chain, sides, radius)[0], x)
    np.testing.assert_allclose(energy(x.ravel(), chain, sides, radius)[1].reshape(-1, 3), slope,
                               rtol=1e-5, atol=1e-4)  # fmt: skip


def test_the_energy_has_three_parts():
    x, chain, sides = points(), some_springs(), some_springs(seed=5)
    gyration = math.sqrt(np.mean([np.sum((p - x.mean(0)) ** 2) for p in x]))
    compact = 3 * 14 * (gyration - 5.0) ** 2
    total = slow_energy(x, chain) + slow_energy(side_chains(x), sides) + compact
    assert energy(x.ravel(), chain, sides, 5.0)[0] == pytest.approx(total)
    assert energy(x.ravel(), chain, None, 5.0)[0] == pytest.approx(slow_energy(x, chain) + compact)


def test_springs_are_those_with_upper_limits_and_those_close_to_their_lower_ones():
    x = np.array([[0.0, 0, 0], [4, 0, 0], [30, 0, 0], [9.5, 0, 0]])
    lower, upper = np.full((4, 4), 4.6), np.full((4, 4), np.inf)
    lower[0, 1] = lower[1, 0] = 0  # never too close
    upper[0, 2] = upper[2, 0] = 5.0
    stiffness = np.arange(16.0).reshape(4, 4)
    springs = springs_near(x, lower, upper, stiffness)
    assert list(zip(*springs, strict=True)) == [
        (0, 2, 4.6, 5.0, 2.0),
        (0, 3, 4.6, np.inf, 3.0),
        (1, 3, 4.6, np.inf, 7.0),
    ]


def test_limits_replace_each_other_on_both_sides_of_the_diagonal():
    limits = Limits(6, np.random.default_rng(0))
    limits.hold(np.array([0, 1]), np.array([3, 4]), 1.0, np.array([2.0, 3.0]), 9.0)
    limits.hold(np.array([0]), np.array([3]), 1.5, 2.5, 8.0)
    for i, j in ((0, 3), (3, 0)):
        assert (limits.lower[i, j], limits.upper[i, j], limits.stiffness[i, j]) == (1.5, 2.5, 8.0)
    assert limits.upper[4, 1] == limits.upper[1, 4] == 3.0
    assert limits.lower[0, 5] == APART
    assert limits.upper[0, 5] == np.inf


def test_side_chains_have_sizes_and_neighbours_may_touch():
    sides = Limits(40, np.random.default_rng(0)).sides
    apart = abs(np.subtract.outer(np.arange(40), np.arange(40)))
    assert (sides[apart < 3] == 0).all()
    assert (sides[apart == 3] == 3.9).all()
    far = sides[apart > 3]
    assert 3.6 <= far.min() < 4.0 < 5.2 < far.max() <= 5.6
    np.testing.assert_array_equal(sides, sides.T)
    assert sides[0, 10] + sides[20, 30] == pytest.approx(sides[0, 30] + sides[20, 10])  # rᵢ + rⱼ


def test_limits_of_a_chain():
    elements = [Element(HELIX, 9, 1, 0, 0.0, 10.0), Element(STRAND, 5, -1, 0, 0.0, 0.0)]
    limits = limits_of(elements, [2, 14], 21, np.random.default_rng(0))
    bonds = np.arange(20), np.arange(1, 21)
    assert (limits.lower[bonds] == 3.8).all()
    assert (limits.upper[bonds] == 3.8).all()
    for start, ideal, tolerance in ((2, helix(9), 0.5), (14, strand(np.arange(5)), 1.2)):
        for i in range(len(ideal)):
            for j in range(i + 2, len(ideal)):
                pair = start + i, start + j
                if j - i < 7:
                    distance = np.linalg.norm(ideal[i] - ideal[j])
                    assert limits.lower[pair] == limits.upper[pair]
                    assert limits.lower[pair] == pytest.approx(distance, abs=tolerance)
                else:
                    assert limits.upper[pair] == np.inf
    for i in (0, 11):  # outside of the elements
        assert 5.2 <= limits.lower[i, i + 2] == limits.upper[i, i + 2] <= 7.1
        assert (limits.lower[i, i + 3], limits.upper[i, i + 3]) == (4.8, 10.5)


@pytest.mark.parametrize(("direction", "even", "odd"), [(1, 4.85, 4.85), (-1, 4.6, 5.3)])
def test_strands_side_by_side_are_held_rung_by_rung(direction, even, odd):
    """Five rungs, −2 … 2, of a strand from residue 3 on, and four, −1 … 2, from residue 12 on."""
    strands = [Element(STRAND, 5, 1, 0, 0.0, 5.0), Element(STRAND, 4, direction, 1, 4.8, 5.0)]
    widths = []
    for seed in range(40):
        limits = limits_of(strands, [3, 12], 20, np.random.default_rng(seed))
        right = [12, 13, 14, 15][::direction]  # on rungs −1, 0, 1, 2
        held = limits.upper[[4, 5, 6, 7], right]
        widths.append(held)
        others = limits.upper[3:8, 12:16].copy()
        others[[1, 2, 3, 4], np.array(right) - 12] = np.inf
        assert (others == np.inf).all()
    np.testing.assert_allclose(np.mean(widths, axis=0), [odd, even, odd, even], atol=0.1)
    np.testing.assert_allclose(np.std(widths, axis=0), 0.15, atol=0.06)


def folded(elements, loops, seed=0):
    rng = np.random.default_rng(seed)
    pieces = assemble(elements, rng)
    starts = np.cumsum(loops[:-1]) + np.r_[0, np.cumsum([e.length for e in elements])[:-1]]
    residues = sum(loops) + sum(e.length for e in elements)
    limits = limits_of(elements, starts, residues, rng)
    x = relax(connect(pieces, loops, rng), limits, 2.2 * residues**0.38)
    return x, starts


def rows_of(x, y):
    return np.linalg.norm(x[:, None] - y, axis=-1)


@pytest.mark.parametrize("seed", range(3))
def test_a_hairpin_is_an_antiparallel_ladder(seed):
    strands = [Element(STRAND, 7, 1, 0, 0.0, 0.0), Element(STRAND, 7, -1, 0, 4.8, 0.0)]
    x, (one, other) = folded(strands, [3, 4, 3], seed)
    across = rows_of(x[one : one + 7], x[other : other + 7])[:, ::-1]
    facing = np.diagonal(across)
    assert (abs(facing - 4.95) < 1.0).sum() >= 6  # a bulge may be; digits vary with the processor
    assert facing[1::2].mean() < facing[0::2].mean() - 0.2  # rungs −2, 0, 2 are closer


@pytest.mark.parametrize("seed", range(3))
def test_strand_helix_strand_is_a_parallel_ladder_under_a_helix(seed):
    elements = [
        Element(STRAND, 6, 1, 0, 0.0, 0.0),
        Element(HELIX, 12, -1, 0, 2.4, 10.0),
        Element(STRAND, 6, 1, 0, 4.8, 0.0),
    ]
    x, (one, turn, other) = folded(elements, [3, 5, 5, 3], seed)
    assert np.diagonal(rows_of(x[one : one + 6], x[other : other + 6])) == pytest.approx(
        [4.85] * 6, abs=0.6
    )
    sheet = np.concatenate([x[one : one + 6], x[other : other + 6]]).mean(0)
    assert 7.5 < np.linalg.norm(x[turn : turn + 12].mean(0) - sheet) < 12.5
    apart = rows_of(side_chains(x), side_chains(x))[np.triu_indices(len(x), 3)]
    assert apart.min() > 3.3


def test_relaxing_lowers_the_energy_and_brings_the_size():
    rng = np.random.default_rng(0)
    elements = [Element(HELIX, 12, (-1) ** i, 0, 9.6 * i, 0.0) for i in range(3)]
    start = connect(assemble(elements, rng), [3, 5, 5, 3], rng)
    limits = limits_of(elements, [3, 20, 37], len(start), rng)
    x = relax(start, limits, 11.0)
    springs = springs_near(x, limits.lower, limits.upper, limits.stiffness)
    assert stretched(x, springs)[0] < 0.1 * stretched(start, springs)[0]
    assert math.sqrt(x.var(0).sum()) == pytest.approx(11.0, abs=0.6)
    wide = relax(start, limits, 15.0)
    assert math.sqrt(wide.var(0).sum()) > 12.5
