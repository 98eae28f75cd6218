"""The benchmark of covariation measures every part of the features, of real families too."""

import gzip
import sys

import pytest

from benchmarks import covariation


def test_all_is_the_sum_of_the_parts():
    row = covariation.measure("random", covariation.random_rows(30, 8), repeats=1)
    assert row.pop("case") == "random, 30 × 8"
    assert row.pop("all") == pytest.approx(sum(row.values()))
    assert set(row) == {"weights", *covariation.PARTS} and min(row.values()) > 0


def test_largest_family_is_measured_where_there_is_one(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "protein" / "kortemme" / "alignments"
    folder.mkdir(parents=True)
    assert covariation.largest_family(folder) is None
    for name, rows in (("small", "ACD"), ("large", "ACDEFGHIKL-X")):
        text = "".join(f">{i}\n{rows}\n" for i in range(len(rows)))
        (folder / f"{name}.fasta.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(covariation, "SHARED", tmp_path)
    monkeypatch.setattr(sys, "argv", ["covariation", "--quick"])
    covariation.main()
    printed = capsys.readouterr().out
    assert "random, 1000 × 100" in printed and "large, 12 × 12" in printed
