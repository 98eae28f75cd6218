"""Features of a made-up chain as an alignment of its family would give them, noise included.

No evolution is simulated.  The letters of a column are drawn from what proteins like there: helix
formers in helices, hydrophobic letters inside, glycine and proline in loops.  The maps are contacts
of random strength, some of them missing, under noise.  The figures are chosen so that both look
like those of real alignments of a few hundred sequences.
"""

import numpy as np

from .alignments import GAP
from .chain_layout import HELIX, LOOP, STRAND
from .covariation import standardised
from .profiles import BACKGROUND, entropy, profile

# how much rather a letter is in a helix, in a strand, in a loop (Chou and Fasman, Adv. Enzymol. 47,
# 45, 1978), and how much it avoids water (Kyte and Doolittle, J. Mol. Biol. 157, 105, 1982); in the
# order of AMINO_ACIDS
PREFERENCES = {
    HELIX: [
        *(1.42, 0.98, 0.67, 1.01, 0.70, 1.11, 1.51, 0.57, 1.00, 1.08),
        *(1.21, 1.16, 1.45, 1.13, 0.57, 0.77, 0.83, 1.08, 0.69, 1.06),
    ],
    STRAND: [
        *(0.83, 0.93, 0.89, 0.54, 1.19, 1.10, 0.37, 0.75, 0.87, 1.60),
        *(1.30, 0.74, 1.05, 1.38, 0.55, 0.75, 1.19, 1.37, 1.47, 1.70),
    ],
    LOOP: [
        *(0.66, 0.95, 1.56, 1.46, 1.19, 0.98, 0.74, 1.56, 0.95, 0.47),
        *(0.59, 1.01, 0.60, 0.60, 1.52, 1.43, 0.96, 0.96, 1.14, 0.50),
    ],
}
HYDROPATHY = np.array(
    [
        *(1.8, -4.5, -3.5, -3.5, 2.5, -3.5, -3.5, -0.4, -3.2, 4.5),
        *(3.8, -3.9, 1.9, 2.8, -1.6, -0.8, -0.7, -0.9, -1.3, 4.2),
    ]
)


AVOIDS_WATER = 0.15  # by so much a letter's odds (log) change a unit of hydropathy and of burial
VARIETY = (1.6, 1.0)  # ln of the Dirichlet weight of a column, small if few letters occur: mean, σ
DEPTH = (100, 800)  # sequences of a family, from and to
GAPS = (0.4, 12.0)  # beta distribution of the part of a column that is gaps

CONTACT, SOFTNESS = 8.0, 0.5  # Å: where contacts end, and how gradually
STRENGTH = (1.1, 2.7)  # of the contacts of a chain, on average, from and to; the noise has 1
MISSING = 0.3  # of the contacts leave no trace
FALSE = 0.15  # pairs a residue that look like contacts, twice as strong, and are none
BLUR = 0.2  # of a pair's signal is seen at each neighbour
NEAR_NOISE, NEAR = 1.0, 4.0  # more noise close to the diagonal, within so many residues
CHAINS = 12.0  # larger: chains of contacts are seen less in the mutual information
MORE_NOISE = 2.0  # in the mutual information


def family(structure: str, burial: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sequences like that of the chain: codes of letters and gaps, (sequences, residues), uint8.

    structure: H (helix), E (strand) or C (loop) of every residue
    burial: of every residue, as deviations from the mean of the chain
    The first sequence is the chain's own and has no gaps.
    """
    liked = np.array([PREFERENCES[kind] for kind in structure])
    likely = BACKGROUND * liked * np.exp(AVOIDS_WATER * burial[:, None] * HYDROPATHY)
    likely /= likely.sum(1, keepdims=True)
    variety = np.exp(rng.normal(*VARIETY, len(structure)))
    columns = np.stack([rng.dirichlet(v * p) for v, p in zip(variety, likely, strict=True)])
    numbers = rng.random((rng.integers(*DEPTH), len(structure), 1))
    rows = (numbers > columns.cumsum(1)[:, :-1]).sum(2)  # the last letter gets what rounding leaves
    gaps = rng.random(rows.shape) < rng.beta(*GAPS, len(structure))
    gaps[0] = False
    return np.where(gaps, GAP, rows).astype(np.uint8)


def column_features(rows: np.ndarray) -> dict[str, np.ndarray]:
    """`profile` (L, 22) and `entropy` (L, 1), by the formulas for real alignments."""
    weights = np.ones(len(rows))
    return {"profile": profile(rows, weights), "entropy": entropy(rows, weights)}


def covariation_maps(distance: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """`mutual_information` and `couplings`, (L, L), float32, standardised as those of alignments.

        couplings          = signal + noise
        mutual information = signal + signal² / 12 + noise + more noise

    The matrix product signal² is the trace of chains A – B – C of contacts.
    """
    signal = _signal(distance, rng)
    apart = _apart(len(distance))
    deviation = 1 + NEAR_NOISE * np.exp(-apart / NEAR)
    noise = deviation * _symmetric(rng.standard_normal(distance.shape))
    more_noise = MORE_NOISE * deviation * _symmetric(rng.standard_normal(distance.shape))
    maps = {
        "mutual_information": signal + signal @ signal / CHAINS + noise + more_noise,
        "couplings": signal + noise,
    }
    return {name: standardised(scores, least=0.0) for name, scores in maps.items()}


def _signal(distance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Contacts that were found, and some that are none, each of a strength of its own; blurred.

    Strengths are exponential: a few pairs stand out and most do not.
    """
    n = len(distance)
    contact = 1 / (1 + np.exp((distance - CONTACT) / SOFTNESS))
    found = contact * (_symmetric(rng.random((n, n))) >= MISSING)
    false = _symmetric(rng.random((n, n))) > 1 - 2 * FALSE / n
    strength = rng.uniform(*STRENGTH) * _symmetric(rng.exponential(size=(n, n)))
    blur = np.eye(n) + BLUR * (_apart(n) == 1)
    return blur @ (strength * (found + 2 * false)) @ blur


def _apart(n: int) -> np.ndarray:
    place = np.arange(n)
    return abs(place[:, None] - place)


def _symmetric(numbers: np.ndarray) -> np.ndarray:
    """The numbers above the diagonal, on both sides of it; 0 on it."""
    upper = np.triu(numbers, 1)
    return upper + upper.T
