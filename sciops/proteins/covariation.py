"""Which columns of an alignment vary together, a sign that the residues touch.

Mutual information sees every pair of columns that varies together, also the ends of a chain of
contacts A – B – C.  Direct couplings explain all pairs at once by a model in which only some of
them interact, so that A – C has nothing left to explain:

    P(a₁ … a_L) ∝ exp(Σᵢ hᵢ(aᵢ) + Σᵢ<ⱼ eᵢⱼ(aᵢ, aⱼ)),    e ≈ −C⁻¹    (mean field)

with the covariance C of the letters (Morcos et al., PNAS 108, E1293, 2011).  Columns have 21
states: the 20 letters, and one that is a gap or an unknown letter (X).

A column that varies much, or that follows the evolutionary tree, has high scores with all others.
The average product correction takes that out (Dunn et al., Bioinformatics 24, 333, 2008).
"""

from collections.abc import Iterator

import numpy as np

from sciops.memory import expect_memory

from .profiles import (
    N_LETTERS,
    check_alignment,
    column_counts,
    entropy,
    profile,
    sequence_weights,
)

N_STATES = N_LETTERS + 1
PRETENDED_ROWS = 20.0  # with all pairs of states alike; without them, rare letters look coupled
NEAR = 4  # pairs closer along the chain than this always vary together

# deviations of scores below these are rounding errors, as of an alignment of one row
LEAST_INFORMATION, LEAST_COUPLING = 1e-6, 1e-2


