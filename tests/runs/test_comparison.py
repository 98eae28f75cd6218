"""Operators are compared under one budget, from several seeds, and what is there is not redone."""

import json
from pathlib import Path
from statistics import mean, stdev

import pandas as pd
import pytest

import sciops.runs.comparison
from sciops.runs.comparison import compare
from sciops.runs.opening import open_run
from sciops.training import TrainingFailed

TINY = dict(resolution=9, n_train=8, n_val=2, n_test=3, batch_size=4, width=4, progress=False)
OPS = {"fno": {"frequencies": 2}, "conv": {"taps": 3}}
EPOCH_SECONDS = {"conv": 2.0, "fno": 5.0, "xd": 100.0}  # of the stand-in


@pytest.fixture(scope="module", autouse=True)
def own_directory(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(tmp_path_factory.mktemp("kept")))
        yield


class Trained:
    """What the stand-in for `train_pde` returns."""

    def __init__(self, op: str, seed: int, epochs: int | None, error: float):
        seconds = [2 * EPOCH_SECONDS[op]] + [EPOCH_SECONDS[op]] * ((epochs or 4) - 1)
        self.history = pd.DataFrame({"seconds": seconds})
        self.metrics = {
            "test_relative_l2": error,
            "val_relative_l2": error / 2,
            "train_seconds": sum(seconds),
            "parameters": 100 * len(op),
        }


@pytest.fixture
def calls(monkeypatch) -> list[dict]:
    """Training by a stand-in; keeps how it was called."""
    seen = []

    def train_pde(name, op, *, seed, epochs, out, progress, **options):
        seen.append(dict(op=op, seed=seed, epochs=epochs, out=Path(out), **options))
        Path(out).mkdir(parents=True, exist_ok=True)
        return Trained(op, seed, epochs, error=0.1 + seed**2)

    monkeypatch.setattr(sciops.runs.comparison, "train_pde", train_pde)
    return seen


# --- equal epochs ---------------------------------------------------------------------------------


def test_every_operator_is_trained_from_every_seed(tmp_path):
    table = compare("darcy", OPS, seeds=2, epochs=2, out=tmp_path / "c", **TINY)
    assert list(table.index) == ["fno", "conv"]
    for op, row in table.iterrows():
        runs = [open_run(tmp_path / "c" / f"{op}-seed{seed}") for seed in (0, 1)]
        errors = [run.evaluate()["relative_l2"].mean().item() for run in runs]
        assert errors[0] != errors[1]
        assert [row["seed_0"], row["seed_1"]] == pytest.approx(errors)
        assert (row["mean"], row["std"]) == pytest.approx((mean(errors), stdev(errors)))
        assert (row["min"], row["max"]) == pytest.approx((min(errors), max(errors)))
        assert row["val_mean"] == pytest.approx(
            mean(run.evaluate(split="val")["relative_l2"].mean().item() for run in runs), rel=1e-5
        )
        assert row["epochs"] == 2
        assert row["parameters"] == sum(p.numel() for p in runs[0].model.parameters())
    kept = pd.read_csv(tmp_path / "c" / "comparison.csv", index_col="op")
    pd.testing.assert_frame_equal(kept, table)


def test_what_is_finished_is_not_trained_again(tmp_path, monkeypatch):
    first = compare("darcy", {"conv": {"taps": 3}}, seeds=1, epochs=1, out=tmp_path / "c", **TINY)
    fitted = []

    def counted(*args, **options):
        fitted.append(options["folder"].parent.name)
        return fit(*args, **options)

    fit = sciops.runs.frame.fit
    monkeypatch.setattr(sciops.runs.frame, "fit", counted)
    second = compare("darcy", OPS, seeds=2, epochs=1, out=tmp_path / "c", **TINY)
    assert fitted == ["fno-seed0", "fno-seed1", "conv-seed1"]
    columns = ["seed_0", "parameters"]
    assert second.loc["conv", columns].tolist() == first.loc["conv", columns].tolist()
    with pytest.raises(ValueError, match="holds another run"):
        compare("darcy", OPS, seeds=1, epochs=3, out=tmp_path / "c", **TINY)


def test_numbers_of_the_table(calls, tmp_path):
    table = compare("darcy", ["conv", "xd"], seeds=3, out=tmp_path)
    errors = [0.1, 1.1, 4.1]
    spread = dict(mean=mean(errors), std=stdev(errors), min=0.1, max=4.1)
    seeds = dict(seed_0=0.1, seed_1=1.1, seed_2=4.1, val_mean=mean(errors) / 2)
    cost = dict(epochs=4, seconds_per_epoch=2, train_seconds=10, parameters=400)
    assert table.loc["conv"].to_dict() == pytest.approx({**spread, **seeds, **cost})
    assert [(call["seed"], call["op"]) for call in calls] == [
        (seed, op) for seed in range(3) for op in ("conv", "xd")
    ]


def test_a_prediction_that_failed_is_not_averaged_away(monkeypatch, tmp_path):
    def train_pde(name, op, *, seed, epochs, out, **options):
        Path(out).mkdir(parents=True)
        return Trained(op, seed, epochs, error=0.1 if seed else float("nan"))

    monkeypatch.setattr(sciops.runs.comparison, "train_pde", train_pde)
    row = compare("darcy", ["xd"], seeds=2, out=tmp_path, progress=False).loc["xd"]
    assert row[["mean", "std", "min", "max"]].isna().all()
    assert row["seed_1"] == 0.1


