"""The benchmark that `make bench` and `make demo` run, on grids small enough for a test."""

import sys

import pandas as pd
import pytest
import torch

from benchmarks import measure, operators


@pytest.fixture(autouse=True)
def same_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def test_demo_ends_with_a_table_and_a_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(operators, "PLANE", [(8, 1, 1.0), (9, 2, 1.0)])
    figure, csv = tmp_path / "made" / "figure.png", tmp_path / "table.csv"
    command = ["operators", "--quick", "--figure", str(figure), "--csv", str(csv)]
    monkeypatch.setattr(sys, "argv", command)
    operators.main()
    assert "8², batch 1" in capsys.readouterr().out
    assert figure.read_bytes().startswith(b"\x89PNG")
    table = pd.read_csv(csv)
    assert (table["SpectralConv ms"] / table["XD ms"]).tolist() == pytest.approx(
        table["times faster"].tolist()
    )


def test_where_time_goes_adds_up(monkeypatch, capsys):
    monkeypatch.setattr(operators, "PLANE", [(16, 1, 1.0)])
    row = operators.where_time_goes(pd.DataFrame({"XD ms": [2.0]})).iloc[0]
    assert row["measured ms"] == 2.0 and row["flop limit ms"] > 0 and row["memory limit ms"] > 0
    for kind in ("time in", ""):
        shares = [
            v for k, v in row.items() if k.endswith("%") and k.startswith("time") == bool(kind)
        ]
        assert sum(shares) == pytest.approx(100)


def test_side_by_side_tells_the_slower_run():
    a = torch.randn(300, 300)
    fast, slow = measure.side_by_side([lambda: a @ a, lambda: [a @ a for _ in range(20)]], 5)
    assert slow > 3 * fast


def test_peak_memory_sees_a_large_tensor():
    megabytes = measure.peak_megabytes(lambda: torch.ones(2**24).sum())
    assert megabytes != megabytes or 50 < megabytes < 200  # nan where it cannot be measured
