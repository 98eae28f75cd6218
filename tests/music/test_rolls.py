"""Piano rolls: what is a piece, and many of them in one data set."""

import numpy as np
import pytest

from sciops.data.ragged_store import open_ragged, write_ragged
from sciops.music.rolls import as_dataset, as_roll, pieces_of
from tests.music.toy import scale


def test_pieces_come_back_from_a_data_set_and_from_a_store(tmp_path):
    pieces = [scale(5), scale(2, 1), scale(11, 2)]
    ds = as_dataset(pieces, {"title": "toy"})
    assert ds.sizes == {"piece": 3, "frame": 18, "key": 88} and ds.attrs["name"] == "music"
    write_ragged(tmp_path / "toy.zarr", {"train": ds})
    for found in (ds, open_ragged(tmp_path / "toy.zarr")["train"].to_dataset()):
        back = pieces_of(found)
        assert all(np.array_equal(a, b) for a, b in zip(pieces, back, strict=True))


def test_midi_pitches_and_velocities_become_keys():
    pitches = np.zeros((3, 128))
    pitches[0, 21], pitches[1, 108], pitches[2, 60] = 1, 127, 64
    roll = as_roll(pitches)
    assert roll.dtype == np.uint8 and roll.sum() == 3
    assert roll[0, 0] == roll[1, 87] == roll[2, 39] == 1


@pytest.mark.parametrize(
    ("piece", "message"),
    [
        (np.zeros((5, 60)), r"shape \(5, 60\) .* a piece is an array of numbers \(frames, 88 keys"),
        (np.zeros(88), "a piece is an array of numbers"),
        (np.array([["a"] * 88] * 2), "a piece is an array of numbers"),
        (np.zeros((1, 88)), "has 1 frames; the next one is predicted"),
        (np.full((3, 88), np.nan), "negative or not finite"),
        (-np.ones((3, 88)), "negative or not finite"),
        (np.ones((3, 128)), "outside of a piano's range, MIDI pitches 21 to 108"),
    ],
)
def test_what_is_no_piece_is_refused(piece, message):
    with pytest.raises(ValueError, match=message):
        as_roll(piece)


def test_a_data_set_is_what_its_lengths_say():
    ds = as_dataset([scale(5), scale(7)], {})
    with pytest.raises(ValueError, match=r"need notes \(12, 88\); it has \(11, 88\)"):
        pieces_of(ds.isel(frame=slice(11)))
    with pytest.raises(ValueError, match="at least one piece"):
        as_dataset([], {})
