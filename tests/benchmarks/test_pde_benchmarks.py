"""The benchmarks of accuracy write their tables, go on where they stopped, and give equal time."""

import sys
from types import SimpleNamespace

import pandas as pd
import pytest

import sciops
from benchmarks import (
    equal_time,
    pde_accuracy,
    resolution_transfer,
    rollouts,
    training_steps,
)

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
        if not (options["out"] / "model.json").exists() and "probe" not in options["out"].name:
            trained.append((options["op"], options["epochs"]))
        return train_pde(*args, progress=False, **options)

    monkeypatch.setattr(pde_accuracy.sciops, "train_pde", counted)
    monkeypatch.setattr(pde_accuracy, "epochs_of_equal_time", lambda own, xd, epochs: epochs + 1)
    asked = ("tiny", "--ops", "xd,fno", "--budgets", "epochs,time")
    for _ in range(2):  # the second time nothing is trained again
        call(monkeypatch, pde_accuracy, *asked)
        assert trained == [("xd", 2), ("fno", 2), ("fno", 3)]
    table = pd.read_csv(tmp_path / "results/pde_accuracy.csv")
    assert list(table["epochs"]) == [2, 2, 3]
    assert (table["test_symmetrised"] > 0).all()
    assert (table["test_symmetrised"] != table["test_relative_l2"]).all()
    assert (tmp_path / "results/pde_accuracy.md").read_text() in capsys.readouterr().out


def test_an_operator_that_is_only_given_equal_time_has_no_other_column(monkeypatch, tmp_path):
    monkeypatch.setattr(pde_accuracy, "epochs_of_equal_time", lambda own, xd, epochs: 1)
    call(monkeypatch, pde_accuracy, "tiny", "--ops", "xd")
    call(monkeypatch, pde_accuracy, "tiny", "--ops", "fno", "--budgets", "time")
    lines = (tmp_path / "results/pde_accuracy.md").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("| fno |")]
    assert line.split("|")[2].strip() == "" and line.split("|")[3].strip().endswith("(1)")


@pytest.mark.parametrize(("coarse", "wanted"), [(None, 16), (0.75, 16), ("one", 4)])
def test_epochs_of_equal_time(monkeypatch, coarse, wanted):
    """Steps of 1 s on 9 points and 4 s on 18; the reference takes twice as long on each."""

    def run(factor, grids):
        training = {"batch_size": 4, "coarse": None if coarse == "one" else coarse}
        return SimpleNamespace(factor=factor, config={"grids": grids, "training": training})

    step = lambda run, points: run.factor * {9: 1.0, 18: 4.0}[points]
    monkeypatch.setattr(equal_time, "_step", step)
    monkeypatch.setattr(equal_time, "side_by_side", lambda steps, repeats: steps)
    own = run(1, [18] if coarse == "one" else [9, 18])
    reference = run(2, [9] if coarse == "one" else [9, 18])
    assert equal_time.epochs_of_equal_time(own, reference, 8) == wanted


def test_probes_are_timed(tmp_path):
    networks = [pde_accuracy.probe("tiny", op, tmp_path) for op in ("fno", "xd")]
    assert equal_time.epochs_of_equal_time(*networks, 100, repeats=1) > 1
    assert equal_time._epochs_on_grids({"grids": [9, 18], "training": {"coarse": 0.75}}, 8) == {
        9: 6,
        18: 2,
    }


def test_transfer_has_a_row_for_each_grid(monkeypatch, tmp_path):
    call(monkeypatch, resolution_transfer, "tiny", "--ops", "fno")
    table = pd.read_csv(tmp_path / "results/resolution_transfer.csv")
    assert list(table["resolution"]) == [9, 12]
    assert (table[["relative_l2", "control_upsample", "control_downsample"]] > 0).all(axis=None)
    text = (tmp_path / "results/resolution_transfer.md").read_text()
    assert "| fno, on 9 and interpolated |" in text


def test_transfer_between_given_grids(monkeypatch, tmp_path):
    if not (pde_accuracy.SHARED / "darcy").exists():
        pytest.skip("neuraloperator's Darcy files are not at hand")
    small = dict(n_train=8, n_val=2, epochs=1, own=TINY["own"])
    problem = pde_accuracy.PROBLEMS["neuralop-darcy"] | small
    monkeypatch.setitem(resolution_transfer.TRANSFERS, "neuralop-darcy", (problem, (16, 32)))
    call(monkeypatch, resolution_transfer, "neuralop-darcy", "--ops", "xd")
    table = pd.read_csv(tmp_path / "results/resolution_transfer.csv")
    assert list(table["resolution"]) == [16, 32]
    assert (
        "## neuralop-darcy, trained on 16"
        in (tmp_path / "results/resolution_transfer.md").read_text()
    )


