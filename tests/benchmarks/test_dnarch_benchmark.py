"""The benchmark of DNArch fills its table once; a coarse network takes less time."""

import sys

import pandas as pd
import pytest

from benchmarks import dnarch_accuracy


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    monkeypatch.setattr(
        dnarch_accuracy, "DARCY", dict(resolution=9, n_train=4, n_val=2, n_test=2, batch_size=2)
    )
    stamps = dict(n_train=2, n_val=1, n_test=2, size=48, window=16, batch_size=2)
    monkeypatch.setattr(dnarch_accuracy, "COSMIC", stamps)
    monkeypatch.setattr(dnarch_accuracy, "DIGITS", dict(n_train=20, n_val=10, n_test=10))
    monkeypatch.setattr(dnarch_accuracy, "NETWORK", dict(width=4, blocks=2, hidden=8))
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)


def call(monkeypatch, *arguments) -> pd.DataFrame:
    words = ["benchmark", *arguments, "--results", "results", "--runs", "runs"]
    monkeypatch.setattr(sys, "argv", words)
    dnarch_accuracy.main()
    return pd.read_csv("results/dnarch_accuracy.csv")


def test_every_problem_is_measured_once(monkeypatch, capsys):
    asked = ["darcy", "cosmic", "digits", "permuted", "--epochs", "1", "--arms", "CCNN,DNArch_KRWD"]
    table = call(monkeypatch, *asked)
    assert table["problem"].tolist() == [p for p in asked[:4] for _ in range(2)]
    assert (table[["error", "complexity", "step_of_ccnn", "mflops"]] > 0).all(axis=None)
    assert table.loc[table["arm"] == "CCNN", "complexity"].tolist() == [1.0] * 4
    for name in ("train_pde", "train_cosmic", "train_vision"):
        monkeypatch.setattr(dnarch_accuracy.sciops, name, None)
    assert call(monkeypatch, *asked).equals(table)  # nothing is trained again
    assert "| digits | DNArch_KRWD |" in capsys.readouterr().out


def test_other_networks_stand_beside_them(monkeypatch):
    table = call(monkeypatch, "darcy", "--epochs", "1", "--arms", "FNO,XD")
    assert table["complexity"].isna().all() and (table["step_ms"] > 0).all()


def test_unknown_problems_and_empty_tables(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        call(monkeypatch, "nonsense")
    assert "there are darcy, cosmic" in capsys.readouterr().err
    with pytest.raises(FileNotFoundError):
        call(monkeypatch, "--table")
    assert "Nothing has been measured yet" in capsys.readouterr().out
    with pytest.raises(ValueError, match="needs --folder"):
        call(monkeypatch, "cosmic-real", "--epochs", "1", "--arms", "CCNN")


def test_fewer_frequencies_are_fewer_operations(monkeypatch):
    """Without a clock: of KR networks, those of less complexity compute less than K."""
    monkeypatch.setattr(dnarch_accuracy, "side_by_side", lambda steps, repeats: [1.0] * len(steps))
    table = dnarch_accuracy.speed(width=16).set_index("network")
    assert table.loc["KR at 0.8", "complexity"] == pytest.approx(0.8, abs=0.03)
    order = table.loc[["K", "KR at 0.8", "KR at 0.6", "KR at 0.4"], "mflops"]
    assert order.is_monotonic_decreasing


@pytest.mark.slow
def test_a_coarse_network_takes_less_time():
    table = dnarch_accuracy.speed(repeats=7).set_index("network")
    assert table.loc["KR at 0.8", "step_ms"] < 0.97 * table.loc["K", "step_ms"]
    assert table.loc["KR at 0.4", "step_ms"] < 0.8 * table.loc["K", "step_ms"]
