"""Which column of an alignment is which residue of a structure's chain.

Either a table says it, or the query (the first row) is the protein of the structure and the two
sequences are aligned.  The query may have more residues than the chain, which lacks what the
experiment did not see, and the chain more than the query.  Wherever letters do not agree, the error
shows both.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from .alignments import GAP, Alignment, read_text
from .protein import UNKNOWN
from .structures import Chain

MISMATCHES = 0.05  # of the aligned residues at most: mutations, not another protein
COVERED = 0.5  # of the shorter sequence at least
WIDTH = 60  # letters a line where two sequences are shown
BLOCKS = 8  # lines of either that are shown at most
MOST_PAIRS = 2**26  # of residues that are compared; chains of 8000 with as many
LONGEST = 2**16  # residues of a query; the longest protein, titin, has half of it
LARGEST = 2**22  # bytes of a table; titin would have a quarter of it


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
    entry = re.compile(r"(\d{1,9})\t([A-Z])\t\d+\t(-?\d{1,9}[A-Z]?) (\S)(\t.*)?")
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


# -- by a table -----------------------------------------------------------------------------------


def _by_indices(
    alignment: Alignment, chain: Chain, indices: Indices
) -> tuple[np.ndarray, np.ndarray]:
    place = {number: i for i, number in enumerate(chain.numbers)}
    residues = [place.get(number, -1) for number in indices.numbers]
    there = "".join(chain.sequence[i] if i >= 0 else "?" for i in residues)
    if differ(indices.letters, there).any():
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
    _check_pairs(alignment, query, chain)
    missing = 0 if query == chain.sequence else min(len(query), MOST_PAIRS // len(query))
    spelt = _spellings(chain, at_most=missing)
    tried = [_compared(query, chain, _aligned(query, *spelling)) for spelling in spelt]
    pairs, wrong, right = tried[0]
    if right < (1 - MISMATCHES) * tried[-1][2]:  # numbers that mean nothing
        pairs, wrong, right = tried[-1]
    i, j = pairs[:, (pairs >= 0).all(axis=0)]
    if wrong <= MISMATCHES * len(i) and right >= COVERED * min(len(query), len(chain)):
        return occupied[i], j
    columns = [f"column {occupied[k]}" if k >= 0 else "" for k in pairs[0]]
    numbers = [f"residue {chain.numbers[k]}" if k >= 0 else "" for k in pairs[1]]
    above, below = _taken(query, pairs[0]), _taken(chain.sequence, pairs[1])
    raise ValueError(
        f"the query of {alignment.name!r} (above, {len(query)} residues) and the chain "
        f"{chain.name!r} (below, {len(chain)}) agree in {right} residues and differ in {wrong}"
        "; are they the same protein?  If the query is another one, indices are needed\n"
        + _side_by_side(above, below, columns, numbers)
    )


def _compared(query: str, chain: Chain, pairs: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Pairs, and in how many of them the letters contradict each other and agree."""
    i, j = pairs[:, (pairs >= 0).all(axis=0)]
    above, below = _taken(query, i), _taken(chain.sequence, j)
    return pairs, int(differ(above, below).sum()), int(_agree(above, below).sum())


def _check_pairs(alignment: Alignment, query: str, chain: Chain) -> None:
    """Time and memory grow with the product of the lengths."""
    if len(query) * len(chain) > MOST_PAIRS or len(query) > LONGEST:
        raise ValueError(
            f"the query of {alignment.name!r} has {len(query)} residues and the chain "
            f"{chain.name!r} {len(chain)}, and at most {MOST_PAIRS} pairs of residues are "
            f"compared, of queries of at most {LONGEST}; give indices, or cut both to the part "
            "that is wanted"
        )


def _aligned(query: str, filled: str, residue_of: np.ndarray) -> np.ndarray:
    """Positions in query and chain side by side, (2, n), −1 where one of them has a gap."""
    from Bio.Align import PairwiseAligner

    aligner = PairwiseAligner(mode="global", wildcard=UNKNOWN)
    aligner.match_score, aligner.mismatch_score = 2, -3
    aligner.open_gap_score, aligner.extend_gap_score = -5, 0  # a long gap is no worse than a short
    aligner.end_gap_score = 0
    above, below = aligner.align(query, filled)[0].indices
    pairs = np.stack([above, np.where(below < 0, -1, residue_of[below])])
    return pairs[:, (pairs >= 0).any(axis=0)]


def _spellings(chain: Chain, at_most: int) -> Iterator[tuple[str, np.ndarray]]:
    """The sequence with an X for each number that is left out, and the residues of its letters;
    then, as numbers may mean nothing, without.

    Without them a gap between equal letters could be placed before or after either: "GKKG" lacks
    the first or the second K if the chain reads "GKG", and only the numbers tell which.
    """
    left_out = _left_out(chain, at_most)
    if left_out.any():
        pieces = zip(left_out.tolist(), chain.sequence, strict=True)
        places = np.cumsum(left_out + 1) - 1
        residue_of = np.full(places[-1] + 1, -1)
        residue_of[places] = np.arange(len(chain))
        yield "".join(UNKNOWN * n + letter for n, letter in pieces), residue_of
    yield chain.sequence, np.arange(len(chain))


def _left_out(chain: Chain, at_most: int) -> np.ndarray:
    """How many numbers are left out before each residue, the shortest gaps that make no more than
    the query has residues; longer ones are jumps for no reason.

    >>> _left_out(Chain("three", "AAA", np.zeros((3, 3)), ("1", "4", "99")), at_most=10)
    array([0, 2, 0])
    """
    numbers = [int(re.match(r"-?\d+", number).group()) for number in chain.numbers]
    steps = (after - before - 1 for before, after in pairwise([numbers[0], *numbers]))
    gaps = np.array([min(max(step, 0), at_most + 1) for step in steps])
    order = np.argsort(gaps, kind="stable")
    gaps[order[np.cumsum(gaps[order]) > at_most]] = 0
    return gaps


# -- two sequences --------------------------------------------------------------------------------


def _taken(text: str, places: np.ndarray) -> str:
    return "".join(text[i] if i >= 0 else "-" for i in places)


def differ(above: str, below: str) -> np.ndarray:
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
    wrong = differ(above, below)
    starts = range(0, len(above), WIDTH)
    starts = [s for s in starts if wrong[s : s + WIDTH].any()] or list(starts)
    blocks = []
    for part in (slice(s, s + WIDTH) for s in starts[:BLOCKS]):
        heads = [next(filter(None, p[part]), "") for p in (above_places, below_places)]
        marks = "".join("*" if is_wrong else " " for is_wrong in wrong[part]).rstrip()
        rows = zip((heads[0], "", heads[1]), (above[part], marks, below[part]), strict=True)
        width = max(map(len, heads))
        blocks.append("\n".join(f"{head:>{width}} {text}".rstrip() for head, text in rows))
    if len(starts) > BLOCKS:
        blocks.append(f"… and {len(starts) - BLOCKS} more")
    return "\n\n".join(blocks)
