"""Every reader, with some of the inputs that `python -m tests.fuzzing` has thousands of."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from sciops.data.found import ReadError

from .__main__ import keep
from .reader import Reader
from .readers import READERS
from .sandbox import OUTCOMES, PROMISED, subject_of, verdicts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")

COUNT = 150
SLOW = {"store": 20, "ragged": 20, "attributes": 20, "search": 20, "grammar-search": 5}
SLOW |= {"journal": 40, "config": 60, "run": 60, "pdnet": 60}


@pytest.mark.parametrize("name", READERS)
def test_inputs_are_read_or_refused(name, tmp_path):
    found = list(verdicts(READERS[name], range(SLOW.get(name, COUNT)), tmp_path))
    faults = [
        f"python -m tests.fuzzing {name} --only {v.number}: {v.outcome} {v.detail}"
        for v in found
        if v.outcome not in PROMISED
    ]
    assert not faults, "\n".join(faults[:5])
    assert {verdict.outcome for verdict in found} >= {"refused"}


def _reading(path: Path) -> None:
    """A reader with every fault there is, by the first letter of what it reads."""
    letter = path.joinpath("f").read_bytes()[:1]
    if letter == b"x":
        raise KeyError("x")
    if letter == b"v":
        int("v")
    if letter == b"n":
        raise ReadError(f"{path} is refused")
    if letter == b"m":
        bytearray(2**40)
    if letter == b"w":
        path.with_name("outside").write_text("")
    if letter == b"p":
        __import__("subprocess").run(["true"])
    if letter == b"k":
        __import__("os").abort()


@pytest.mark.parametrize(
    ("letter", "outcome"),
    [
        *zip(
            "rxvmwpk",
            ["read", "foreign", "foreign", "memory", "escape", "escape", "crash"],
            strict=True,
        )
    ],
)
def test_verdicts(letter, outcome, tmp_path, monkeypatch):
    subject = {"f": letter.encode()}
    monkeypatch.setattr("tests.fuzzing.sandbox.subject_of", lambda *_: subject)
    reader = Reader("toy", lambda: [{"f": b"r"}], _reading)
    assert [verdict.outcome for verdict in verdicts(reader, [0, 1], tmp_path)] == [outcome] * 2


def test_a_hang_is_noticed_and_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.fuzzing.sandbox.SECONDS", 0.2)
    monkeypatch.setattr("tests.fuzzing.sandbox.subject_of", lambda *_: {"f": b"hang"})

    def read(path: Path) -> None:
        while path.joinpath("f").read_bytes() == b"hang":
            pass

    reader = Reader("toy", lambda: [{"f": b"r"}], read)
    assert [verdict.outcome for verdict in verdicts(reader, [0], tmp_path)] == ["hang"]


def test_inputs_are_the_same_every_time():
    reader = READERS["npy"]
    subjects = [subject_of(reader, 0, number) for number in range(20)]
    assert subjects == [subject_of(reader, 0, number) for number in range(20)]
    assert len({json.dumps({n: d.hex() for n, d in s.items()}) for s in subjects}) > 15
    assert subjects != [subject_of(reader, 1, number) for number in range(20)]


def test_counts_are_kept_by_reader(tmp_path):
    row = {"reader": "npy", "inputs": 5, **dict.fromkeys(OUTCOMES, 0)}
    keep([row, {**row, "reader": "matlab5"}], tmp_path)
    keep([{**row, "inputs": 7}], tmp_path)
    table = pd.read_csv(tmp_path / "fuzzing.csv")
    assert dict(zip(table["reader"], table["inputs"], strict=True)) == {"matlab5": 5, "npy": 7}
    assert "| npy | 7 |" in (tmp_path / "fuzzing.md").read_text()
