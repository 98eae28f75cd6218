"""The benchmark of covariation measures every part of the features, of real families too."""

import gzip
import sys

import pytest

from benchmarks import covariation


def test_all_is_the_sum_of_the_parts():
    row = covariation.measure(covariation.random_rows(30, 8), repeats=1)
    assert row.pop("least") == row.pop("most") == row["all"]
    assert row.pop("all") == pytest.approx(sum(row.values()))
    assert set(row) == {"weights", *covariation.PARTS} and min(row.values()) > 0


def test_the_spread_is_that_of_the_repeats(monkeypatch):
    seconds = iter([1.0, 2, 3, 4, 5, 10, 20, 30, 40, 50, 0, 0, 0, 0, 1])
    monkeypatch.setattr(covariation, "seconds_of", lambda *_: next(seconds))
    row = covariation.measure(covariation.random_rows(30, 8), repeats=3)
    assert (row["least"], row["all"], row["most"]) == (1, 15, 150)
    assert row["weights"] == 1 and row["couplings"] == 5


def test_largest_family_is_measured_where_there_is_one(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "protein" / "kortemme" / "alignments"
    folder.mkdir(parents=True)
    assert covariation.largest_family(folder) is None
    for name, rows in (("small", "ACD"), ("large", "ACDEFGHIKL-X")):
        text = "".join(f">{i}\n{rows}\n" for i in range(len(rows)))
        (folder / f"{name}.fasta.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(covariation, "SHARED", tmp_path)
    monkeypatch.setattr(sys, "argv", ["covariation", "--quick", "--results", str(tmp_path)])
    covariation.main()
    printed = capsys.readouterr().out
    assert "random, 1000 × 100" in printed and "large, 12 × 12" in printed
    assert (tmp_path / "covariation.md").read_text() in printed
    before = (tmp_path / "covariation.csv").read_text()
    covariation.main()
    assert (tmp_path / "covariation.csv").read_text() == before  # not measured again
