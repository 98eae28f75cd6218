"""Made-up proteins, so that everything runs without a single file.

They are SYNTHETIC: no such protein exists, and neither physics nor evolution is simulated.  The
chains have what a distance map shows of a protein: bonds, helices, strands that pair, loops, a
compact shape without overlaps.  Their features have the names of those made from real alignments,
and about their statistics.  Use them to try things out, and real proteins to learn about proteins.
"""

import math
from collections.abc import Iterable

import numpy as np

from sciops.data.progress import progress_bar

from .chain_geometry import BOND, assemble, connect, shortest_loops, side_chains
from .chain_layout import LOOP, Element, lay_out
from .chain_relaxation import limits_of, relax
from .protein import AMINO_ACIDS, Protein
from .synthetic_features import column_features, covariation_maps, family

LENGTH = (60, 200)  # residues, both included
SHORTEST = 30  # residues
RADIUS_SPREAD = 0.04  # deviation of the radius of gyration, relative
ATTEMPTS = 10  # to make a chain without overlaps; nearly all are at once
BOND_ERROR, SIZE_ERROR = 0.15, 0.18  # at most: Å, relative
LEAST_APART = (3.8, 3.4)  # Å, Cα and Cβ of residues i and j ≥ i + 3
NEIGHBOURS = 10.0  # Å around a residue, by which its burial is measured


def generate_proteins(
    numbers: Iterable[int],
    *,
    seed: int = 0,
    length: tuple[int, int] = LENGTH,
    progress: bool = True,
) -> list[Protein]:
    """The synthetic proteins with these numbers; splits are ranges of numbers.

    progress: a bar for those who wait at a terminal
    """
    numbers = list(numbers)
    proteins = []
    with progress_bar("synthetic proteins", len(numbers), shown=progress) as count:
        for number in numbers:
            proteins.append(synthetic_protein(number, seed=seed, length=length))
            count(1)
    return proteins


def synthetic_protein(number: int, *, seed: int = 0, length: tuple[int, int] = LENGTH) -> Protein:
    """A made-up protein, a function of its number, the seed and the lengths allowed alone.

    length: the least and the most residues; both may come

    >>> protein = synthetic_protein(7, length=(30, 40))
    >>> protein.name, len(protein), protein.maps["couplings"].shape
    ('synthetic-0-7', 38, (38, 38))
    """
    _check(number, seed, length)
    rng = np.random.default_rng([seed, number])
    residues = int(rng.integers(length[0], length[1] + 1))
    alpha, structure = fold_chain(residues, rng)
    beta = side_chains(alpha)
    rows = family(structure, _burial(beta), rng)
    sequence = "".join(AMINO_ACIDS[code] for code in rows[0])
    beta = np.where(rows[0, :, None] == AMINO_ACIDS.index("G"), alpha, beta)
    distance = distances(beta)
    return Protein(
        name=f"synthetic-{seed}-{number}",
        sequence=sequence,
        profiles=column_features(rows),
        maps=covariation_maps(distance, rng),
        distance=distance.astype(np.float32),
    )


def fold_chain(residues: int, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """Positions of Cα, (residues, 3) in Å, and H, E or C (helix, strand, loop) of every residue.

    A chain that got stuck in a tangle is thrown away and another one made.  Of 60 to 200 residues
    about four in a hundred are; far beyond 500 the last attempt may still have a tight spot.
    """
    for _ in range(ATTEMPTS):
        elements, pieces, loops = _fitting(residues, rng)
        structure, starts = _spelled_out(elements, loops)
        limits = limits_of(elements, starts, residues, rng)
        radius = usual_radius(residues) * rng.normal(1, RADIUS_SPREAD)
        alpha = relax(connect(pieces, loops, rng), limits, radius)
        if is_sound(alpha):
            break
    return alpha, structure


def usual_radius(residues: int) -> float:
    """Of gyration, of folded proteins: 2.2 n^0.38 Å (Skolnick et al., J. Mol. Biol. 265, 1997)."""
    return 2.2 * residues**0.38


def is_sound(alpha: np.ndarray) -> bool:
    """Whether a chain has the bonds and the size of a protein, and no two residues overlap."""
    bonds = np.linalg.norm(np.diff(alpha, axis=0), axis=1)
    size = math.sqrt(alpha.var(0).sum()) / usual_radius(len(alpha))
    apart = nearest(alpha) > LEAST_APART[0] and nearest(side_chains(alpha)) > LEAST_APART[1]
    return apart and bool(abs(bonds - BOND).max() < BOND_ERROR) and abs(size - 1) < SIZE_ERROR


def nearest(x: np.ndarray) -> float:
    """The least distance between residues i and j ≥ i + 3."""
    return float(distances(x)[np.triu_indices(len(x), 3)].min())


def distances(x: np.ndarray) -> np.ndarray:
    """All distances between points, (n, n)."""
    return np.linalg.norm(x[:, None] - x, axis=-1)


def _fitting(
    residues: int, rng: np.random.Generator
) -> tuple[list[Element], list[np.ndarray], np.ndarray]:
    """Elements, their positions, and the lengths of the loops around them, for so many residues."""
    room = residues
    while True:
        elements = lay_out(room, rng)
        pieces = assemble(elements, rng)
        loops = shortest_loops(pieces)
        spare = residues - sum(map(len, pieces)) - loops.sum()
        if spare >= 0:
            loops += rng.multinomial(spare, np.full(len(loops), 1 / len(loops)))
            return elements, pieces, loops
        room += spare  # fewer elements, next time


def _spelled_out(elements: list[Element], loops: np.ndarray) -> tuple[str, list[int]]:
    """H, E or C of every residue, and where the elements begin."""
    structure, starts = "", []
    for element, loop in zip(elements, loops[:-1], strict=True):
        structure += LOOP * loop
        starts.append(len(structure))
        structure += element.kind * element.length
    return structure + LOOP * loops[-1], starts


def _burial(beta: np.ndarray) -> np.ndarray:
    """How many neighbours each residue has, in deviations from the mean."""
    neighbours = (distances(beta) < NEIGHBOURS).sum(1)
    return (neighbours - neighbours.mean()) / neighbours.std()


def _check(number: int, seed: int, length: tuple[int, int]) -> None:
    for name, value in (("number", number), ("seed", seed)):
        if not _is_whole(value) or value < 0:
            raise ValueError(f"{name}={value!r} must be a whole number, 0 or more")
    pair = isinstance(length, tuple | list) and len(length) == 2 and all(map(_is_whole, length))
    if not pair or not SHORTEST <= length[0] <= length[1]:
        raise ValueError(
            f"length={length!r} must be the least and the most residues, two whole numbers "
            f"≥ {SHORTEST}, as in (60, 200)"
        )


def _is_whole(value) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