def test_cells_of_a_transfer_have_mean_spread_and_seeds():
    rows = [
        dict(op="xd", seed=seed, resolution=n, relative_l2=error, control_upsample=0.5)
        for n, seed, error in [(12, 0, 0.010), (12, 1, 0.012), (9, 0, 0.02), (9, 1, 0.02)]
    ]
    table = pd.DataFrame(rows).assign(problem="tiny", machine="m", control_downsample=0.25)
    lines = resolution_transfer.summary(table).splitlines()
    assert "|  | 9 | 12 |" in lines
    assert "| xd | 0.0200 ± 0.0 (2) | 0.0110 ± 0.0014 (2) |" in lines
    one = resolution_transfer.summary(table[table["seed"] == 0])
    assert "| xd | 0.0200 (1) | 0.0100 (1) |" in one


def test_the_table_of_a_transfer_can_be_written_again(monkeypatch, tmp_path):
    call(monkeypatch, resolution_transfer, "tiny", "--ops", "fno")
    file = tmp_path / "results/resolution_transfer.md"
    before = file.read_text()
    file.unlink()
    call(monkeypatch, resolution_transfer, "--table")
    assert file.read_text() == before


@pytest.mark.parametrize("name", ["torchphysics", "neuralop-darcy"])
def test_slopes_count_for_all_and_neuraloperator_has_its_own_rates(name):
    problems = pde_accuracy.PROBLEMS
    for op in ("xd", "fno", "neuralop", "neuralop-repaired"):
        usual, slopes = (
            pde_accuracy.options_for(problems[n], op) for n in (name, f"{name}-slopes")
        )
        own = dict(rate=5e-3, decay=1e-4) if "neuralop" in op else {}
        assert slopes == {**usual, "h1": 0.5, **own}
    problem, grids = resolution_transfer.TRANSFERS["neuralop-darcy-slopes"]
    assert problem is problems["neuralop-darcy-slopes"] and grids == (16, 32)
    assert resolution_transfer.GIVEN["neuralop-darcy-slopes"] is resolution_transfer._neuralop_grids


def test_a_control_learns_neither_k_nor_l_nor_m_and_another_has_no_taps():
    problem = pde_accuracy.PROBLEMS["darcy"]
    ops = ("xd", "xd-fixed", "xd-modes")
    xd, fixed, modes = (pde_accuracy.options_for(problem, op) for op in ops)
    assert fixed == {**xd, "depth": 0} and modes == {**xd, "weights": "modes"}


FLOW = dict(
    **dict(name="navier_stokes", forecast="steps", resolution=8, viscosity=0.01, duration=1.0),
    **dict(frames=6, solver_resolution=32, steps=60, n_train=6, n_val=2, n_test=2, epochs=1),
    own={op: dict(frequencies=2, width=4) for op in ("xd", "fno")},
)


def test_roll_outs_have_an_error_for_each_frame(monkeypatch, tmp_path):
    monkeypatch.setitem(pde_accuracy.PROBLEMS, "flow", FLOW)
    monkeypatch.setattr(rollouts, "FORECASTS", ["flow"])
    for _ in range(2):
        call(monkeypatch, rollouts, "--ops", "fno")
        monkeypatch.setattr(rollouts, "train", None)  # the second time nothing is trained
    table = pd.read_csv(tmp_path / "results/rollouts.csv")
    run = sciops.open_run(tmp_path / "out/accuracy/flow-fno-epochs-0")
    found = run.rollout()
    errors = found["relative_l2"].mean("sample").values
    assert table[["frame_4", "frame_5", "frame_6"]].values[0] == pytest.approx(errors)
    assert table["horizon"][0] == pytest.approx(float(found["stability_horizon"].mean()))
    assert (table["horizon_most"][0], table["blown_up"][0]) == (1.0, 0)
    assert table["spectrum"][0] > 0
    lines = (tmp_path / "results/rollouts.md").read_text().splitlines()
    assert "| op | frame 4 | 5 | 6 | horizon, at most 1 | spectrum | blown up |" in lines


def test_the_forecasts_frame_by_frame_are_found():
    assert rollouts.FORECASTS == ["navier-stokes-steps"]


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


@pytest.mark.parametrize("module", [pde_accuracy, resolution_transfer])
def test_a_table_of_nothing_says_so(module, monkeypatch, capsys):
    call(monkeypatch, module, "--table")
    assert "Nothing has been measured yet" in capsys.readouterr().out


def test_an_unknown_budget_trains_nothing(monkeypatch, capsys, tmp_path):
    with pytest.raises(SystemExit):
        call(monkeypatch, pde_accuracy, "tiny", "--budgets", "tme")
    assert "must be epochs, time" in capsys.readouterr().err and not list(tmp_path.iterdir())
