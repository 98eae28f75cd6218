"""Weights and profiles of alignments against loops over letters, and at their edges."""

import math

import numpy as np
import pytest

from sciops.proteins.alignments import LETTERS
from sciops.proteins.profiles import BACKGROUND, entropy, profile, sequence_weights


def coded(*rows: str) -> np.ndarray:
    return np.array([[LETTERS.index(letter) for letter in row] for row in rows], np.uint8)


def family(n: int, length: int, changes: float, seed: int = 0) -> np.ndarray:
    """Copies of a few ancestors with random changes, all 22 codes."""
    rng = np.random.default_rng(seed)
    ancestors = rng.integers(0, 22, (3, length))
    rows = ancestors[rng.integers(0, 3, n)]
    changed = rng.random(rows.shape) < changes
    return np.where(changed, rng.integers(0, 22, rows.shape), rows).astype(np.uint8)


def counted_weights(rows, identity):
    """The definition: equal columns of all pairs of rows, one after the other."""
    n, length = rows.shape
    equal = [[sum(a == b for a, b in zip(x, y, strict=True)) for y in rows] for x in rows.tolist()]
    needed = round(identity * length, 6)
    return [1 / sum(equal[i][j] >= needed for j in range(n)) for i in range(n)]


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 7, 8, 63, 64, 65, 130, 300])
def test_weights_are_one_over_the_number_of_similar_rows(length):
    rows = family(24, length, changes=0.12)
    expected = counted_weights(rows, 0.8)
    assert sequence_weights(rows).tolist() == expected
    if length > 8:
        assert len(set(expected)) > 3  # of all kinds


@pytest.mark.parametrize("identity", [0.05, 0.29, 0.5, 0.55, 0.7, 0.8, 0.9, 1.0])
def test_threshold_is_reached_by_an_exact_fraction(identity):
    """0.55 · 100 is a little more than 55 in floating point, 0.29 · 100 a little less than 29."""
    needed = round(100 * identity)
    rows = np.zeros((3, 100), np.uint8)
    rows[1, needed:] = 1  # as similar to row 0 as asked for
    rows[2, needed - 1 :] = 2  # one column less
    expected = counted_weights(rows, identity)
    assert sequence_weights(rows, identity).tolist() == expected
    assert expected[0] == 1 / 2


@pytest.mark.parametrize("one", range(22))
def test_every_code_differs_from_every_other(one):
    codes = np.arange(22, dtype=np.uint8)[:, None]
    rows = np.concatenate([codes, codes[one : one + 1]])
    expected = np.ones(23)
    expected[[one, 22]] = 1 / 2
    assert sequence_weights(rows).tolist() == expected.tolist()


def test_many_equal_rows_and_many_columns():
    """More equal rows than a byte counts, and more differences."""
    rows = np.zeros((701, 1000), np.uint8)
    rows[700] = 21
    weights = sequence_weights(rows)
    assert weights.dtype == np.float64
    assert weights.tolist() == [1 / 700] * 700 + [1]


# --- profile --------------------------------------------------------------------------------------


def test_profile_is_the_sum_over_rows():
    rows, weights = family(30, 6, 0.4), np.random.default_rng(1).random(30) + 0.1
    found = profile(rows, weights)
    assert found.shape == (6, 22) and found.dtype == np.float32
    for column in range(6):
        n = [0.0] * 22
        for row, weight in zip(rows, weights, strict=True):
            n[row[column]] += weight
        f = [(n[a] + 10 * BACKGROUND[a]) / (sum(n[:20]) + 10) for a in range(20)]
        odds = [math.log(f[a] / BACKGROUND[a]) for a in range(20)]
        information = sum(f[a] * odds[a] for a in range(20))
        expected = [*odds, n[21] / sum(n), information]
        np.testing.assert_allclose(found[column], expected, rtol=1e-5, atol=1e-6)


