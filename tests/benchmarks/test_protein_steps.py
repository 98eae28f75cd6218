"""Steps of the towers: ratios within turns, and a table that is kept."""

import sys

import pandas as pd
import pytest
import torch

from benchmarks import protein_steps


def test_ratios_are_of_the_same_turn():
    rows = [
        {"turn": turn, "op": op, "wall": wall, "cpu": 2 * wall}
        for turn, (conv, xd) in enumerate([(1.0, 2.0), (10.0, 30.0), (2.0, 8.0)])
        for op, wall in (("conv", conv), ("xd", xd))
    ]
    found = protein_steps.measured(pd.DataFrame(rows), ["conv", "xd"])
    assert found["conv"]["wall_seconds"] == 2 and found["xd"]["cpu_seconds"] == 16
    names = ("wall_ratio", "wall_ratio_least", "wall_ratio_most")
    assert [found["xd"][name] for name in names] == [3, 2, 4]
    assert [found["conv"][name] for name in names] == [1, 1, 1]


@pytest.fixture
def same_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_a_table_is_written_and_kept(tmp_path, monkeypatch, capsys, same_threads):
    small = "--ops conv,xd-hybrid --depth 4 --width 4 --window 16 --threads 1 --repeats 2"
    monkeypatch.setattr(sys, "argv", ["steps", *small.split(), "--results", str(tmp_path)])
    protein_steps.main()
    shown = capsys.readouterr().out
    assert "ResNet-4, width 4, 16², batch 2, 1 threads, median of 2 turns" in shown
    assert "wall, × conv" in shown and shown.count("| xd-hybrid |") == 1
    assert (tmp_path / "protein_steps.md").read_text() in shown
    before = (tmp_path / "protein_steps.csv").read_text()
    protein_steps.main()
    assert (tmp_path / "protein_steps.csv").read_text() == before
