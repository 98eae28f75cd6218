"""Which column of an alignment is which residue of a structure's chain.

Either a table says it, or the query (the first row) is the protein of the structure and the two
sequences are aligned.  The query may have more residues than the chain, which lacks what the
experiment did not see, and the chain more than the query.  Wherever letters do not agree, the error
shows both.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from .alignments import GAP, LARGEST, Alignment, read_text
from .protein import UNKNOWN
from .structures import Chain

MISMATCHES = 0.05  # of the aligned residues at most: mutations, not another protein
COVERED = 0.5  # of the shorter sequence at least
WIDTH = 60  # letters a line where two sequences are shown
BLOCKS = 8  # lines of either that are shown at most


@dataclass(frozen=True, eq=False)
class Indices:
    """A table of columns (counted from 0) and residues of one chain, by number and letter."""

    name: str
    columns: np.ndarray
    letters: str
    numbers: tuple[str, ...]
    chain: str


def read_indices(path: str | Path) -> Indices:
    """A table with tabs: column, residue letter, position, "number chain"; the rest is not used.

    The position counts residues of the chain from 1.  Different programs count differently, so the
    number and the letter are what is trusted.
    """
    path = Path(path)
    lines = read_text(path, LARGEST).decode(errors="replace").splitlines()
    entry = re.compile(r"(\d+)\t([A-Z])\t\d+\t(-?\d+[A-Z]?) (\S)(\t.*)?")
    found = []
    for i, line in enumerate(lines, 1):
        fields = entry.fullmatch(line.rstrip())
        if not fields:
            raise ValueError(
                f"line {i} of {path} is {line[:60]!r}; expected column, letter, position, and "
                "residue number with chain, as in '0\\tD\\t2\\t804 A'"
            )
        found.append(fields.groups()[:4])
    columns, letters, numbers, chains = zip(*found, strict=True)
    if len(set(chains)) > 1:
        raise ValueError(f"{path} names the chains {sorted(set(chains))}, expected one")
    columns = np.array([int(column) for column in columns])
    return Indices(path.name, columns, "".join(letters), numbers, chains[0])


def match(
    alignment: Alignment, chain: Chain, indices: Indices | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the alignment and the residues of the chain that they are, both counted from 0."""
    if indices is None:
        return _by_sequence(alignment, chain)
    return _by_indices(alignment, chain, indices)


def restricted(
    alignment: Alignment, chain: Chain, columns: np.ndarray, residues: np.ndarray
) -> tuple[Alignment, Chain]:
    """Both cut to the positions that they share, so that they have the same length."""
    note = f"{len(residues)} of {len(chain)} residues have a column in {alignment.name!r}"
    cut = Chain(
        chain.name,
        "".join(chain.sequence[i] for i in residues),
        chain.positions[residues],
        tuple(chain.numbers[i] for i in residues),
        chain.notes if len(residues) == len(chain) else (*chain.notes, note),
    )
    return replace(alignment, rows=alignment.rows[:, columns]), cut


# -- by a table -----------------------------------------------------------------------------------


def _by_indices(
    alignment: Alignment, chain: Chain, indices: Indices
) -> tuple[np.ndarray, np.ndarray]:
    place = {number: i for i, number in enumerate(chain.numbers)}
    residues = [place.get(number, -1) for number in indices.numbers]
    there = "".join(chain.sequence[i] if i >= 0 else "?" for i in residues)
    if _differ(indices.letters, there).any():
        columns = [f"column {i}" for i in indices.columns]
        numbers = [f"residue {number}" for number in indices.numbers]
        raise ValueError(
            f"{indices.name!r} (above) and the chain {chain.name!r} (below, '?' if it has no such "
            "residue) have other letters at the same numbers; are they of one structure?\n"
            + _side_by_side(indices.letters, there, columns, numbers)
        )
    last = alignment.rows.shape[1] - 1
    if indices.columns.max() > last:
        raise ValueError(
            f"{indices.name!r} names column {indices.columns.max()}, and the last one of "
            f"{alignment.name!r} is {last}, counted from 0"
        )
    if (np.diff(indices.columns) <= 0).any() or (np.diff(residues) <= 0).any():
        raise ValueError(f"columns and residues of {indices.name!r} do not increase line by line")
    return indices.columns, np.array(residues)


# -- by the sequences -----------------------------------------------------------------------------


