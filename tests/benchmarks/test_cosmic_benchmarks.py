"""The benchmarks of cosmic rays write their tables and go on where they stopped."""

import sys

import numpy as np
import pandas as pd
import pytest

from benchmarks import cleaning_speed, cosmic_accuracy
from sciops.metrics.mask import RocCurve
from sciops.runs.cosmic import RECIPES
from tests.cosmic.toy import exposures, write_fits

pytest.importorskip("astroscrappy")


def call(monkeypatch, module, *arguments) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark", *arguments, "--results", "results"])
    module.main()


def test_learned_masks_stand_beside_lacosmic(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    write_fits(tmp_path / cosmic_accuracy.FILE, exposures(2, (256, 256)))
    for split in ("train", "val", "test"):
        monkeypatch.setitem(cosmic_accuracy.COSMIC.counts, split, 2)
    trained, train = [], cosmic_accuracy.sciops.train_cosmic

    def counted(op, **options):
        trained.append((op, options["seed"]))
        own = {} if op == "unet" else dict(channels=2, frequencies=2, taps=3)
        return train(op, **{**options, "epochs": 1, "width": 4, "window": 16, **own})

    monkeypatch.setattr(cosmic_accuracy.sciops, "train_cosmic", counted)
    asked = [".", "--ops", "unet,unet-xd", "--seeds", "1", "--set", "rate=0.01"]
    for _ in range(2):  # the second time nothing is trained again
        call(monkeypatch, cosmic_accuracy, *asked)
    assert trained == [("unet", 1), ("unet-xd", 1)] * 2  # real and simulated
    table = pd.read_csv("results/cosmic_accuracy.csv")
    assert len(table) == 2 * (4 + 2) and table["auroc"].between(0, 1).all()
    assert set(table["data"]) == {"real", "simulated"}
    lines = (tmp_path / "results" / "cosmic_accuracy.md").read_text().splitlines()
    assert len([line for line in lines if line.startswith("| real | unet")]) == 2
    assert any(line.startswith("| simulated | astroscrappy | objlim=5") for line in lines)
    assert "rate=0.01" in capsys.readouterr().out
    trained.clear()
    call(monkeypatch, cosmic_accuracy, ".", "--table")
    assert not trained and "| real | unet-xd |" in capsys.readouterr().out


def test_scores_of_a_perfect_and_of_a_blind_curve():
    """Whatever the thresholds: all found at no cost, and nothing told apart."""
    thresholds = np.array([9.0, 1.0])
    rates = RocCurve(np.array([0.0, 1.0]), np.array([1.0, 1.0]), thresholds)
    best = cosmic_accuracy.of_curve(rates, 0.01)
    assert best == {"auroc": 1.0, "average_precision": 1.0, "fnr_1e-3": 0.0, "fnr_1e-2": 0.0}
    even = np.array([0.2, 0.6])
    blind = cosmic_accuracy.of_curve(RocCurve(even, even, thresholds), 0.01)
    expected = dict(auroc=0.5, average_precision=0.01)
    assert {name: blind[name] for name in expected} == pytest.approx(expected)
    assert blind["fnr_1e-3"] == pytest.approx(0.999)


def test_speed_and_memory_of_cleaning(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = RECIPES["quick"]._replace(window=16, network=dict(width=4))
    monkeypatch.setitem(cleaning_speed.RECIPES, "quick", small)
    asked = ["--recipes", "quick", "--ops", "unet", "--size", "64", "--repeats", "1"]
    call(monkeypatch, cleaning_speed, *asked)
    call(monkeypatch, cleaning_speed, *asked, "--memory", "96")
    page = capsys.readouterr().out
    assert "megapixels/s" in page and "peak memory, MB" in page
    table = pd.read_csv("results/cleaning_speed.csv")
    assert table["method"].tolist() == ["unet", "astroscrappy"]
    megapixels = table["megapixels_per_second"] * table["seconds"]
    assert megapixels.tolist() == pytest.approx([64**2 / 1e6] * 2)
    monkeypatch.setattr(cleaning_speed, "side_by_side", None)
    call(monkeypatch, cleaning_speed, *asked)  # nothing is measured again


def test_images_of_any_size_are_put_together(monkeypatch):
    monkeypatch.setattr(cleaning_speed, "TILE", 32)
    assert cleaning_speed.image_of(24).shape == (24, 24)
    assert cleaning_speed.image_of(100).shape == (100, 100)
