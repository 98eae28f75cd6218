"""Are these piano rolls what they say they are?  Values, sounding keys, leaks between splits."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from sciops.domains.checking import Finding, finding

from .rolls import pieces_of

if TYPE_CHECKING:
    import xarray as xr

USUAL = (0.5, 12.0)  # keys that sound at once, the mean of a split


def check_music(splits: Mapping[str, "xr.Dataset"]) -> list[Finding]:
    """A line for the notes of each split, and one for all of them."""
    findings, pieces = [], {}
    for split, ds in splits.items():
        pieces[split] = pieces_of(ds)
        wrong = list(_note_problems(pieces[split]))
        findings.append(finding("notes", split, wrong, "0 or 1, and several keys at once"))
    if len(splits) > 1:
        findings.append(finding("leaks", "all", list(_leaks(pieces)), "no piece is in two splits"))
    return findings


def _note_problems(pieces: list[np.ndarray]) -> Iterator[str]:
    notes = np.concatenate(pieces)
    if notes.max(initial=0) > 1:
        yield f"a note has the value {notes.max()}, expected 0 or 1"
    short = sum(len(piece) < 2 for piece in pieces)
    if short:
        yield f"{short} pieces have fewer than 2 frames, so there is nothing to predict"
    mean = notes.sum(1).mean()
    if not USUAL[0] <= mean <= USUAL[1]:
        yield f"{mean:.3g} keys sound at once in the mean, expected {USUAL[0]} to {USUAL[1]}"


def _leaks(pieces: Mapping[str, list[np.ndarray]]) -> Iterator[str]:
    seen: dict[bytes, tuple[str, int]] = {}
    for split, of_split in pieces.items():
        for number, piece in enumerate(of_split):
            where, other = seen.setdefault(piece.tobytes(), (split, number))
            if where != split:
                yield f"piece {number} of {split} is piece {other} of {where}"
