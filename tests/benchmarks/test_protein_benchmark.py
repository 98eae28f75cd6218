"""The benchmark of proteins: its splits, its arms, and a table in the order of depths."""

import math

import pandas as pd
import pytest

from benchmarks import protein_accuracy
from benchmarks.protein_accuracy import SHOWN, SPLITS, divided, settings, summary, trained
from sciops.proteins.chains import generate_proteins


@pytest.fixture(scope="module")
def proteins():
    return generate_proteins(range(6), seed=0, length=(40, 40), progress=False)


def test_every_protein_is_tested_once_and_never_trained_on_then(proteins):
    splits = [divided(proteins, k) for k in range(SPLITS)]
    tested = [p.name for split in splits for p in split["test"]]
    assert sorted(tested) == sorted(p.name for p in proteins)
    for split in splits:
        names = [p.name for part in split.values() for p in part]
        assert sorted(names) == sorted(p.name for p in proteins)  # none twice


def test_all_towers_have_one_budget():
    assert settings("conv", "10") == settings("xd-grid", "10")
    assert settings("conv", "10").items() >= settings("unet", "-").items()


@pytest.mark.parametrize("arm", [("conv", "4"), ("unet", "-")])
def test_an_arm_is_trained_and_judged(proteins, arm, tmp_path, monkeypatch):
    small = dict(width=4, window=32, epochs=1)
    monkeypatch.setattr(protein_accuracy, "SETTINGS", protein_accuracy.SETTINGS | small)
    row = trained(divided(proteins, 0), *arm, 0, tmp_path / "run")
    assert row.keys() > SHOWN.keys() and math.isfinite(row["val_log_cosh"])


def test_table_is_in_the_order_of_depths():
    scores = dict.fromkeys(SHOWN, 1.0) | {"machine": "a machine"}
    arms = [("conv", "18"), ("conv", "6"), ("unet", "-"), ("conv", "10")]
    rows = [dict(op=op, depth=d, split="0", seed="0", **scores) for op, d in arms]
    text = summary(pd.DataFrame(rows))
    shown = [line.split(" | ")[:2] for line in text.splitlines() if "1.00" in line]
    assert shown == [["| unet", "-"], ["| conv", "6"], ["| conv", "10"], ["| conv", "18"]]


def test_seeds_of_a_split_count_as_one_split():
    scores = dict.fromkeys(SHOWN, 1.0) | {"machine": "a machine", "op": "conv", "depth": "6"}
    found = [("0", "0", 1.0), ("0", "1", 3.0), ("1", "0", 4.0), ("1", "1", 4.0)]
    rows = [scores | dict(split=k, seed=seed, mae8=mae8) for k, seed, mae8 in found]
    assert "3.00 ± 1.4 (2)" in summary(pd.DataFrame(rows))  # of 2 and 4
