"""The benchmark of grammars fills its table once, searches it and sums it up."""

import sys
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import grammar_search, grammar_tables
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.ready import ReadySpace
from sciops.studies.proposers import make_proposer
from tests.grammar_search_toy import BAYES, DATA

SMALL = parse_grammar(
    "NET -> Linear2(lift4, UNIT)\nUNIT -> Linear2(OP, ACT) | Residual2(OP, id, ACT)\n"
    "OP -> conv3 | conv1 | avg_pool\nACT -> relu | tanh"
)


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    """Twelve networks on few images."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    pytest.importorskip("optuna", reason="the engine of studies, Optuna, is not installed")
    ready = ReadySpace("digits", SMALL, "fields", connected=False, dense=False)
    monkeypatch.setattr(grammar_tables, "ready_space", lambda name: ready)
    monkeypatch.setattr(grammar_tables, "IMAGES", dict(n_train=24, n_val=12, n_test=12))
    monkeypatch.setattr(grammar_search, "ARMS", {"bayes": BAYES, "random": make_proposer("random")})
    monkeypatch.setattr(grammar_search, "LEARNED", (6,))
    monkeypatch.setattr(grammar_search, "LENGTH", 5)
    monkeypatch.setattr(grammar_search, "SHOWN", (1, 5))
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)


def call(monkeypatch, *arguments) -> None:
    words = ["benchmark", "--results", "results", "--runs", "runs", "--seeds", "2", *arguments]
    monkeypatch.setattr(sys, "argv", words)
    grammar_search.main()


def test_the_table_is_made_once_and_searched(monkeypatch, capsys):
    with pytest.raises(SystemExit, match=r"12 terms are not in .* call --groups table first"):
        call(monkeypatch, "--groups", "tau", "--epochs", "1")
    call(monkeypatch, "--groups", "table", "--epochs", "1")
    assert "12 networks left, 0 min" in capsys.readouterr().out
    networks = pd.read_csv("results/grammar_digits.csv")
    assert networks["term"].nunique() == 12 and (networks["val_cross_entropy"] > 0).all()
    monkeypatch.setattr(grammar_tables, "trained", None)  # nothing is trained again
    call(monkeypatch, "--groups", "table,strategies,curves,tau", "--epochs", "1")
    rows = pd.read_csv("results/grammar_search.csv")
    searches = rows[rows["group"] == "strategies"]
    assert searches["arm"].tolist() == ["bayes", "random"] * 2
    assert searches["found"].astype(bool).all() and searches["trials"].between(1, 12).all()
    assert searches["val"].tolist() == pytest.approx([networks["val_cross_entropy"].min()] * 4)
    assert rows[rows["group"] == "tau"]["tau"].between(-1, 1).all()
    curves = pd.read_csv("results/grammar_curves.csv")[["1", "2", "3", "4", "5"]]
    assert len(curves) == 4 and (curves.diff(axis=1).iloc[:, 1:] <= 0).all(axis=None)
    assert curves.isin(networks["val_cross_entropy"].tolist()).all(axis=None)
    assert curves["1"][0] == curves["1"][1] != curves["1"][2]  # of a seed, the first is the same
    text = Path("results/grammar_search.md").read_text()
    assert "| bayes | 2 | " in text and "| grammar | arm | seeds | 1 trials | 5 trials |" in text
    assert "| bayes | 1 |" in text and "| hierarchical, 6 terms | 1 |" in text
    assert text in capsys.readouterr().out


def test_one_search_on_darcy_and_the_same_networks_from_other_starts(monkeypatch):
    monkeypatch.setattr(grammar_search, "DARCY", DATA)
    own = dict(grammar=str(SMALL), hidden=4, early_stopping=None)
    monkeypatch.setattr(grammar_search, "SEARCH", own)
    asked = ["--darcy-epochs", "1", "--trials", "2", "--starts", "2"]
    with pytest.raises(SystemExit, match=r"no search with 1 epochs; call --groups darcy"):
        call(monkeypatch, "--groups", "confirm", *asked)
    call(monkeypatch, "--groups", "darcy,confirm", *asked)
    every = pd.read_csv("results/grammar_search.csv")
    rows = every[every["group"] == "darcy"]
    assert rows["arm"].str.split("-").str[0].tolist() == ["best of 2 terms", "fno", "xd"]
    assert (rows["test"] > 0).all() and rows["term"].notna().tolist() == [True, False, False]
    assert Path("runs/darcy-1-0/report.html").exists()
    assert rows["term"][0] in Path("results/grammar_search.md").read_text()
    again = every[every["group"] == "confirm"]
    assert again["arm"].tolist() == rows["arm"].tolist() * 2
    assert again["term"].fillna("").tolist() == rows["term"].fillna("").tolist() * 2
    controls = again["parameters"].to_numpy().reshape(2, 3)[:, 1:]
    assert (controls == rows["parameters"].to_numpy()[1:]).all()
    assert again["test"].nunique() == 6  # every start is another network


def test_groups_that_are_not_known(monkeypatch):
    with pytest.raises(SystemExit, match="there is no group 'all'; there are table"):
        call(monkeypatch, "--groups", "all")
