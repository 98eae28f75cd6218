"""The benchmark of searches fills its table once, a group at a time, and sums it up."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import search_accuracy
from sciops.runs import problems

IMAGES = dict(n_train=12, n_val=6, n_test=8)
CELLS = dict(width=2, n_cells=2, n_nodes=1)
DARCY = dict(resolution=8, n_train=4, n_val=2, n_test=2, taps=3)


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    """A table like MNIST's, few images and small networks."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 256, (90, 784)), np.arange(90) % 10])
    lines = "\n".join(",".join(map(str, row)) for row in rows.tolist())
    (tmp_path / search_accuracy.MNIST).write_bytes(gzip.compress(f"{lines}\n".encode()))
    monkeypatch.setattr(search_accuracy, "IMAGES", IMAGES)
    monkeypatch.setattr(search_accuracy, "CELLS", CELLS)
    monkeypatch.setattr(search_accuracy, "DARCY", DARCY)
    monkeypatch.setitem(problems.FIELD_NETWORK, 2, dict(width=2, blocks=1, hidden=4))
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(monkeypatch, *arguments) -> pd.DataFrame:
    words = ["benchmark", ".", "--results", "results", "--runs", "runs", *arguments]
    monkeypatch.setattr(sys, "argv", words)
    search_accuracy.main()
    return pd.read_csv("results/search_accuracy.csv")


def test_a_group_is_measured_once(small, monkeypatch, capsys):
    asked = ["--groups", "spaces", "--data", "digits", "--seeds", "0", "--epochs", "1"]
    monkeypatch.setattr(
        search_accuracy,
        "SPACES",
        {name: search_accuracy.SPACES[name] for name in ("xd depth 3", "linear")},
    )
    table = call(monkeypatch, *asked)
    assert table["arm"].tolist() == ["lenet", "xd depth 3", "linear"] * 2
    assert table["data"].unique().tolist() == ["digits plain", "digits permuted"]
    assert table["offline"].between(0, 100).all()
    assert table["supernet"].notna().tolist() == [False, True, False] * 2
    monkeypatch.setattr(search_accuracy.sciops, "search", None)
    assert call(monkeypatch, *asked).equals(table)  # nothing is searched again
    text = (small / "results/search_accuracy.md").read_text()
    assert text in capsys.readouterr().out
    line = next(line for line in text.splitlines() if "permuted | xd depth 3" in line)
    assert "(1)" in line and "63.0 / – †" in line
    assert list((small / "runs").iterdir()) == []


def test_strategies_share_a_budget(monkeypatch):
    cheap = {"joint": {}, "random": {"members": 2}}
    arms = {name: {"strategy": name, **how, "depth": 2} for name, how in cheap.items()}
    monkeypatch.setattr(search_accuracy, "STRATEGIES", arms)
    asked = ["--groups", "strategies", "--data", "mnist", "--seeds", "1", "--epochs", "2"]
    table = call(monkeypatch, *asked)
    assert table["arm"].tolist() == ["joint", "random"] and table["supernet"].notna().all()
    assert "75.3 / 73.8 (plain)" in Path("results/search_accuracy.md").read_text()


def test_operations_travel_from_digits_to_mnist(monkeypatch):
    monkeypatch.setattr(search_accuracy, "SCRATCH", dict(space="kop", start="scratch", depth=2))
    table = call(monkeypatch, "--groups", "transfer", "--seeds", "0", "--epochs", "1")
    assert len(table) == 4 and table["offline"].between(0, 100).all()
    found = table.set_index("arm")["parameters"]
    assert found["found on digits"] == found["random"] > found["convolution"]


def test_cells_and_fields(monkeypatch):
    how = {"guided": dict(guidance=10.0), "random": dict(strategy="random", members=1)}
    monkeypatch.setattr(search_accuracy, "NOS", how)
    asked = ["--groups", "nos,darcy", "--data", "digits,darcy", "--seeds", "0", "--epochs", "1"]
    table = call(monkeypatch, *asked)
    of_darcy = table[table["group"] == "darcy"]
    assert of_darcy["arm"].tolist() == ["convolution", "discrete", "nos", "xd"]
    assert (of_darcy["offline"] > 0.1).all()
    assert table[table["group"] == "nos"]["data"].unique().tolist() == ["digits plain", "darcy"]


def test_groups_that_are_not_known(monkeypatch):
    with pytest.raises(SystemExit, match="there is no group 'all'; there are spaces"):
        call(monkeypatch, "--groups", "all")