def test_one_seed_has_no_deviation(calls, tmp_path):
    row = compare("darcy", "xd", seeds=1, out=tmp_path).loc["xd"]
    assert pd.isna(row["std"])
    assert row["mean"] == row["min"] == row["max"] == 0.1


def test_options_are_for_all_or_for_one(calls, tmp_path):
    compare("darcy", {"conv": {"taps": 3}, "xd": {}}, seeds=1, epochs=7, out=tmp_path, width=8)
    conv, xd = calls
    assert conv == dict(op="conv", seed=0, epochs=7, out=tmp_path / "conv-seed0", taps=3, width=8)
    assert xd == dict(op="xd", seed=0, epochs=7, out=tmp_path / "xd-seed0", width=8)


def test_the_usual_folder(calls, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    compare("darcy", ["xd"], seeds=1)
    assert (tmp_path / "runs" / "compare-darcy" / "comparison.csv").exists()
    assert capsys.readouterr().err == "xd, seed 0: relative L2 error 0.1\n"
    compare("darcy", ["xd"], seeds=1, progress=False)
    assert capsys.readouterr().err == ""


# --- equal time -----------------------------------------------------------------------------------


def test_equal_time_gives_each_operator_its_epochs(calls, tmp_path):
    table = compare("darcy", ["conv", "fno", "xd"], seeds=2, seconds=20, out=tmp_path)
    assert table["epochs"].to_dict() == {"conv": 10, "fno": 4, "xd": 1}
    timed, trained = calls[:3], calls[3:]
    assert [call["epochs"] for call in timed] == [2, 2, 2]
    assert all(tmp_path not in call["out"].parents for call in timed)
    assert not any(call["out"].exists() for call in timed)
    assert [call["epochs"] for call in trained] == [10, 4, 1, 10, 4, 1]


def test_a_time_once_measured_is_kept(calls, tmp_path, monkeypatch):
    compare("darcy", ["conv"], seeds=1, seconds=20, out=tmp_path)
    monkeypatch.setitem(EPOCH_SECONDS, "conv", 1.0)
    calls.clear()
    table = compare("darcy", ["conv", "fno"], seeds=1, seconds=20, out=tmp_path)
    assert [(call["op"], call["epochs"]) for call in calls] == [
        ("fno", 2),
        ("conv", 10),
        ("fno", 4),
    ]
    assert table["epochs"].to_dict() == {"conv": 10, "fno": 4}
    with pytest.raises(ValueError, match="with seconds=20, not 30; choose another folder"):
        compare("darcy", ["conv"], seeds=1, seconds=30, out=tmp_path)
    (tmp_path / "epochs.json").write_text(json.dumps({"seconds": 20}))
    with pytest.raises(ValueError, match=r"epochs\.json is damaged"):
        compare("darcy", ["conv"], seeds=1, seconds=20, out=tmp_path)


def test_equal_time_of_real_runs(tmp_path):
    compare("darcy", {"conv": {"taps": 3}}, seeds=1, seconds=0.2, out=tmp_path / "c", **TINY)
    epochs = json.loads((tmp_path / "c" / "epochs.json").read_text())["epochs"]["conv"]
    assert len(open_run(tmp_path / "c" / "conv-seed0").history) == epochs


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ops", "options", "message"),
    [
        ([], {}, "at least one"),
        (["xd", "xd"], {}, "must be different operators"),
        (["xd", "fna"], {}, "no op='fna'; there are conv, fno, xd"),
        ({"xd": {"epochs": 3}}, {}, "epochs of 'xd' cannot be its own"),
        ({"xd": {"low": 3}}, {}, "low of 'xd' cannot be its own"),
        (["xd"], {"seeds": 0}, "seeds=0 must be a whole number ≥ 1"),
        (["xd"], {"seeds": [1, 2]}, r"seeds=\[1, 2\] must be a whole number"),
        (["xd"], {"seed": 3}, "give ops=.* and seeds=…"),
        (["xd"], {"op": "xd"}, "give ops=.* and seeds=…"),
        (["xd"], {"seconds": 0}, "seconds=0 must be positive"),
        (["xd"], {"seconds": float("nan")}, "seconds=nan must be positive"),
        (["xd"], {"seconds": 9, "epochs": 3}, "epochs=… or seconds=…, not both"),
        (["xd"], {"seconds": 9, "devices": 2}, "do not agree on the time"),
        (["fno", "conv"], {"frequencies": 4}, "no option frequencies; op='conv' has"),
        (["fno", "conv"], {"resolution": 5}, r"kernel of \(13, 13\) points is larger"),
    ],
)
def test_bad_input_is_refused_before_anything_is_trained(ops, options, message, calls, tmp_path):
    with pytest.raises(ValueError, match=message):
        compare("darcy", ops, out=tmp_path / "c", **options)
    assert calls == []
    assert not (tmp_path / "c").exists()


def test_an_unknown_problem_lists_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match="no data set 'heat'"):
        compare("heat", out=tmp_path)


def test_a_run_that_failed_is_named(monkeypatch, tmp_path):
    def train_pde(*args, **options):
        raise TrainingFailed("the loss became nan")

    monkeypatch.setattr(sciops.runs.comparison, "train_pde", train_pde)
    with pytest.raises(TrainingFailed, match="xd, seed 0: the loss became nan"):
        compare("darcy", ["xd"], out=tmp_path)


def test_only_the_first_process_writes(calls, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sciops.runs.folder.rank_zero_only, "rank", 1)
    compare("darcy", ["xd"], seeds=1, out=tmp_path)
    assert not (tmp_path / "comparison.csv").exists()
    assert capsys.readouterr().err == ""
