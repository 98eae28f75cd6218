"""The commands about runs do what the verbs do, for people and for scripts, and fail clearly."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from typer.testing import CliRunner

import sciops
from sciops.cli.app import app
from sciops.data.ragged_store import write_ragged
from sciops.health import Finding, Health
from sciops.proteins.collection import tree_of
from tests.music.toy import tree as music_tree
from tests.proteins.toy import walk

TINY = "--resolution 9 --n-train 8 --n-val 2 --n-test 3 --epochs 1 --batch-size 4 --set width=4"
XD = "--set frequencies=2 --set taps=3"


def run(*words: object):
    return CliRunner().invoke(app, [w for word in words for w in str(word).split()])


@pytest.fixture(scope="module", autouse=True)
def own_directory(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(tmp_path_factory.mktemp("kept")))
        yield


@pytest.fixture(scope="module")
def trained(own_directory, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "xd"
    result = run("train darcy --op xd", TINY, XD, "--out", path)
    assert result.exit_code == 0, result.output
    assert f"run: {path}" in result.stdout
    return path


@pytest.fixture
def called(monkeypatch):
    """Stands in for training; keeps what it was called with."""
    calls = SimpleNamespace(args=None, options=None, reports=0)

    def report():
        calls.reports += 1
        return Path("here/report.html")

    def train_pde(*args, **options):
        calls.args, calls.options = args, options
        metrics = {"test_relative_l2": 0.0123456, "parameters": 1234567}
        return SimpleNamespace(path=Path("here"), metrics=metrics, report=report)

    monkeypatch.setattr(sciops, "train_pde", train_pde)
    return calls


OTHERS = {"name", "op", "progress", "options"}  # not None by default, and not of the command

# --- train ----------------------------------------------------------------------------------------


def test_the_same_training_again_is_the_finished_run(trained):
    result = run("train darcy --op xd", TINY, XD, "--out", trained, "--json")
    assert result.exit_code == 0, result.output
    expected = sciops.open_run(trained).metrics
    assert json.loads(result.stdout) == {"path": str(trained), **expected}


def test_every_option_of_training_arrives(called):
    words = (
        "train burgers --op fno --resolution 64,128 --resolution 256 --n-train 5 --n-val 6 "
        "--n-test 7 --epochs 8 --batch-size 9 --seed 10 --data d.zarr --recipe paper "
        "--forecast 3d --no-augment --coarse 0.5 --out o --devices 2 --num-nodes 3 --strategy ddp "
        "--accelerator gpu --set viscosity=0.01 --set style=paper"
    )
    assert run(words).exit_code == 0
    assert called.args == ("burgers",)
    assert called.options == dict(
        op="fno",
        coarse=0.5,
        resolution=[64, 128, 256],
        **dict(n_train=5, n_val=6, n_test=7, epochs=8, batch_size=9, seed=10),
        **dict(data=Path("d.zarr"), recipe="paper", forecast="3d", out=Path("o")),
        augment=False,
        **dict(devices=2, num_nodes=3, strategy="ddp", accelerator="gpu"),
        **dict(viscosity=0.01, style="paper"),
    )


def test_what_is_not_given_is_left_to_the_verb(called):
    from inspect import signature

    from sciops.runs.pde import train_pde

    result = run("train darcy")
    usual = {name: p.default for name, p in signature(train_pde).parameters.items()}
    assert called.args == ("darcy",)
    assert called.options.items() <= usual.items()
    assert all(usual[name] is None for name in usual.keys() - called.options.keys() - OTHERS)
    assert called.reports == 0
    table = [line.split() for line in result.stdout.splitlines()]
    assert table[1:3] == [["test_relative_l2", "0.01235"], ["parameters", "1234567"]]
    assert table[3] == ["run:", "here"]


def test_proteins_have_a_verb_of_their_own(tmp_path):
    small = "--epochs 1 --set window=16 --set depth=4 --set width=4"
    store, out = tmp_path / "toy.zarr", tmp_path / "run"
    write_ragged(store, tree_of({s: [walk(20, 1)] for s in ("train", "val", "test")}, {}))
    result = run(f"train protein --op conv {small} --data {store} --report --out {out}")
    assert result.exit_code == 0, result.output
    assert "test_mae12_medium" in result.stdout and (out / "report.html").exists()
    result = run("evaluate", out, "--json")
    rows = {row["score"]: row for row in json.loads(result.stdout)}
    score = float(sciops.open_run(out).evaluate()["mae12_medium"][0])
    assert rows["mae12_medium"]["mean"] == pytest.approx(score)
    result = run(f"train protein --op fno --data {store} --out {out}2")
    assert result.exit_code == 2 and "there is no op='fno'" in result.output


def test_music_has_a_verb_of_its_own(tmp_path):
    small = "--epochs 1 --set window=8 --set levels=1 --set width=4"
    store, out = tmp_path / "toy.zarr", tmp_path / "run"
    write_ragged(store, music_tree())
    result = run(f"train music --op xd {small} --data {store} --report --out {out}")
    assert result.exit_code == 0, result.output
    assert "test_marginal_nats" in result.stdout and (out / "report.html").exists()
    result = run("evaluate", out)
    score = sciops.open_run(out).evaluate().attrs["nats"]
    assert f"over all frames: {score:.4f} nats a frame" in result.stdout
    rows = {row["score"]: row for row in json.loads(run("evaluate", out, "--json").stdout)}
    assert rows["frames"]["max"] == 39
    assert rows["pooled_nats"] == pytest.approx(
        {**dict.fromkeys(rows["frames"]), "score": "pooled_nats", "value": score}
    )
    result = run("evaluate", out, "--symmetrised")
    assert result.exit_code == 2 and "music has no equation whose symmetries" in result.output
    result = run(f"train music --set collection=bach --data {store} --out {out}2")
    assert result.exit_code == 2 and "there is no name='bach'" in result.output


def test_a_report_is_written_on_request(called):
    assert "report: here/report.html" in run("train darcy --resolution 43 --report").stdout
    assert called.reports == 1
    assert called.options["resolution"] == 43


def test_only_the_first_process_prints(called, monkeypatch):
    from pytorch_lightning.utilities import rank_zero_only

    monkeypatch.setattr(rank_zero_only, "rank", 1)
    result = run("train darcy --report")
    assert (result.exit_code, result.stdout, called.reports) == (0, "", 0)


# --- evaluate, transfer, report -------------------------------------------------------------------


def test_evaluate(trained, tmp_path):
    result = run("evaluate", trained, "--json --csv", tmp_path / "new" / "scores.csv")
    assert result.exit_code == 0, result.output
    scores = sciops.open_run(trained).evaluate()
    rows = {row["score"]: row for row in json.loads(result.stdout)}
    assert set(rows) >= {"relative_l2", "relative_h1", "band_error_low", "band_error_middle"}
    assert "band_error_high" not in rows  # on 9 points there are no such waves
    for how in ("mean", "median", "min", "max"):
        expected = getattr(scores["relative_l2"], how)().item()
        assert rows["relative_l2"][how] == pytest.approx(expected)
    kept = pd.read_csv(tmp_path / "new" / "scores.csv")
    assert list(kept["sample"]) == list(scores["sample"].values)
    low = scores["band_error"].sel(band="low").values
    assert list(kept["band_error_low"]) == pytest.approx(list(low))
    assert f"{rows['relative_l2']['mean']:.4g}" in run("evaluate", trained).stdout


def test_evaluate_with_means_over_symmetries(trained):
    result = run("evaluate", trained, "--symmetrised --json")
    assert result.exit_code == 0, result.output
    rows = {row["score"]: row for row in json.loads(result.stdout)}
    expected = sciops.open_run(trained).symmetrised().metrics["test_relative_l2"]
    assert rows["relative_l2"]["mean"] == pytest.approx(expected)
    plain = json.loads(run("evaluate", trained, "--json").stdout)
    assert rows["relative_l2"]["mean"] != {r["score"]: r for r in plain}["relative_l2"]["mean"]


def test_evaluate_on_other_data(trained, tmp_path):
    sciops.generate("darcy", n=4, resolution=13, seed=5, out=tmp_path / "d.zarr", progress=False)
    result = run("evaluate", trained, "--split train --json --data", tmp_path / "d.zarr")
    assert result.exit_code == 0, result.output
    expected = sciops.open_run(trained).evaluate(tmp_path / "d.zarr", split="train")
    assert json.loads(result.stdout)[0]["mean"] == pytest.approx(
        expected["relative_l2"].mean().item()
    )


def test_transfer(trained, tmp_path):
    result = run("transfer", trained, "--resolutions 9,13 --json --csv", tmp_path / "t.csv")
    assert result.exit_code == 0, result.output
    rows, errors = json.loads(result.stdout), sciops.transfer(trained, [9, 13])
    assert [row["resolution"] for row in rows] == [9, 13]
    for name in ("relative_l2", "control_upsample", "control_downsample", "energy_above_nyquist"):
        expected = list(errors[name].mean("sample").values)
        assert [row[name] for row in rows] == pytest.approx(expected)
    assert rows[1]["growth"] == pytest.approx(rows[1]["relative_l2"] / rows[0]["relative_l2"])
    assert list(pd.read_csv(tmp_path / "t.csv")) == list(rows[0])


def test_transfer_of_several_runs_is_a_matrix(trained, tmp_path):
    other = tmp_path / "other"
    finer = TINY.replace("--resolution 9", "--resolution 12")
    done = run("train darcy --op xd", finer, XD, "--out", other)
    assert done.exit_code == 0, done.output
    result = run("transfer", trained, other, "--resolutions 9,13 --csv", tmp_path / "m.csv")
    assert result.exit_code == 0, result.output
    head, *lines = result.stdout.splitlines()
    assert head.split() == ["op", "9", "12", "13"] and len(lines) == 6
    errors = sciops.transfer([trained, other], [13])["relative_l2"].mean("sample")
    assert lines[3].split() == ["trained", "on", "12", *(f"{e:.4g}" for e in errors[1].values)]
    kept = pd.read_csv(tmp_path / "m.csv").set_index(["trained", "resolution"])
    assert kept.loc[(9, 13), "relative_l2"] == pytest.approx(float(errors[0, 2]))


def test_transfer_says_where_a_network_did_not_run(trained, monkeypatch):
    errors = sciops.transfer(trained, [9, 13])
    errors["relative_l2"][1] = float("nan")
    refused = errors.assign_attrs(refused="13: only 9 points")
    monkeypatch.setattr(sciops, "transfer", lambda run, resolutions: refused)
    result = run("transfer", trained, "--resolutions 9,13")
    assert result.stdout.splitlines()[2].split()[:2] == ["13", "NaN"]
    assert "did not run on 13: only 9 points" in result.stderr


def test_report(trained, tmp_path):
    result = run("report", trained, "--resolutions 9,13 --out", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(tmp_path / "page.html")
    assert "On other grids" in (tmp_path / "page.html").read_text(encoding="utf-8")


# --- compare, doctor ------------------------------------------------------------------------------


def test_compare(tmp_path):
    words = "compare darcy --ops conv,fno --seeds 2 --set conv.taps=3 --set fno.frequencies=2"
    result = run(words, TINY, "--out", tmp_path / "c")
    assert result.exit_code == 0, result.output
    first, second = (
        sciops.open_run(tmp_path / "c" / f"conv-seed{seed}").metrics["test_relative_l2"]
        for seed in (0, 1)
    )
    mean, spread = (first + second) / 2, abs(first - second) / 2**0.5
    line = result.stdout.splitlines()[1]
    assert line.split()[:4] == ["conv", f"{mean:.4g}", "±", f"{spread:.2g}"]
    again = run(words, TINY, "--json --out", tmp_path / "c", "--csv", tmp_path / "c.csv")
    rows = json.loads(again.stdout)
    assert [row["op"] for row in rows] == ["conv", "fno"]
    assert rows[0]["seed_1"] == pytest.approx(second)
    assert list(pd.read_csv(tmp_path / "c.csv")) == list(rows[0])


def test_compare_on_other_grids(tmp_path):
    words = "compare darcy --ops fno,xd-grid --seeds 1 --set fno.frequencies=2 --set xd-grid.taps=3"
    result = run(words, TINY, "--resolutions 12 --out", tmp_path / "c")
    assert result.exit_code == 0, result.output
    _, shown = result.stdout.split("relative L2 error by points along an axis:\n")
    head, *lines = shown.splitlines()
    assert head.split() == ["op", "9", "12"] and len(lines) == 6
    (fno,) = [line.split() for line in lines if line.split()[0] == "fno"]
    (fixed,) = [line.split() for line in lines if line.split()[0] == "xd-grid"]
    kept = pd.read_csv(tmp_path / "c" / "transfer.csv")
    errors = kept.set_index(["op", "resolution"])["relative_l2"]
    assert fno[1:] == [f"{errors['fno', n]:.4g}" for n in (9, 12)]
    assert fixed[2] == "–" and "xd-grid, on 9 and interpolated" in shown
    assert "xd-grid on 12: this grid-frame XD was built for" in result.stderr
    again = run(words, TINY, "--resolutions 12 --json --out", tmp_path / "c")
    (first, second) = json.loads(again.stdout)
    assert first["at_12"] == pytest.approx(errors["fno", 12]) and second["at_12"] is None


def test_operators_may_have_blanks_between_them(monkeypatch):
    seen = []

    def compare(name, ops, **options):
        seen.extend(ops)
        raise ValueError("enough")

    monkeypatch.setattr(sciops, "compare", compare)
    CliRunner().invoke(app, ["compare", "darcy", "--ops", "fno, xd"])
    assert seen == ["fno", "xd"]


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (False, 1)])
def test_doctor(ok, code, monkeypatch):
    health = Health((Finding("memory", ok, "as it is", "close other programs"),))
    monkeypatch.setattr(sciops, "doctor", lambda: health, raising=False)
    result = run("doctor")
    assert result.exit_code == code
    assert "memory" in result.stdout
    assert ("close other programs" in result.stdout) is not ok
    result = run("doctor --json")
    assert result.exit_code == code
    said = dict(part="memory", ok=ok, detail="as it is", remedy="close other programs")
    assert json.loads(result.stdout) == {"ok": ok, "findings": [said]}


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train heat", "no data set 'heat'"),
        ("train darcy --resolution 9,x", "--resolution 9,x must be whole numbers"),
        ("train darcy --set epochs=3", "--epochs 3"),
        ("train darcy --set width", "must look like name=value"),
        ("train darcy --recipe slow", "there is no recipe 'slow'"),
        ("train darcy --forecast 3d", "no frames in time"),
        ("evaluate nowhere", "nowhere is not a run"),
        ("transfer nowhere --resolutions 9", "nowhere is not a run"),
        ("transfer nowhere --resolutions 9;13", "--resolutions 9;13 must be whole numbers"),
        ("report nowhere", "nowhere is not a run"),
        ("compare darcy --ops conv,fna", "there is no op='fna'"),
        ("compare darcy --ops conv,conv", "different operators"),
        ("compare darcy --ops conv --set xd.taps=3", "is for 'xd', but --ops are conv"),
        ("compare darcy --epochs 3 --seconds 9", "there is one budget"),
        ("compare darcy --set seed=3", "give ops=[…] and seeds=…"),
    ],
)
def test_errors_are_one_line_and_exit_with_two(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sciops.runs.comparison.train_pde", lambda *args, **options: 1 / 0)
    result = run(words)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_split_that_is_not_there(trained):
    result = run("evaluate", trained, "--split holdout")
    assert result.exit_code == 2
    assert "no split 'holdout'" in result.stderr


def test_a_damaged_run_is_one_line(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "copy")
    (tmp_path / "copy" / "model.safetensors").write_bytes(b"not this")
    result = run("evaluate", tmp_path / "copy")
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1


def test_costs_stand_beside_the_classical_solver(trained, tmp_path):
    result = run("evaluate", trained, "--costs", "--csv", tmp_path / "costs.csv")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "costs.csv").read_text().startswith("solver,")
    assert "classical at equal error" in result.stdout and "break_even" in result.stdout


def test_an_interrupted_command_says_so(called, monkeypatch):
    def stopped(*args, **options):
        raise KeyboardInterrupt("stopped after epoch 3 of 9; the same call goes on from there")

    monkeypatch.setattr(sciops, "train_pde", stopped)
    result = run("train darcy")
    assert result.exit_code == 130 and "stopped after epoch 3 of 9" in result.output
