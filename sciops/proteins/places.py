"""An alignment and a structure's chain at the same places along the protein.

Networks are told how far apart i and j are along the chain, and scores ask for it.  So what only
one of the two has must not be left out between residues that both have:

    the query has a residue, the structure lacks it      its column, and distances that are NaN
    the chain has a residue, no column is its own        a column of gaps, and its distances
    the structure lacks it, no column is known to be it  a column of gaps, and NaN

What stands before the first and behind the last common residue is left out.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, zip_longest

import numpy as np

from .alignments import GAP, LETTERS, Alignment
from .columns import differ
from .protein import UNKNOWN, noted
from .structures import Chain

NOWHERE = -1


def in_step(
    alignment: Alignment, chain: Chain, columns: np.ndarray, residues: np.ndarray, *, own: bool
) -> tuple[Alignment, Chain]:
    """Both with the same L places, the first and the last of them common to both.

    columns, residues: those that belong together, of `match`
    own: whether the query is the protein of the structure.  If it is another one, its residues
         say nothing about what the structure lacks, and the numbers in the structure count
    """
    steps = list(_places(alignment, chain, columns, residues, own=own))
    column, residue = np.array(steps).T
    rows = np.where(column == NOWHERE, GAP, alignment.rows[:, column]).astype(np.uint8)
    seen = residue != NOWHERE
    spelt = zip(rows[0], residue, strict=True)
    letters = [LETTERS[a] if r == NOWHERE else chain.sequence[r] for a, r in spelt]
    cut = Chain(
        chain.name,
        "".join(letters).replace("-", UNKNOWN),
        np.where(seen[:, None], chain.positions[residue], np.nan),
        tuple("" if r == NOWHERE else chain.numbers[r] for r in residue),
        (*chain.notes, *_notes(alignment, chain, column, residue, own=own)),
    )
    return replace(alignment, rows=rows), cut


def _places(
    alignment: Alignment, chain: Chain, columns: np.ndarray, residues: np.ndarray, *, own: bool
) -> Iterator[tuple[int, int]]:
    """Column and residue of each place, `NOWHERE` for what there is not."""
    occupied = alignment.rows[0] != GAP
    missing = np.zeros(len(chain), int)
    if chain.missing and not own:
        missing[:] = chain.missing
        missing[missing > alignment.rows.shape[1]] = 0  # numbers that jump, longer than the family
    for (column, residue), (next_column, next_residue) in pairwise(
        zip(columns.tolist(), residues.tolist(), strict=True)
    ):
        yield column, residue
        of_query = [c for c in range(column + 1, next_column) if own and occupied[c]]
        of_chain = [NOWHERE] * missing[residue + 1]
        for r in range(residue + 1, next_residue):
            of_chain += [r, *[NOWHERE] * missing[r + 1]]
        if of_query:  # a piece of other letters: which is which is not known
            of_chain = [NOWHERE] * len(of_chain)
        yield from zip_longest(of_query, of_chain, fillvalue=NOWHERE)
    yield int(columns[-1]), int(residues[-1])


def _notes(
    alignment: Alignment, chain: Chain, column: np.ndarray, residue: np.ndarray, *, own: bool
) -> list[str]:
    """What only one of the two has, and where an own query has other letters than the chain."""
    places = list(zip(column.tolist(), residue.tolist(), strict=True))
    query = [f"{LETTERS[code]} in column {i}" for i, code in enumerate(alignment.rows[0])]
    common = [(c, r) for c, r in places if NOWHERE not in (c, r)]
    few = f"{len(common)} of {len(chain)} residues have a column in {alignment.name!r}"
    gaps = [chain.numbers[r] if r != NOWHERE else "missing" for c, r in places if c == NOWHERE]
    lacking = [query[c] for c, r in places if own and r == NOWHERE != c]
    other = [
        f"{query[c]} is {chain.sequence[r]} {chain.numbers[r]}"
        for c, r in common
        if own and differ(query[c][0], chain.sequence[r]).any()
    ]
    return [
        *([few] if len(common) < len(chain) else []),
        *noted("residues of the query that the structure lacks", lacking),
        *noted("residues between these that have no column, now gaps", gaps),
        *noted("letters of query and structure that differ", other),
    ]
