"""Covariation against sums written out letter by letter, planted couplings and real contacts."""

import itertools
import math
import time
from pathlib import Path

import numpy as np
import pytest

from sciops.proteins import covariation
from sciops.proteins.alignments import read_alignment
from sciops.proteins.columns import match, read_indices
from sciops.proteins.covariation import (
    average_product_corrected,
    direct_couplings,
    features,
    mutual_information,
    standardised,
)
from sciops.proteins.places import in_step
from sciops.proteins.profiles import entropy, profile, sequence_weights
from sciops.proteins.structures import distance_map, read_structure

KORTEMME = Path(__file__).resolve().parents[3] / "shared" / "data" / "protein" / "kortemme"
STATES = range(21)
SCORES = [mutual_information, direct_couplings]


def alignment(n: int, length: int, seed: int = 0, codes: int = 22) -> tuple[np.ndarray, np.ndarray]:
    """Rows with some order from left to right, and uneven weights."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, codes, (n, length))
    kept = rng.random((n, length)) < 0.5
    for column in range(1, length):
        rows[:, column] = np.where(kept[:, column], rows[:, column - 1], rows[:, column])
    return rows.astype(np.uint8), rng.random(n) + 0.2


def corrected(scores: dict, length: int) -> np.ndarray:
    """The average product correction of scores of pairs i < j, by loops."""

    def of(i, j):
        return scores[min(i, j), max(i, j)]

    means = [sum(of(i, j) for j in range(length) if j != i) / (length - 1) for i in range(length)]
    found = np.zeros((length, length))
    for i, j in itertools.permutations(range(length), 2):
        found[i, j] = of(i, j) - means[i] * means[j] / (sum(means) / length)
    return found


def states_of(rows: np.ndarray) -> list[list[int]]:
    return [[20 if code in (20, 21) else code for code in row] for row in rows.tolist()]


# --- mutual information ---------------------------------------------------------------------------


def written_out_information(x: list[int], y: list[int], weights: np.ndarray) -> float:
    """With 20 pretended rows, of which every pair of states has 20 / 441."""
    total = sum(weights) + 20
    joint = {
        (a, b): (sum(w for p, q, w in zip(x, y, weights, strict=True) if (p, q) == (a, b))) / total
        + 20 / 441 / total
        for a in STATES
        for b in STATES
    }
    left = {a: sum(joint[a, b] for b in STATES) for a in STATES}
    right = {b: sum(joint[a, b] for a in STATES) for b in STATES}
    return sum(f * math.log(f / left[a] / right[b]) for (a, b), f in joint.items())


def test_information_is_the_sum_over_pairs_of_states():
    rows, weights = alignment(12, 4)
    columns = list(zip(*states_of(rows), strict=True))
    pairs = itertools.combinations(range(4), 2)
    scores = {(i, j): written_out_information(columns[i], columns[j], weights) for i, j in pairs}
    found = mutual_information(rows, weights)
    np.testing.assert_allclose(found, corrected(scores, 4), rtol=1e-5, atol=1e-8)


# --- direct couplings -----------------------------------------------------------------------------


def written_out_covariance(rows: np.ndarray, weights: np.ndarray, part: float) -> np.ndarray:
    """Of the states 0 … 19 of all columns, element by element."""
    states, total = states_of(rows), sum(weights)

    def single(i, a):
        seen = sum(w for row, w in zip(states, weights, strict=True) if row[i] == a)
        return (1 - part) * seen / total + part / 21

    def joint(i, a, j, b):
        if i == j:
            return single(i, a) if a == b else 0.0
        together = [(row[i], row[j]) == (a, b) for row in states]
        seen = sum(w for both, w in zip(together, weights, strict=True) if both)
        return (1 - part) * seen / total + part / 441

    places = [(i, a) for i in range(rows.shape[1]) for a in range(20)]
    return np.array([[joint(*p, *q) - single(*p) * single(*q) for q in places] for p in places])


def written_out_size(e: np.ndarray) -> float:
    """Of couplings (20, 20) without those of the gap, which are 0, in the zero-sum gauge."""
    full = [[float(e[a, b]) if a < 20 and b < 20 else 0.0 for b in STATES] for a in STATES]
    rows = [sum(full[a][b] for b in STATES) / 21 for a in STATES]
    columns = [sum(full[a][b] for a in STATES) / 21 for b in STATES]
    mean = sum(rows) / 21
    shifted = [full[a][b] - rows[a] - columns[b] + mean for a in STATES for b in STATES]
    return math.sqrt(sum(x * x for x in shifted))


@pytest.mark.parametrize("pseudocount", [0.5, 0.2])
def test_couplings_are_the_inverse_of_the_covariance(pseudocount):
    rows, weights = alignment(10, 4)
    e = -np.linalg.inv(written_out_covariance(rows, weights, pseudocount)).reshape(4, 20, 4, 20)
    scores = {(i, j): written_out_size(e[i, :, j]) for i, j in itertools.combinations(range(4), 2)}
    found = direct_couplings(rows, weights, pseudocount)
    assert abs(found).max() > 0.1
    np.testing.assert_allclose(found, corrected(scores, 4), atol=1e-4)


def test_half_of_the_frequencies_is_uniform_unless_asked_otherwise():
    rows, weights = alignment(10, 4)
    default = direct_couplings(rows, weights)
    assert np.array_equal(default, direct_couplings(rows, weights, pseudocount=0.5))


def test_single_precision_is_enough(monkeypatch):
    """As many rows, columns and equal columns as real families have."""
    rows, weights = alignment(600, 60)
    rows[:, 20] = rows[:, 40]
    found = direct_couplings(rows, weights)
    monkeypatch.setattr(
        covariation, "inverted", lambda c: np.linalg.inv(np.tril(c) + np.tril(c, -1).T.astype("f8"))
    )
    exact = direct_couplings(rows, weights)
    assert abs(found - exact).max() < 1e-3 * exact.std()


def test_no_state_is_special():
    """Which state is the reference does not matter, so a gap may change places with a letter."""
    rows, weights = alignment(40, 6, codes=20)
    rows[rows == 19] = 21
    other = np.random.default_rng(1).permutation([*range(19), 21]).astype(np.uint8)
    names = dict(zip([*range(19), 21], other.tolist(), strict=True))
    renamed = np.vectorize(names.get)(rows).astype(np.uint8)
    for score in SCORES:
        np.testing.assert_allclose(score(renamed, weights), score(rows, weights), atol=1e-4)


# --- both -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", SCORES)
def test_order_of_rows_and_columns_does_not_matter(score):
    rows, weights = alignment(50, 7)
    order, places = (
        np.random.default_rng(1).permutation(50),
        np.random.default_rng(2).permutation(7),
    )
    expected = score(rows, weights)
    assert expected.dtype == np.float32 and np.array_equal(expected, expected.T)
    assert (np.diag(expected) == 0).all()
    found = score(rows[order][:, places], weights[order])
    np.testing.assert_allclose(found, expected[places][:, places], atol=1e-4)


@pytest.mark.parametrize("score", SCORES)
def test_weights_are_numbers_of_rows(score):
    rows, _ = alignment(20, 5)
    times = np.arange(20) % 3 + 1
    repeated = np.repeat(rows, times, axis=0)
    found = score(repeated, np.ones(len(repeated)))
    np.testing.assert_allclose(found, score(rows, times.astype(float)), atol=1e-4)


@pytest.mark.parametrize("score", SCORES)
def test_unknown_residues_are_gaps(score):
    rows, weights = alignment(30, 5)
    assert np.array_equal(score(rows, weights), score(np.where(rows == 20, 21, rows), weights))
    assert not np.array_equal(score(rows, weights), score(np.where(rows == 20, 3, rows), weights))


CHAINS = [(0, 9, 18), (4, 13, 22)]


def chained(n: int, length: int = 24) -> np.ndarray:
    """Random letters, but in a chain A – B – C, B follows A and C follows B in 80 % of the rows."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 20, (n, length))
    for chain in CHAINS:
        for one, next_one in itertools.pairwise(chain):
            follows = rng.random(n) < 0.8
            partner = rng.permutation(20)[rows[:, one]]
            rows[:, next_one] = np.where(follows, partner, rows[:, next_one])
    return rows.astype(np.uint8)