def _by_sequence(alignment: Alignment, chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    occupied = np.flatnonzero(alignment.rows[0] != GAP)
    query = alignment.query.replace("-", "")
    if not query:
        raise ValueError(f"the first row of {alignment.name!r} has gaps only")
    pairs = _aligned(query, chain)
    i, j = pairs[:, (pairs >= 0).all(axis=0)]
    above, below = _taken(query, i), _taken(chain.sequence, j)
    wrong, right = _differ(above, below).sum(), _agree(above, below).sum()
    if wrong > MISMATCHES * len(i) or right < COVERED * min(len(query), len(chain)):
        columns = [f"column {occupied[k]}" if k >= 0 else "" for k in pairs[0]]
        numbers = [f"residue {chain.numbers[k]}" if k >= 0 else "" for k in pairs[1]]
        above, below = _taken(query, pairs[0]), _taken(chain.sequence, pairs[1])
        raise ValueError(
            f"the query of {alignment.name!r} (above, {len(query)} residues) and the chain "
            f"{chain.name!r} (below, {len(chain)}) agree in {right} residues and differ in {wrong}"
            "; are they the same protein?  If the query is another one, indices are needed\n"
            + _side_by_side(above, below, columns, numbers)
        )
    return occupied[i], j


def _aligned(query: str, chain: Chain) -> np.ndarray:
    """Positions in query and chain side by side, (2, n), −1 where one of them has a gap."""
    from Bio.Align import PairwiseAligner

    aligner = PairwiseAligner(mode="global", wildcard=UNKNOWN)
    aligner.match_score, aligner.mismatch_score = 2, -3
    aligner.open_gap_score, aligner.extend_gap_score = -5, 0  # a long gap is no worse than a short
    aligner.end_gap_score = 0
    filled, residue_of = _with_missing(chain, at_most=len(query))
    above, below = aligner.align(query, filled)[0].indices
    pairs = np.stack([above, np.where(below < 0, -1, residue_of[below])])
    return pairs[:, (pairs >= 0).any(axis=0)]


def _with_missing(chain: Chain, at_most: int) -> tuple[str, np.ndarray]:
    """The sequence with an X for each number that is left out, and the residues of its letters.

    Without them a gap between equal letters could be placed before or after either: "GKKG" lacks
    the first or the second K if the chain reads "GKG", and only the numbers tell which.
    """
    numbers = [int(re.match(r"-?\d+", number).group()) for number in chain.numbers]
    text, residue_of = "", []
    for i, (before, number) in enumerate(pairwise([numbers[0], *numbers])):
        left_out = min(number - before - 1, at_most)  # none if negative
        text += UNKNOWN * left_out + chain.sequence[i]
        residue_of += [-1] * left_out + [i]
    return text, np.array(residue_of)


# -- two sequences --------------------------------------------------------------------------------


def _taken(text: str, places: np.ndarray) -> str:
    return "".join(text[i] if i >= 0 else "-" for i in places)


def _differ(above: str, below: str) -> np.ndarray:
    """Where letters contradict each other; X and a gap contradict nothing."""
    open_ = {UNKNOWN, "-"}
    pairs = zip(above, below, strict=True)
    return np.array([a != b and not {a, b} & open_ for a, b in pairs], bool)


def _agree(above: str, below: str) -> np.ndarray:
    return np.array([a == b != UNKNOWN for a, b in zip(above, below, strict=True)], bool)


def _side_by_side(
    above: str, below: str, above_places: Sequence[str], below_places: Sequence[str]
) -> str:
    """Two texts in lines, one below the other, with * between letters that differ.

    >>> print(_side_by_side("ACD", "AWD", ["1", "2", "3"], ["70", "71", "72"]))
     1 ACD
        *
    70 AWD
    """
    differ = _differ(above, below)
    starts = range(0, len(above), WIDTH)
    starts = [s for s in starts if differ[s : s + WIDTH].any()] or list(starts)
    blocks = []
    for part in (slice(s, s + WIDTH) for s in starts[:BLOCKS]):
        heads = [next(filter(None, p[part]), "") for p in (above_places, below_places)]
        marks = "".join("*" if wrong else " " for wrong in differ[part]).rstrip()
        rows = zip((heads[0], "", heads[1]), (above[part], marks, below[part]), strict=True)
        width = max(map(len, heads))
        blocks.append("\n".join(f"{head:>{width}} {text}".rstrip() for head, text in rows))
    if len(starts) > BLOCKS:
        blocks.append(f"… and {len(starts) - BLOCKS} more")
    return "\n\n".join(blocks)
