"""The benchmarks of sequences write their tables and go on where they stopped."""

import sys

import pandas as pd
import pytest
import scipy.io

from benchmarks import music_accuracy, permuted_digits
from sciops.music.collection import CELLS
from sciops.music.rolls import pieces_of
from tests.music.test_collection import cell
from tests.music.toy import tree

SMALL = dict(width=4, levels=1, kernel_size=2, dropout=0.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A file like the published one, and small networks."""
    splits = {split: pieces_of(tree()[split].to_dataset()) for split in CELLS}
    arrays = {name: cell(splits[split]) for split, name in CELLS.items()}
    scipy.io.savemat(tmp_path / "JSB_Chorales.mat", arrays)
    monkeypatch.setitem(music_accuracy.NETWORKS, "jsb", SMALL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(monkeypatch, module, *arguments) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark", *arguments, "--results", "results"])
    module.main()


def test_music_is_trained_once_and_summed_up(folder, monkeypatch, capsys):
    trained, train = [], music_accuracy.sciops.train_music

    def counted(*args, **options):
        trained.append((args[1], options["seed"]))
        return train(*args, epochs=2, **options)

    monkeypatch.setattr(music_accuracy.sciops, "train_music", counted)
    asked = [".", "--collections", "jsb", "--ops", "undilated,xd", "--recipes", "quick"]
    for _ in range(2):  # the second time nothing is trained again
        call(monkeypatch, music_accuracy, *asked, "--seeds", "0,1")
        assert trained == [("undilated", 0), ("xd", 0), ("undilated", 1), ("xd", 1)]
    table = pd.read_csv(folder / "results/music_accuracy.csv")
    assert list(table["op"]) == ["marginals", "undilated", "xd", "undilated", "xd"]
    assert table["nats"].notna().all()
    text = (folder / "results/music_accuracy.md").read_text()
    assert text in capsys.readouterr().out
    line = next(line for line in text.splitlines() if line.startswith("| jsb | xd |"))
    assert "(2)" in line and "8.07 ± 0.01" in line
    short = [*asked[:-3], "xd", "--recipes", "quick", "--seeds", "0", "--set", "lags=4"]
    call(monkeypatch, music_accuracy, *short)
    assert trained[4:] == [("xd", 0)]
    table = pd.read_csv(folder / "results/music_accuracy.csv")
    assert list(table["settings"]) == ["-"] * 5 + ["lags=4"]


def test_an_epoch_of_every_operator_is_timed(folder, monkeypatch):
    call(monkeypatch, music_accuracy, ".", "--collections", "jsb", "--ops", "", "--cost")
    (row,) = pd.read_csv(folder / "results/music_cost.csv").to_dict("records")
    assert all(row[op] > 0 for op in ("undilated", "conv", "xd", "xd-grid"))
    assert row["xd-grid"] > row["xd"]
    asked = (".", "--collections", "jsb", "--ops", "", "--cost", "--batch", "2")
    call(monkeypatch, music_accuracy, *asked)
    rows = pd.read_csv(folder / "results/music_cost.csv")
    assert list(rows["batch"]) == [1, 2] and pd.isna(rows["xd-grid"][1]) and rows["xd"][1] > 0


def test_digits_are_trained_once_and_summed_up(monkeypatch, tmp_path):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(permuted_digits, "NETWORK", SMALL)
    monkeypatch.setattr(permuted_digits.trained, "__kwdefaults__", {"epochs": 1})
    asked = ["--ops", "undilated,xd", "--seeds", "0"]
    call(monkeypatch, permuted_digits, *asked)
    first = pd.read_csv(tmp_path / "results/permuted_digits.csv")
    call(monkeypatch, permuted_digits, *asked)
    assert pd.read_csv(tmp_path / "results/permuted_digits.csv").equals(first)
    assert list(first["op"]) == ["undilated", "xd"] * 2 and first["accuracy"].between(0, 1).all()
    assert "| undilated |" in (tmp_path / "results/permuted_digits.md").read_text()
