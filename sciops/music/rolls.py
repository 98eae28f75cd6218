"""Piano rolls: which of the 88 keys of a piano sound in each frame of a piece.

    roll[t, k] = 1  if key k sounds in frame t, else 0        (T, 88), uint8; key 0 is MIDI pitch 21

Pieces of any length lie in one data set without padding, one after the other (CF's contiguous
ragged array):

    length (piece)        number of frames T
    notes  (frame, key)   0 or 1
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

KEYS = 88
LOWEST = 21  # MIDI pitch of the first key, A0
PITCHES = 128  # of MIDI
LENGTH = {"long_name": "number of frames", "sample_dimension": "frame"}  # a count in CF's words


def as_roll(array: Any, name: str = "the piece") -> np.ndarray:
    """A piece as a roll, from (T, 88) keys or (T, 128) MIDI pitches; what is above 0 sounds.

    >>> chord = np.zeros((2, 128))
    >>> chord[:, [60, 64, 67]] = 90  # velocities of C, E, G
    >>> as_roll(chord).shape, np.flatnonzero(as_roll(chord)[0]) + LOWEST
    ((2, 88), array([60, 64, 67]))
    """
    array = np.asarray(array)
    if array.ndim != 2 or array.shape[1] not in (KEYS, PITCHES) or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has the shape {array.shape} and the type {array.dtype}; a piece is an array "
            f"of numbers (frames, {KEYS} keys) or (frames, {PITCHES} MIDI pitches)"
        )
    if len(array) < 2:
        raise ValueError(f"{name} has {len(array)} frames; the next one is predicted: give ≥ 2")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name} has values that are negative or not finite; give 0 and 1")
    if array.shape[1] == PITCHES:
        outside = np.delete(array, range(LOWEST, LOWEST + KEYS), axis=1)
        if outside.any():
            raise ValueError(
                f"{name} has notes outside of a piano's range, MIDI pitches {LOWEST} to "
                f"{LOWEST + KEYS - 1}; leave them out or transpose the piece"
            )
        array = array[:, LOWEST : LOWEST + KEYS]
    return np.ascontiguousarray(array > 0, np.uint8)


def as_dataset(pieces: Iterable[Any], attrs: Mapping[str, Any]) -> "xr.Dataset":
    """Pieces as one data set; attrs: title, source, licence and so on."""
    import xarray as xr

    rolls = [as_roll(piece, f"piece {k}") for k, piece in enumerate(pieces)]
    if not rolls:
        raise ValueError("a data set needs at least one piece")
    lengths = np.array([len(roll) for roll in rolls], np.int32)
    variables = {
        "length": ("piece", lengths, LENGTH),
        "notes": (("frame", "key"), np.concatenate(rolls), {"long_name": "key sounds"}),
    }
    return xr.Dataset(variables, attrs={"name": "music", **attrs})


def pieces_of(ds: "xr.Dataset") -> list[np.ndarray]:
    """The rolls of `as_dataset`."""
    lengths, notes = ds["length"].values.astype(np.int64), ds["notes"].values
    if notes.shape != (lengths.sum(), KEYS):
        raise ValueError(
            f"no data set of music: its lengths need notes {(int(lengths.sum()), KEYS)}; it has "
            f"{notes.shape}"
        )
    return np.split(notes, np.cumsum(lengths)[:-1])
