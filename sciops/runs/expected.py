"""What a run is expected to reach, where exactly its settings have been measured.

Settings are known by their digest, so that a run with any other number, other data or another
default than at the time of the measurement expects nothing.  Only the seed may be another.  So far
these are the published collections of music with recipe `quick`; the other tables in
benchmarks/results/ are of other sizes than the recipes have.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sciops.data.schema import canonical, digest

from .run import AbstractRun

FREE = ("seed", "given")  # of a configuration: what is expected is the same
DIGITS = 16  # of a digest


class Expected(NamedTuple):
    """Mean and standard deviation over seeds of a score on test data, and where it was recorded."""

    score: str
    mean: float
    spread: float
    seeds: int
    source: str


def _music(mean: float, spread: float) -> Expected:
    return Expected("test_nats", mean, spread, 3, "benchmarks/results/music_accuracy.csv")


EXPECTED = {
    "ab11820137f122f3": _music(8.022, 0.042),  # jsb, xd
    "9ac480d931ddf7b5": _music(8.113, 0.0087),  # jsb, undilated
    "38e516c276d3a64f": _music(8.146, 0.016),  # jsb, conv
    "6d46e541390b7185": _music(2.612, 0.029),  # nottingham, xd
    "59d5b5133026b2c8": _music(3.327, 0.014),  # nottingham, undilated
    "78e5b17185182662": _music(3.104, 0.012),  # nottingham, conv
}


def settings_digest(config: Mapping[str, Any]) -> str:
    """Of all that was asked for but the seed and the place of the data."""
    return digest(canonical(_without_free(config)))[:DIGITS]


def _without_free(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return {key: _without_free(value) for key, value in part.items() if key not in FREE}


def told(run: AbstractRun) -> str:
    """What was expected and what came, in a line; "" where nothing is expected."""
    known = EXPECTED.get(settings_digest(run.config))
    if known is None:
        return ""
    got = run.metrics[known.score]
    return (
        f"{known.score}: expected {known.mean:.4g} ± {known.spread:.2g} ({known.seeds} seeds, "
        f"{known.source}), got {got:.4g}"
    )
