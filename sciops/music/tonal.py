"""Made-up pieces, so that everything runs without a single file.

They are SYNTHETIC: nobody composed them.  Four voices sing a progression of chords in one key:

    key       one of 12 tonics, major or minor
    chords    a Markov chain on the degrees I … VII that likes fifths and ends a phrase on V – I
    voices    bass on the root, three others on the chord tone nearest to where they were, sometimes
              a passing note of the scale between two chords
    form      phrases of 16 frames in the order A A B A, so that a piece repeats itself

Use them to try things out, and real music to learn about music.
"""

from collections.abc import Iterable

import numpy as np

from sciops.data.progress import progress_bar

from .rolls import KEYS, LOWEST

LENGTH = (40, 120)  # frames, both included
PHRASE = 16  # frames
FORM = "AABA"
SCALES = {"major": (0, 2, 4, 5, 7, 9, 11), "minor": (0, 2, 3, 5, 7, 8, 11)}
RANGES = ((40, 57), (50, 66), (57, 73), (63, 81))  # MIDI pitches of bass, tenor, alto, soprano
DURATIONS, LIKELY = (1, 2, 4), (0.25, 0.5, 0.25)  # of a chord, frames
PASSING = 0.3  # chance of a passing note where a voice leaps
NEXT = np.array(  # from the degree of the row to that of the column, I … VII
    [
        [1, 3, 1, 5, 5, 4, 1],
        [1, 1, 1, 1, 8, 1, 2],
        [0, 2, 0, 4, 1, 6, 0],
        [4, 3, 0, 1, 6, 1, 2],
        [9, 0, 1, 2, 1, 4, 0],
        [1, 5, 1, 5, 3, 0, 0],
        [8, 0, 2, 0, 1, 1, 0],
    ],
    float,
)


def generate_pieces(
    numbers: Iterable[int],
    *,
    seed: int = 0,
    length: tuple[int, int] = LENGTH,
    progress: bool = True,
) -> list[np.ndarray]:
    """The synthetic pieces with these numbers; splits are ranges of numbers."""
    numbers = list(numbers)
    pieces = []
    with progress_bar("synthetic music", len(numbers), shown=progress) as count:
        for number in numbers:
            pieces.append(synthetic_piece(number, seed=seed, length=length))
            count(1)
    return pieces


def synthetic_piece(number: int, *, seed: int = 0, length: tuple[int, int] = LENGTH) -> np.ndarray:
    """A made-up roll (T, 88), a function of its number, the seed and the lengths allowed alone.

    >>> piece = synthetic_piece(3, length=(20, 30))
    >>> piece.shape, int(piece.sum(1).max())
    ((25, 88), 4)
    """
    _check(number, seed, length)
    rng = np.random.default_rng([seed, number])
    frames = int(rng.integers(length[0], length[1] + 1))
    tonic, scale = rng.integers(12), np.array(SCALES[rng.choice(list(SCALES))])
    phrases = {name: _phrase(tonic, scale, rng) for name in sorted(set(FORM))}
    once = np.concatenate([phrases[name] for name in FORM])  # (frames, voices)
    pitches = np.concatenate([once] * -(-frames // len(once)))[:frames]
    roll = np.zeros((frames, KEYS), np.uint8)
    roll[np.arange(frames)[:, None], pitches - LOWEST] = 1
    return roll


def _phrase(tonic: int, scale: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """MIDI pitches (PHRASE, voices)."""
    degrees = _degrees(rng)
    voices = np.array([(low + high) // 2 for low, high in RANGES])
    frames = []
    for degree in degrees:
        chord = (tonic + scale[(degree + np.array([0, 2, 4])) % 7]) % 12
        tones = [chord[:1], chord, chord, chord]  # the bass has the root
        new = np.array([_nearest(*voice) for voice in zip(voices, tones, RANGES, strict=True)])
        if frames and rng.random() < PASSING:
            frames[-1] = _passing(frames[-1], new, (tonic + scale) % 12)
        frames.append(new)
        voices = new
    return np.stack(frames)


def _degrees(rng: np.random.Generator) -> list[int]:
    """The degree of the chord in each frame of a phrase, which begins on I and ends on V, I."""
    degrees, degree = [], 0
    while len(degrees) < PHRASE - 4:
        degrees += [degree] * int(rng.choice(DURATIONS, p=LIKELY))
        degree = int(rng.choice(7, p=NEXT[degree] / NEXT[degree].sum()))
    return [*degrees[: PHRASE - 4], 4, 4, 0, 0]


def _nearest(voice: int, tones: np.ndarray, limits: tuple[int, int]) -> int:
    """The pitch within the limits whose class is one of the tones and that is nearest."""
    pitches = np.arange(limits[0], limits[1] + 1)
    pitches = pitches[np.isin(pitches % 12, tones)]
    return int(pitches[np.argmin(np.abs(pitches - voice))])


def _passing(now: np.ndarray, new: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Soprano between where it is and where it goes, on a note of the scale."""
    between = (now[-1] + new[-1]) // 2
    if abs(now[-1] - new[-1]) < 3:
        return now
    return np.array([*now[:-1], _nearest(between, scale, RANGES[-1])])


def _check(number: int, seed: int, length: tuple[int, int]) -> None:
    for name, value in (("number", number), ("seed", seed)):
        if not _is_whole(value) or value < 0:
            raise ValueError(f"{name}={value!r} must be a whole number, 0 or more")
    pair = isinstance(length, tuple | list) and len(length) == 2 and all(map(_is_whole, length))
    if not pair or not 2 <= length[0] <= length[1]:
        raise ValueError(
            f"length={length!r} must be the least and the most frames, two whole numbers ≥ 2, as "
            f"in {LENGTH}"
        )


def _is_whole(value) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
