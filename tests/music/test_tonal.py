"""Synthetic pieces: a function of their number, tonal, and like themselves later on."""

import numpy as np
import pytest

from sciops.music.tonal import FORM, PHRASE, RANGES, SCALES, generate_pieces, synthetic_piece


def test_a_piece_depends_on_its_number_alone():
    first, second = generate_pieces([3, 8], progress=False), generate_pieces([8], progress=False)
    assert np.array_equal(first[1], second[0])
    assert not np.array_equal(first[0][:40], first[1][:40])
    assert not np.array_equal(synthetic_piece(8, seed=1)[:40], first[1][:40])


def test_lengths_are_within_their_limits():
    lengths = [len(p) for p in generate_pieces(range(60), length=(20, 24), progress=False)]
    assert set(lengths) == {20, 21, 22, 23, 24}


def test_four_voices_sing_in_one_key():
    for number in range(20):
        roll = synthetic_piece(number)
        assert set(np.unique(roll)) == {0, 1} and roll.shape[1] == 88
        assert roll.sum(1).min() >= 2 and roll.sum(1).max() <= 4  # voices may meet
        pitches = np.nonzero(roll)[1] + 21
        assert RANGES[0][0] <= pitches.min() and pitches.max() <= RANGES[-1][1]
        classes = set((pitches % 12).tolist())
        keys = ({(t + s) % 12 for s in scale} for t in range(12) for scale in SCALES.values())
        assert any(classes <= key for key in keys)


def test_the_first_phrase_is_repeated():
    assert FORM == "AABA"
    roll = synthetic_piece(1, length=(80, 80))
    a, b = roll[:PHRASE], roll[2 * PHRASE : 3 * PHRASE]
    assert np.array_equal(a, roll[PHRASE : 2 * PHRASE]) and not np.array_equal(a, b)
    assert np.array_equal(a, roll[3 * PHRASE : 4 * PHRASE])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(number=-1), "number=-1 must be a whole number, 0 or more"),
        (dict(seed=0.5), "seed=0.5 must be a whole number"),
        (dict(length=(1, 5)), "length=.* two whole numbers ≥ 2"),
        (dict(length=(9, 5)), "length=.* the least and the most frames"),
    ],
)
def test_what_cannot_be_made_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        synthetic_piece(**{"number": 0, **changes})
