"""What an alignment says about each column: how much each row counts, which letters are there.

Rows are the codes of an `Alignment`, (N, L), uint8: 0 … 19 amino acids, 20 unknown (X), 21 a gap.
Databases hold some sequences a thousand times with small changes and others once, so a row counts
as one over the number of rows much like it; the sum of these weights is the effective depth.

An unknown residue counts neither as a letter nor as a gap here.
"""

import math

import numpy as np

from .alignments import GAP, LETTERS
from .protein import AMINO_ACIDS

N_LETTERS = len(AMINO_ACIDS)
CODE_BITS = (len(LETTERS) - 1).bit_length()  # 5

# how common the letters are in proteins at large, in the order of AMINO_ACIDS: Robinson and
# Robinson, PNAS 88, 8880 (1991)
BACKGROUND = np.array(
    [
        *(0.07805, 0.05129, 0.04487, 0.05364, 0.01925, 0.04264, 0.06295, 0.07377, 0.02199, 0.05142),
        *(0.09019, 0.05744, 0.02243, 0.03856, 0.05203, 0.07120, 0.05841, 0.01330, 0.03216, 0.06441),
    ]
)
PRETENDED_LETTERS = 10.0  # drawn from the background, added to every column of a profile


def sequence_weights(rows: np.ndarray, identity: float = 0.8) -> np.ndarray:
    """One over the number of rows, itself included, equal in at least `identity` of the columns.

    All columns count, and a gap equals a gap.  The numbers are exact, float64.

    >>> sequence_weights(np.array([[0, 1, 2], [0, 1, 2], [7, 7, 7]], np.uint8)).tolist()
    [0.5, 0.5, 1.0]
    """
    check_alignment(rows)
    if not 0 < identity <= 1:
        raise ValueError(f"identity must be in (0, 1], got {identity}; the usual value is 0.8")
    n, length = rows.shape
    allowed = length - math.ceil(identity * length - 1e-9)  # 0.55 · 100 is 55.00000000000001
    words = bit_words(rows)
    alike = np.ones(n, np.int64)
    for i in range(n - 1):
        close = differences(words[..., i], words[..., i + 1 :]) <= allowed
        alike[i] += np.count_nonzero(close)
        alike[i + 1 :] += close
    return 1 / alike


def bit_words(rows: np.ndarray) -> np.ndarray:
    """One bit of 64 codes of a row in a word: (⌈L / 64⌉, 5, N), uint64, zeros at the end."""
    bits = [np.packbits(rows >> bit & 1, axis=1) for bit in range(CODE_BITS)]
    padded = np.pad(bits, ((0, 0), (0, 0), (0, -bits[0].shape[1] % 8)))
    return np.ascontiguousarray(padded.view(np.uint64).transpose(2, 0, 1))


def differences(row: np.ndarray, others: np.ndarray) -> np.ndarray:
    """In how many columns each of the others differs from a row, both as words.

    Two codes differ where any of their bits do; 64 columns at a time are compared.
    """
    found = np.zeros(others.shape[-1], np.uint16)
    for own_bits, bits in zip(row, others, strict=True):
        differ = bits[0] ^ own_bits[0]
        for own, other in zip(own_bits[1:], bits[1:], strict=True):
            differ |= other ^ own
        found += np.bitwise_count(differ)
    return found


def column_counts(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The summed weight of every code in every column, (L, 22), float64."""
    check_alignment(rows, weights)
    return np.stack([np.bincount(column, weights, len(LETTERS)) for column in rows.T])


def profile(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Log-odds of the letters, gap frequency and information of every column: (L, 22), float32.

        0 … 19   ln(fₐ / bₐ),  fₐ = (nₐ + β bₐ) / (Σ n + β)   n weighted counts, β = 10
        20       the part of the weight that is a gap
        21       Σₐ fₐ ln(fₐ / bₐ), nats: 0 where nothing is known, 4.3 if all is tryptophan

    with the background b.  PDNET's profiles have 22 columns too; what its last two are is not
    documented, so do not mix these profiles with its files.
    """
    counts = column_counts(rows, weights)
    letters = counts[:, :N_LETTERS]
    total = letters.sum(1, keepdims=True) + PRETENDED_LETTERS
    frequency = (letters + PRETENDED_LETTERS * BACKGROUND) / total
    log_odds = np.log(frequency / BACKGROUND)
    gaps = counts[:, GAP] / counts.sum(1)
    information = (frequency * log_odds).sum(1)
    return np.column_stack([log_odds, gaps, information]).astype(np.float32)


def entropy(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """−Σₐ pₐ ln pₐ / ln 20 of the letters of every column, in [0, 1]: (L, 1), float32.

    Gaps are left out; a column without any letter has the entropy 1, as nothing is known of it.
    """
    from scipy.special import entr

    letters = column_counts(rows, weights)[:, :N_LETTERS]
    letters[letters.sum(1) == 0] = 1
    p = letters / letters.sum(1, keepdims=True)
    return (entr(p).sum(1, keepdims=True) / math.log(N_LETTERS)).astype(np.float32)


def check_alignment(rows: np.ndarray, weights: np.ndarray | None = None) -> None:
    """ValueError unless rows are codes (N, L) and weights, if given, N positive numbers."""
    if not isinstance(rows, np.ndarray) or rows.dtype != np.uint8 or rows.ndim != 2:
        got = f"{rows.dtype} {rows.shape}" if isinstance(rows, np.ndarray) else type(rows).__name__
        raise ValueError(f"rows must be a uint8 array of codes (N, L), got {got}")
    if rows.size == 0:
        raise ValueError(f"rows must have at least one row and one column, got {rows.shape}")
    if rows.max() > GAP:
        raise ValueError(
            f"rows must hold codes 0 … {GAP} (positions in {LETTERS!r}), got {rows.max()}; "
            "`read_alignment` gives such rows"
        )
    if weights is not None and not _are_weights(weights, len(rows)):
        raise ValueError(
            f"weights must be an array with a positive number for each of the {len(rows)} rows, "
            f"got {weights!r}; use sequence_weights(rows)"
        )


def _are_weights(weights: np.ndarray, n: int) -> bool:
    fits = isinstance(weights, np.ndarray) and weights.shape == (n,)
    return fits and bool((np.isfinite(weights) & (weights > 0)).all())
