"""`sciops search` prints the table of trials and fails clearly."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from sciops.cli.app import app

TINY = "--budget 1 --set n_train=16 --set n_val=8 --set n_test=8"


def run(*words: object):
    return CliRunner().invoke(app, [w for word in words for w in str(word).split()])


def test_it_prints_every_network_and_where_it_is(tmp_path):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    folder, table = tmp_path / "found", tmp_path / "trials.csv"
    words = "search digits --space kop --set start=scratch --set depth=2", TINY, "--out", folder
    result = run(*words, "--report", "--csv", table)
    assert result.exit_code == 0, result.output
    for text in ("backbone", "random-member", "supernet", "offline", "than the controls"):
        assert text in result.stdout
    assert f"search: {folder}" in result.stdout and (folder / "report.html").exists()
    again = run(*words, "--json")  # reads what is there
    rows = json.loads(again.stdout)
    assert [row["trial"] for row in rows] == list(pd.read_csv(table)["trial"])
    assert rows[2]["val"] == pytest.approx(pd.read_csv(table)["val"][2])
    other = run("search digits --space xd", TINY, "--out", folder)
    assert other.exit_code == 2 and "holds another search (" in other.stderr


@pytest.mark.parametrize(
    "words, message",
    [
        ("search mnist", "there is no task_name='mnist'; there are digits, vision, darcy"),
        ("search digits --space darts", "there are xd, kop, discrete"),
        ("search digits --strategy grid", "choose one of joint, restarts"),
        ("search digits --budget 0", "epochs=0 must be a whole number"),
        ("search digits --set colour=red", "colour"),
        ("search darcy --set colour=red", "there is no option 'colour': space 'xd' has layers"),
        ("search darcy --space grammar --set colour=red", "there is no option colour"),
        ("search digits --space grammar --strategy joint", "there are random, evolution, bayes"),
        ("search digits --space grammar --set grammar=films", "there is no grammar 'films'"),
        ("search digits --set seed=3", "has an option of its own: --seed 3"),
    ],
)
def test_errors_are_one_line_and_exit_with_two(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    result = run(words)
    assert result.exit_code == 2, result.output
    assert message in result.stderr and len(result.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