def features(rows: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Profiles (L, channels) and maps (L, L) of an alignment by name, all float32.

    The maps are standardised: their raw size depends on the depth of the alignment, and a network
    sees alignments of many depths.
    """
    check_alignment(rows)
    expect_memory_for_couplings(rows.shape[1])
    weights = sequence_weights(rows)
    profiles = {"profile": profile(rows, weights), "entropy": entropy(rows, weights)}
    maps = {
        "mutual_information": standardised(mutual_information(rows, weights), LEAST_INFORMATION),
        "couplings": standardised(direct_couplings(rows, weights), LEAST_COUPLING),
    }
    return profiles, maps


def mutual_information(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ f(a, b) ln(f(a, b) / (f(a) f(b))) of all pairs of columns, corrected: (L, L), float32.

    f are weighted frequencies with 20 more rows in which all 21² pairs are alike; nats.
    """
    check_alignment(rows, weights)
    length, total = rows.shape[1], weights.sum() + PRETENDED_ROWS
    scores = np.zeros((length, length))
    for i, counts in enumerate(pair_counts(rows, weights)):
        joint = (counts + PRETENDED_ROWS / N_STATES**2) / total
        independent = joint.sum(2, keepdims=True) * joint.sum(1, keepdims=True)
        scores[i, :i] = (joint * np.log(joint / independent)).sum((1, 2))
    return average_product_corrected(scores + scores.T).astype(np.float32)


def direct_couplings(rows: np.ndarray, weights: np.ndarray, pseudocount: float = 0.5) -> np.ndarray:
    """The size of the mean-field couplings of all pairs of columns, corrected: (L, L), float32.

    `pseudocount` is the part of the frequencies that is uniform.  It makes the covariance
    invertible, and must be large, as most pairs of letters are rare.
    """
    check_alignment(rows, weights)
    if not 0 < pseudocount <= 1:
        raise ValueError(f"pseudocount must be in (0, 1], got {pseudocount}; the usual one is 0.5")
    length = rows.shape[1]
    expect_memory_for_couplings(length)
    inverse = inverted(covariance(rows, weights, pseudocount).reshape(2 * (length * N_LETTERS,)))
    scores = np.zeros((length, length))
    for i, column in enumerate(inverse.reshape(length, N_LETTERS, length, N_LETTERS)):
        scores[i, :i] = zero_sum_norm(column[:, :i].swapaxes(0, 1))
    return average_product_corrected(scores + scores.T).astype(np.float32)


def expect_memory_for_couplings(length: int) -> None:
    """ValueError with the number if the covariance of so many columns does not fit.

    It has (20 L)² numbers of four bytes: 1.6 GB for 1000 columns, 40 GB for 5000.
    """
    expect_memory(
        4 * (N_LETTERS * length) ** 2,
        f"the couplings of an alignment of {length} columns",
        "cut the alignment to the part of the protein that is wanted, such as a domain",
    )


def pair_counts(rows: np.ndarray, weights: np.ndarray) -> Iterator[np.ndarray]:
    """For each column i the summed weights of its state a and state b of j < i: (i, 21, 21)."""
    states = np.minimum(rows, N_LETTERS).T.astype(np.intp, order="C")
    for i, column in enumerate(states):
        firsts = N_STATES * column
        tables = [np.bincount(firsts + other, weights, N_STATES**2) for other in states[:i]]
        yield np.reshape(tables, (i, N_STATES, N_STATES))


def covariance(rows: np.ndarray, weights: np.ndarray, pseudocount: float) -> np.ndarray:
    """C of letters a, b in columns i, j as (L, 20, L, 20), float32, where j ≤ i; 0 elsewhere.

        C(i a, j b) = f(a, b) − f(a) f(b)       f = (1 − λ) · weighted frequency + λ · uniform

    with the pseudocount λ; within a column, f(a, b) = f(a) if a = b, else 0.
    """
    length, real = rows.shape[1], (1 - pseudocount) / weights.sum()
    single = real * column_counts(rows, weights)[:, :N_LETTERS] + pseudocount / N_STATES
    found = np.zeros((length, N_LETTERS, length, N_LETTERS), np.float32)
    for i, counts in enumerate(pair_counts(rows, weights)):
        joint = real * counts[:, :N_LETTERS, :N_LETTERS] + pseudocount / N_STATES**2
        found[i, :, :i] = (joint - single[i][:, None] * single[:i, None]).swapaxes(0, 1)
        found[i, :, i] = np.diag(single[i]) - np.outer(single[i], single[i])
    return found


def inverted(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a symmetric positive definite matrix; of both only the lower triangles.

    By Cholesky, in the memory of the matrix: with 20 L rows it is by far the largest thing here.
    """
    from scipy.linalg import get_lapack_funcs

    factorise, invert = get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, failed = factorise(matrix.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise ValueError(
            "the covariance of the alignment cannot be inverted in float32; use a larger "
            "pseudocount (0.5 is usual)"
        )
    return invert(factor, lower=0, overwrite_c=1)[0].T


def zero_sum_norm(couplings: np.ndarray) -> np.ndarray:
    """Frobenius norm of couplings (n, 20, 20) whose 21st state is 0, in the zero-sum gauge: (n,).

    A function of one state alone can be moved between couplings and fields without changing the
    model.  The gauge in which all rows and columns sum to zero puts as little as possible into the
    couplings:  e(a, b) − mean over a − mean over b + mean over both.
    """
    full = np.pad(couplings, ((0, 0), (0, 1), (0, 1)))
    full -= full.mean(1, keepdims=True)
    full -= full.mean(2, keepdims=True)
    return np.sqrt((full**2).sum((1, 2)))


def average_product_corrected(scores: np.ndarray) -> np.ndarray:
    """sᵢⱼ − sᵢ sⱼ / s with the means sᵢ over j ≠ i and s over all pairs; 0 on the diagonal.

    >>> average_product_corrected(np.array([[0.0, 3, 1], [3, 0, 1], [1, 1, 0]])).round(2).tolist()
    [[0.0, 0.6, -0.2], [0.6, 0.0, -0.2], [-0.2, -0.2, 0.0]]
    """
    itself = np.eye(len(scores), dtype=bool)
    means = np.where(itself, 0, scores).sum(1) / max(len(scores) - 1, 1)
    if means.sum() <= 0:
        return np.zeros_like(scores)
    return np.where(itself, 0, scores - np.outer(means, means) / means.mean())


def standardised(scores: np.ndarray, least: float) -> np.ndarray:
    """Scores with mean 0 and deviation 1 over pairs with |i − j| ≥ 4, float32; 0 on the diagonal.

    A deviation below `least` counts as `least`, so that noise is not blown up.  Chains of at most
    four residues have no such pairs: all zero.
    """
    place = np.arange(len(scores))
    separation = abs(place[:, None] - place)
    far = scores[separation >= NEAR].astype(np.float64)
    if far.size == 0:
        return np.zeros_like(scores)
    scaled = (scores - far.mean()) / max(far.std(), least)
    return np.where(separation == 0, 0, scaled).astype(np.float32)