def test_profile_at_its_edges():
    rows = np.repeat(coded("-XWA"), 4000, axis=0)
    gap, unknown, tryptophan, alanine = profile(rows, np.ones(4000))
    assert gap[20] == 1 and gap[[*range(20), 21]] == pytest.approx(0, abs=1e-12)
    assert unknown == pytest.approx(0, abs=1e-12)
    assert tryptophan[21] == pytest.approx(-math.log(0.0133), abs=0.03)
    assert alanine[0] == pytest.approx(-math.log(0.07805), abs=0.01) and alanine[20] == 0
    assert alanine[1:20] == pytest.approx(math.log(10 / 4010), abs=1e-4)


def test_one_row_says_little():
    """One letter among ten of the background."""
    (found,) = profile(coded("W"), np.ones(1))
    assert found[LETTERS.index("W")] == pytest.approx(math.log((1 / 0.0133 + 10) / 11), rel=1e-5)
    assert 0 < found[21] < 0.2


def test_background_is_that_of_proteins():
    assert BACKGROUND.shape == (20,) and BACKGROUND.sum() == pytest.approx(1, abs=1e-12)
    by_frequency = "".join(LETTERS[i] for i in np.argsort(-BACKGROUND, kind="stable"))
    assert by_frequency == "LAGSVETKDPIRNQFYMHCW"


# --- entropy --------------------------------------------------------------------------------------


def test_entropy_is_the_sum_over_letters():
    rows, weights = family(40, 5, 0.6), np.random.default_rng(1).random(40) + 0.1
    found = entropy(rows, weights)
    assert found.shape == (5, 1) and found.dtype == np.float32
    for column in range(5):
        n = [weights[rows[:, column] == a].sum() for a in range(20)]
        p = [x / sum(n) for x in n if x]
        expected = -sum(x * math.log(x) for x in p) / math.log(20)
        assert found[column, 0] == pytest.approx(expected, rel=1e-5)
        assert 0.1 < expected < 1


def test_entropy_of_constant_even_and_empty_columns():
    rows = np.zeros((20, 5), np.uint8)
    rows[:, 1] = np.arange(20)
    rows[:, 2] = 21
    rows[:, 3] = np.where(np.arange(20) < 10, 3, 21)  # gaps are no letters
    rows[:, 4] = np.where(np.arange(20) < 10, 3, 20)  # nor are unknown residues
    assert entropy(rows, np.ones(20))[:, 0] == pytest.approx([0, 1, 1, 0, 0], abs=1e-7)


# --- what goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[0, 1]], "got list"),
        (np.zeros((2, 3), np.int64), r"got int64 \(2, 3\)"),
        (np.zeros(3, np.uint8), r"got uint8 \(3,\)"),
        (np.zeros((0, 3), np.uint8), r"at least one row and one column, got \(0, 3\)"),
        (np.zeros((3, 0), np.uint8), r"at least one row and one column, got \(3, 0\)"),
        (np.full((2, 3), 22, np.uint8), r"codes 0 … 21 .* got 22"),
    ],
)
def test_rows_that_are_no_alignment(rows, said):
    with pytest.raises(ValueError, match=said):
        sequence_weights(rows)
    with pytest.raises(ValueError, match=said):
        profile(rows, np.ones(2))


@pytest.mark.parametrize(
    "weights",
    [
        *(np.ones(2), np.ones((3, 1)), [1, 1, 1]),
        *(np.array([1, wrong, 1]) for wrong in (0.0, -1.0, np.nan, np.inf)),
    ],
)
@pytest.mark.parametrize("feature", [profile, entropy])
def test_weights_that_do_not_fit(weights, feature):
    with pytest.raises(ValueError, match="positive number for each of the 3 rows"):
        feature(coded("AC", "AD", "AE"), weights)


@pytest.mark.parametrize("identity", [0, -0.1, 1.1, 80])
def test_identity_is_a_fraction(identity):
    with pytest.raises(ValueError, match="identity must be in"):
        sequence_weights(coded("AC"), identity)
