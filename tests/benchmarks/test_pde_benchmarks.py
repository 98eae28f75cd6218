"""The benchmarks of accuracy write their tables, go on where they stopped, and give equal time."""

import sys

import pandas as pd
import pytest

from benchmarks import pde_accuracy, resolution_transfer, training_steps

TINY = dict(
    **dict(name="darcy", resolution=9, n_train=8, n_val=2, n_test=2, epochs=2, batch_size=4),
    own={"xd": dict(taps=3, frequencies=2, width=4), "fno": dict(frequencies=2, width=4)},
)


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    monkeypatch.setitem(pde_accuracy.PROBLEMS, "tiny", TINY)
    monkeypatch.setitem(resolution_transfer.TRANSFERS, "tiny", (TINY, (9, 12)))
    monkeypatch.chdir(tmp_path)


def call(monkeypatch, module, *arguments) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark", *arguments, "--results", "results"])
    module.main()


def test_accuracy_in_equal_epochs_and_equal_time(monkeypatch, capsys, tmp_path):
    trained = []
    train_pde = pde_accuracy.sciops.train_pde

    def counted(*args, **options):
        trained.append((options["op"], options["epochs"]))
        return train_pde(*args, progress=False, **options)

    monkeypatch.setattr(pde_accuracy.sciops, "train_pde", counted)
    asked = ("tiny", "--ops", "xd,fno", "--budgets", "epochs,time")
    call(monkeypatch, pde_accuracy, *asked)
    assert [op for op, _ in trained] == ["xd", "fno", "fno"]
    table = pd.read_csv(tmp_path / "results/pde_accuracy.csv")
    xd, fno, timed = (row for _, row in table.iterrows())
    assert timed["epochs"] == max(1, round(xd["train_seconds"] / fno["epoch_seconds"]))
    assert (tmp_path / "results/pde_accuracy.md").read_text() in capsys.readouterr().out
    call(monkeypatch, pde_accuracy, *asked)
    assert len(trained) == 3  # nothing is trained again


def test_transfer_has_a_row_for_each_grid(monkeypatch, tmp_path):
    call(monkeypatch, resolution_transfer, "tiny", "--ops", "fno")
    table = pd.read_csv(tmp_path / "results/resolution_transfer.csv")
    assert list(table["resolution"]) == [9, 12]
    assert (table[["relative_l2", "control_upsample", "control_downsample"]] > 0).all(axis=None)
    text = (tmp_path / "results/resolution_transfer.md").read_text()
    assert "| fno, on 9 and interpolated |" in text


@pytest.mark.parametrize("module", [pde_accuracy, resolution_transfer])
def test_an_unknown_problem_lists_the_known_ones(module, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        call(monkeypatch, module, "nonsense")
    assert "there are darcy" in capsys.readouterr().err


def test_training_steps_stand_side_by_side(monkeypatch, capsys):
    options = ["--resolution", "17", "--batch", "2", "--repeats", "1", "--ops", "xd,fno"]
    monkeypatch.setattr(sys, "argv", ["benchmark", *options])
    training_steps.main()
    assert "| xd |" in (out := capsys.readouterr().out) and "1.00 of it" in out