def strengths(scores: np.ndarray) -> tuple[float, float, float, float]:
    """The weakest direct pair, the weakest and strongest indirect ones, the strongest other."""
    direct = [scores[pair] for chain in CHAINS for pair in itertools.pairwise(chain)]
    indirect = [scores[a, c] for a, _, c in CHAINS]
    within = {pair for chain in CHAINS for pair in itertools.combinations(chain, 2)}
    others = [scores[p] for p in itertools.combinations(range(len(scores)), 2) if p not in within]
    return min(direct), min(indirect), max(indirect), max(others)


def test_couplings_tell_direct_from_indirect():
    """The less they are drawn to uniform frequencies, the better."""
    rows = chained(3000)
    weights = np.ones(3000)
    direct, least, most, other = strengths(mutual_information(rows, weights))
    assert direct > least > 20 * other and most > 0.6 * direct
    direct, _, most, other = strengths(direct_couplings(rows, weights))
    assert direct > 20 * other and most < 0.55 * direct
    direct, _, most, other = strengths(direct_couplings(rows, weights, pseudocount=0.1))
    assert direct > 20 * other and most < 0.1 * direct


# --- corrections and scales -----------------------------------------------------------------------


def test_product_of_factors_is_background():
    """sᵢⱼ = uᵢ uⱼ is nearly what the correction takes out; one pair more stays."""
    u = np.random.default_rng(0).random(200) + 0.5
    scores = np.outer(u, u)
    scores[3, 50] = scores[50, 3] = scores[3, 50] + 5
    found = average_product_corrected(scores)
    assert found[3, 50] == found.max() == pytest.approx(5, abs=0.1)
    found[3, 50] = found[50, 3] = 0
    assert abs(found).max() < 0.1 * scores.max()


