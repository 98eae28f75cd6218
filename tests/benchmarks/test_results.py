"""Rows of results are measured once, whoever measures them."""

from importlib.metadata import PackageNotFoundError

import pandas as pd

from benchmarks import results
from benchmarks.results import Rows


def test_a_row_is_measured_once_and_kept(tmp_path):
    calls = []

    def measure():
        calls.append(1)
        return {"error": 0.25}

    for seed in (0, 1, 0):
        row = Rows("demo", ("op", "seed"), tmp_path).get({"op": "xd", "seed": seed}, measure)
        assert row["error"] == 0.25 and row["seed"] == str(seed) and "torch" in row["machine"]
    assert len(calls) == 2
    assert len(pd.read_csv(tmp_path / "demo.csv")) == 2


def test_rows_of_two_writers_are_both_there(tmp_path):
    first, second = (Rows("demo", ("op",), tmp_path) for _ in range(2))
    first.get({"op": "xd"}, lambda: {"error": 1.0})
    second.get({"op": "fno"}, lambda: {"error": 2.0})
    first.get({"op": "conv"}, lambda: {"error": 3.0})
    assert list(first.table["op"]) == ["xd", "fno", "conv"]


def test_the_machine_names_versions_without_importing(monkeypatch):
    assert f"neuraloperator {results.version('neuraloperator')}, sciops" in results.machine()

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(results, "version", missing)
    assert "neuraloperator" not in results.machine() and ", sciops" in results.machine()