def test_correction_does_not_look_at_the_diagonal():
    scores = np.random.default_rng(0).random((6, 6))
    scores += scores.T
    pairs = {pair: scores[pair] for pair in itertools.combinations(range(6), 2)}
    expected = corrected(pairs, 6)
    np.testing.assert_allclose(average_product_corrected(scores), expected, rtol=1e-12)
    np.testing.assert_allclose(average_product_corrected(scores + 9 * np.eye(6)), expected)


def test_standardised_over_far_pairs():
    scores = np.random.default_rng(0).normal(3, 0.01, (30, 30)).astype(np.float32)
    i = np.arange(30)
    near = abs(i[:, None] - i) < 4
    scores[near] = 100
    found = standardised(scores, 1e-6)
    assert found.dtype == np.float32 and (np.diag(found) == 0).all()
    assert found[~near].mean() == pytest.approx(0, abs=1e-4)
    assert found[~near].std() == pytest.approx(1, abs=1e-4)
    assert found[0, 3] > 1000
    damped = standardised(scores, 1.0)
    np.testing.assert_allclose(damped[~near], found[~near] * scores[~near].std(), atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_short_chains_have_no_far_pairs(length):
    assert (standardised(np.ones((length, length)), 1e-6) == 0).all()
    assert np.isfinite(standardised(np.ones((5, 5)), 1e-6)).all()


def test_features_have_names_and_comparable_sizes():
    rows, _ = alignment(200, 30)
    weights = sequence_weights(rows)
    profiles, maps = features(rows)
    assert {name: values.shape for name, values in profiles.items()} == {
        "profile": (30, 22),
        "entropy": (30, 1),
    }
    assert np.array_equal(profiles["profile"], profile(rows, weights))
    assert np.array_equal(profiles["entropy"], entropy(rows, weights))
    assert list(maps) == ["mutual_information", "couplings"]
    for found, score in zip(maps.values(), SCORES, strict=True):
        raw = score(rows, weights)
        assert found.dtype == np.float32
        i, j = np.triu_indices(30, 1)
        assert np.corrcoef(found[i, j], raw[i, j])[0, 1] == pytest.approx(1)
        i, j = np.triu_indices(30, 4)
        assert found[i, j].std() == pytest.approx(1, abs=1e-3)


def test_features_count_similar_rows_once():
    rows, _ = alignment(60, 12)
    repeated = np.concatenate([rows, np.repeat(rows[:1], 50, axis=0)])
    for one, other in zip(features(rows), features(repeated), strict=True):
        for name in one:
            np.testing.assert_allclose(one[name], other[name], atol=1e-3, err_msg=name)


# --- edges ----------------------------------------------------------------------------------------

EDGES = {
    "one row": np.arange(12, dtype=np.uint8)[None],
    "one column": np.arange(22, dtype=np.uint8)[:, None],
    "one residue": np.zeros((1, 1), np.uint8),
    "two columns": alignment(9, 2)[0],
    "equal rows": np.tile(np.arange(12, dtype=np.uint8), (9, 1)),
    "only gaps": np.full((5, 8), 21, np.uint8),
    "only unknown": np.full((5, 8), 20, np.uint8),
    "constant and empty columns": np.where(
        np.arange(12) % 3 == 0, 21, np.where(np.arange(12) % 3 == 1, 7, alignment(30, 12)[0])
    ).astype(np.uint8),
    "every pair once": np.array(list(itertools.product(STATES, STATES)), np.uint8)[:, [0, 1, 0, 1]],
}


@pytest.mark.parametrize("rows", EDGES.values(), ids=EDGES)
def test_all_is_finite_at_the_edges(rows):
    profiles, maps = features(rows)
    for values in [*profiles.values(), *maps.values()]:
        assert values.dtype == np.float32 and len(values) == rows.shape[1]
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", ["one row", "equal rows", "only gaps"])
def test_no_information_is_no_signal(name):
    """Rounding errors are not scaled up to unit deviation."""
    _, maps = features(EDGES[name])
    assert all(abs(values).max() < 0.05 for values in maps.values())


def test_uniform_frequencies_have_no_couplings():
    rows, weights = alignment(20, 5)
    assert abs(direct_couplings(rows, weights, pseudocount=1)).max() < 1e-12


@pytest.mark.parametrize("pseudocount", [0, -1, 1.5])
def test_pseudocount_is_a_fraction(pseudocount):
    with pytest.raises(ValueError, match="pseudocount must be in"):
        direct_couplings(*alignment(5, 3), pseudocount)


def test_too_small_a_pseudocount_says_so():
    with pytest.raises(ValueError, match="larger pseudocount"):
        direct_couplings(*alignment(3, 30), 1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_bad_alignments_are_named(score):
    with pytest.raises(ValueError, match="rows must be a uint8 array"):
        score(np.zeros((3, 4)), np.ones(3))
    with pytest.raises(ValueError, match="positive number for each of the 3 rows"):
        score(np.zeros((3, 4), np.uint8), np.ones(4))


@pytest.mark.parametrize("score", [direct_couplings, features])
def test_couplings_larger_than_the_memory_are_refused(monkeypatch, score):
    rows = np.zeros((2, 100), np.uint8)
    arguments = (rows,) if score is features else (rows, np.ones(2))
    monkeypatch.setenv("SCIOPS_MEMORY", "0.015")
    with pytest.raises(ValueError, match=r"alignment of 100 columns needs about 0\.016 GB .* cut"):
        score(*arguments)
    monkeypatch.setenv("SCIOPS_MEMORY", "0.017")
    score(*arguments)


def test_couplings_of_a_titin_are_refused_at_once():
    """Before anything is computed: 35 000 columns need 2 TB."""
    start = time.process_time()
    with pytest.raises(ValueError, match=r"35000 columns needs about 1\.96e\+03 GB"):
        features(np.zeros((2, 35_000), np.uint8))
    assert time.process_time() - start < 1


# --- real families --------------------------------------------------------------------------------


def precision(scores: np.ndarray, distance: np.ndarray) -> float:
    """Of the L / 5 highest scores of pairs with |i − j| ≥ 24, the part that is in contact."""
    i, j = np.triu_indices(len(scores), 24)
    best = np.argsort(-scores[i, j])[: round(len(scores) / 5)]
    return (distance[i, j][best] < 8).mean()


@pytest.mark.skipif(not KORTEMME.exists(), reason="the real alignments are not on this machine")
def test_couplings_of_real_families_are_contacts():
    found = []
    for family in ("PF00254", "PF00013", "PF00595"):
        (indices,) = (KORTEMME / "indices").glob(f"{family}.*")
        (structure,) = (KORTEMME / "structures").glob(f"{family}.*")
        whole = read_alignment(KORTEMME / "alignments" / f"{family}.fasta.gz")
        chain = read_structure(structure)
        common = match(whole, chain, read_indices(indices))
        cut, chain = in_step(whole, chain, *common, own=False)
        _, maps = features(cut.rows)
        found.append([precision(scores, distance_map(chain)) for scores in maps.values()])
    information, couplings = np.mean(found, axis=0)
    assert couplings > 0.75 and couplings > information + 0.1
