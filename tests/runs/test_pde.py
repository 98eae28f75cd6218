"""The training verb: refuses early, trains the same way every time, survives being killed."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from safetensors.torch import load_file

import sciops
import sciops.runs.pde
import sciops.training
from sciops.backbones import BASELINES
from sciops.backbones.choice import OPERATORS
from sciops.config import CHANGES
from sciops.domains import DOMAINS, domain_named
from sciops.runs.pde import _symmetries
from sciops.runs.plan import network_options
from sciops.task import Axis, Field, Task
from tests.run_toy import darcy, files, flow, lines, on_lines, uneven_lines
from tests.training_toy import trained

HOUSE = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def kept_data(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(tmp_path_factory.getbasetemp() / "kept"))
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return darcy(tmp_path_factory.mktemp("runs") / "darcy")


def weights(run) -> list[torch.Tensor]:
    return [p.detach() for p in run.model.parameters()]


def same_bits(some, others) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(some), weights(others), strict=True))


def errors_of(run) -> list:
    return run.history[["epoch", "train_relative_l2", "val_relative_l2"]].values.tolist()


# --- what it refuses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(name="darcey"), "no data set 'darcey'; there are burgers, darcy, navier_stokes"),
        (dict(name="cylinder_wake"), "cylinder_wake cannot be generated"),
        (dict(op="fourier"), "no op='fourier'; there are conv, fno, xd, xd-grid, unet, neuralop"),
        (dict(wdith=3), "no option wdith; op='xd' has width, .*, darcy has coefficient, .* rate"),
        (dict(op="unet", taps=3), "no option taps; op='unet' has width, levels"),
        (dict(recipe="fast"), "no recipe 'fast'; there are quick, paper"),
        (dict(forecast="3d"), "darcy has no frames in time"),
        (dict(name="navier_stokes", forecast="4d"), "'4d' is not known; choose one of 3d, steps"),
        (dict(name="navier_stokes", forecast="steps", resolution=[8, 9]), "trained on one grid"),
        (dict(epochs=0), "epochs=0 must be a whole number"),
        (dict(seed=-1), "seed=-1 must be a whole number"),
        (dict(rate="high"), "rate='high' must be a number"),
        (dict(n_val=0), "n_val=0 must be a whole number ≥ 1"),
        (dict(n_train=2.5), "n_train=2.5 must be a whole number ≥ 1"),
        (dict(n_train=True), "n_train=True must be a whole number ≥ 1"),
        (dict(name="protein"), r"trained by sciops\.train_protein"),
        (dict(name={"darcy"}), "no data set {'darcy'}; there are burgers"),
        (dict(op=["xd"]), r"no op=\['xd'\]; there are conv"),
        (dict(resolution=17.0), "resolution=17.0 must be a whole number"),
        (dict(blocks=0), "blocks=0 must be a whole number ≥ 1"),
        (dict(devices=0), "this machine cannot train with devices=0"),
        (dict(coarse=0.5), "coarse=0.5 divides the epochs among several grids; there is one"),
        (dict(resolution=[9, 12], coarse=1.0), "coarse=1.0 must be a share of the epochs"),
        (dict(h1="high"), "h1='high' must be a number, and not negative"),
        (dict(resolution=[]), r"resolution=\[\] is empty"),
        (dict(resolution=["a"]), "resolution='a' must be a whole number ≥ 1"),
        (dict(high=-3.0), "high=-3.0 must be a positive number"),
        (dict(width=-1), "no network with .*'width': -1"),
        (dict(width="wide"), "no network with .*'width': 'wide'"),
        (dict(op="unet", levels=4, resolution=9), "U-Net of 4 levels needs 16 points"),
        (dict(op="conv", resolution=5), r"kernel of \(13, 13\) points is larger than the grid"),
        (dict(op="xd-grid", resolution=[9, 17]), r"built for size=\(17, 17\)"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_made(
    changes, message, tmp_path, monkeypatch
):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    with pytest.raises(ValueError, match=message):
        sciops.train_pde(**{"name": "darcy", "out": tmp_path / "run", **changes})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(resolution=64), "the data have 16 points on an axis, resolution=64 cannot be had"),
        (dict(viscosity=0.1), "viscosity are parameters of data to be generated"),
        (dict(n_train=9), "n_train=9, but the data have 7 train samples"),
        (dict(n_train="3"), "n_train='3' must be a whole number"),
        (dict(n_train=3.0), "n_train=3.0 must be a whole number"),
        (dict(resolution=[16, 32]), r"resolution=\[16, 32\] cannot be had"),
        (dict(data=xr.Dataset()), "data=Dataset must be a zarr store, an xarray.DataTree"),
    ],
)
def test_given_data_leave_no_choice(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        sciops.train_pde("burgers", **{"data": lines(train=7, val=2, test=3), **changes})


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_machine_without_gpu_says_so(tmp_path):
    with pytest.raises(ValueError, match=r"cannot train with .*accelerator='gpu'"):
        on_lines(tmp_path / "run", accelerator="gpu")
    assert not (tmp_path / "run").exists()


def test_numbers_may_be_those_of_numpy(tmp_path):
    numbers = dict(epochs=1, seed=1, n_train=4, batch_size=2)
    run = on_lines(tmp_path / "run", **{k: np.int64(n) for k, n in numbers.items()})
    assert same_bits(run, on_lines(tmp_path / "run", resolution=[16], **numbers))


def test_data_of_another_equation_are_refused(tmp_path):
    named = {split: ds.assign_attrs(name="darcy") for split, ds in lines().items()}
    with pytest.raises(ValueError, match="data of 'darcy', not of 'burgers'"):
        on_lines(tmp_path / "run", named)
    assert not (tmp_path / "run").exists()


def test_a_name_means_one_option():
    """No parameter of an equation is called like an option of a network or a rate."""
    of_networks = {
        option
        for op in [*OPERATORS, *BASELINES]
        for option in (*network_options(op, "steps"), *CHANGES)
    }
    for name in DOMAINS:
        assert not of_networks & set(domain_named(name).parameters)


# --- what it makes --------------------------------------------------------------------------------


def test_a_run_is_a_folder_with_all_that_happened(run):
    found = {path.name for path in run.path.iterdir()}
    expected = {"config.json", "model.safetensors", "model.json", "metrics.csv", "checkpoints"}
    assert found == expected
    assert json.loads((run.path / "config.json").read_text()) == run.config
    assert list(run.history["epoch"]) == [1, 2]
    assert {"test_relative_l2", "val_relative_l2", "train_seconds"} <= set(run.metrics)
    assert not run.model.training
    assert "xd on darcy, 9 × 9" in repr(run)


def test_its_scores_are_those_of_the_samples(run):
    test, val = run.evaluate(), run.evaluate(split="val")
    assert run.metrics["test_relative_l2"] == pytest.approx(float(test["relative_l2"].mean()))
    assert run.metrics["test_max_error"] == pytest.approx(float(test["max_error"].mean()))
    assert run.metrics["val_relative_l2"] == pytest.approx(float(val["relative_l2"].mean()), 1e-5)
    assert run.metrics["parameters"] == sum(p.numel() for p in run.model.parameters())
    assert 0 < run.metrics["arch_parameters"] < run.metrics["parameters"]


def test_the_seed_decides_everything(run, tmp_path):
    torch.manual_seed(99)
    again, other = darcy(tmp_path / "again"), darcy(tmp_path / "other", seed=1)
    assert same_bits(run, again) and errors_of(run) == errors_of(again)
    assert not same_bits(run, other)
    xr.testing.assert_identical(run.data["train"].to_dataset(), other.data["train"].to_dataset())


def test_the_callers_random_numbers_go_on_as_if_nothing_had_happened(tmp_path, monkeypatch):
    def numbers():
        return torch.rand(3).tolist(), np.random.rand(3).tolist(), random.random()

    def seed(value):
        torch.manual_seed(value), np.random.seed(value), random.seed(value)

    seed(5)
    expected = numbers()
    monkeypatch.setattr(sciops.runs.frame, "finish", stopped)
    seed(5)
    with pytest.raises(Stopped):
        on_lines(tmp_path / "run")
    assert numbers() == expected
    monkeypatch.undo()
    seed(6)
    np.random.rand(2)
    expected = numbers()
    seed(6)
    np.random.rand(2)
    on_lines(tmp_path / "run")  # which restores the state of the first call while it resumes
    assert numbers() == expected


def test_without_a_folder_the_settings_name_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one, two, again = on_lines(None), on_lines(None, seed=1), on_lines(None)
    assert one.path.parent == tmp_path / "runs" and one.path.name.startswith("burgers-xd-")
    assert two.path != one.path == again.path


def test_options_arrive_where_they_belong(run, tmp_path):
    assert run.data["train"].attrs["parameters"]["refine"] == 1
    assert run.config["data"]["parameters"] == {"refine": 1}
    assert run.model.model.lift.out_channels == 4
    other = on_lines(tmp_path / "run", rate=0.0, arch_rate=0.0)
    assert other.config["training"]["weights"]["rate"] == 0.0
    errors = other.history["val_relative_l2"]
    assert errors.iloc[0] == errors.iloc[1]  # nothing was learned
    learned = on_lines(tmp_path / "learned", rate=0.0, arch_rate=0.1).history["val_relative_l2"]
    assert learned.iloc[0] != learned.iloc[1]


# --- a folder that is there already ---------------------------------------------------------------


class Stopped(Exception):
    pass


def stopped(*_, **__):
    raise Stopped


def test_a_finished_run_is_returned(run, monkeypatch):
    before = files(run.path)
    monkeypatch.setattr(sciops.runs.frame, "fit", stopped)
    again = darcy(run.path)
    assert same_bits(run, again) and again.metrics == run.metrics
    assert files(run.path) == before
    xr.testing.assert_identical(again.evaluate(), run.evaluate())


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        (dict(seed=1), "seed: 0 there, 1 asked for; training.seed: 0 there, 1 asked for"),
        (dict(taps=5), "model.taps: 3 there, 5 asked for"),
    ],
)
def test_a_folder_of_another_run_is_refused_and_left_alone(changes, difference, run):
    before = files(run.path)
    with pytest.raises(ValueError, match=rf"holds another run \({difference}\)"):
        darcy(run.path, **changes)
    assert files(run.path) == before


def test_other_data_are_another_run(tmp_path):
    on_lines(tmp_path / "run")
    changed = lines()
    changed["train"]["u"].values[0, 0] += 1
    with pytest.raises(ValueError, match=r"data.fingerprint: .* asked for"):
        on_lines(tmp_path / "run", changed)


def test_lists_and_tuples_are_the_same_option(tmp_path):
    first = on_lines(tmp_path / "run", spacing=(0.1,))
    assert on_lines(tmp_path / "run", spacing=(0.1,)).metrics == first.metrics
    assert sciops.open_run(tmp_path / "run").config["model"]["spacing"] == [0.1]


def test_a_run_that_was_trained_and_not_judged_is_only_judged(tmp_path, monkeypatch):
    whole = on_lines(tmp_path / "whole")
    monkeypatch.setattr(sciops.runs.frame, "finish", stopped)
    with pytest.raises(Stopped):
        on_lines(tmp_path / "run")
    with pytest.raises(ValueError, match="a run that was not finished; call the same training"):
        sciops.open_run(tmp_path / "run")
    monkeypatch.undo()
    monkeypatch.setattr(sciops.training.pl.Trainer, "fit", stopped)
    again = on_lines(tmp_path / "run")
    assert same_bits(whole, again)
    assert again.metrics["test_relative_l2"] == whole.metrics["test_relative_l2"]


KILLED = """
import os, signal
import sciops.runs.pde
from tests.run_toy import flow

seen, of_batch = [], sciops.runs.pde.relative_l2

def relative_l2(prediction, target):
    seen.append(1)
    if len(seen) == 13:  # 3 batches of windows and 1 of sequences an epoch: within the fourth
        os.kill(os.getpid(), signal.SIGKILL)
    return of_batch(prediction, target)

sciops.runs.pde.relative_l2 = relative_l2
flow("killed", forecast="steps", noise=0.1, epochs=5)
"""


def in_another_process(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    script = folder / "script.py"
    script.write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(HOUSE), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_killed_and_called_again_it_ends_with_the_same_bits(tmp_path):
    """With noise in training, so that random numbers have to go on where they were, too."""
    whole = flow(tmp_path / "whole", forecast="steps", noise=0.1, epochs=5)
    result = in_another_process(KILLED, tmp_path)
    assert result.returncode == -signal.SIGKILL, result.stderr[-2000:]
    killed = tmp_path / "killed"
    assert len((killed / "metrics.csv").read_text().splitlines()) == 1 + 3
    assert not (killed / "model.json").exists()
    resumed = flow(killed, forecast="steps", noise=0.1, epochs=5)
    assert same_bits(whole, resumed) and errors_of(whole) == errors_of(resumed)
    timeless = [
        {k: v for k, v in run.metrics.items() if k != "train_seconds"} for run in (whole, resumed)
    ]
    assert timeless[0] == timeless[1]


# --- several grids, time, someone's data ----------------------------------------------------------


def watched(monkeypatch) -> list[tuple[int, ...]]:
    """The shapes of the targets of all batches to come, as training and validation see them."""
    shapes, of_batch = [], sciops.runs.pde.relative_l2

    def relative_l2(prediction, target):
        shapes.append(tuple(target.shape))
        return of_batch(prediction, target)

    monkeypatch.setattr(sciops.runs.pde, "relative_l2", relative_l2)
    return shapes


def test_training_on_several_grids(tmp_path, monkeypatch):
    several = dict(resolution=[12, 9], epochs=4)
    shapes = watched(monkeypatch)
    whole = darcy(tmp_path / "whole", **several)
    assert whole.resolution == 9 and whole.config["grids"] == [12, 9]
    epochs = [shapes[i : i + 3] for i in range(0, 12, 3)]  # 4 and 2 samples, then 2 to validate
    assert all([s[0] for s in epoch] == [4, 2, 2] for epoch in epochs)
    assert all(epoch[-1] == (2, 1, 9, 9) for epoch in epochs)
    assert {s[2:] for epoch in epochs for s in epoch[:2]} == {(9, 9), (12, 12)}

    expected, calls = list(shapes), []
    shapes.clear()

    def stop_after_two(*arguments):
        calls.append(write(*arguments))
        if len(calls) == 2:
            raise Stopped

    write = sciops.runs.frame.write_history
    monkeypatch.setattr(sciops.runs.frame, "write_history", stop_after_two)
    with pytest.raises(Stopped):
        darcy(tmp_path / "run", **several)
    resumed = darcy(tmp_path / "run", **several)
    assert shapes == expected
    assert same_bits(whole, resumed)


def test_coarse_grids_first(tmp_path, monkeypatch):
    shapes = watched(monkeypatch)
    run = darcy(tmp_path / "run", resolution=[9, 12], epochs=4, coarse=0.5)
    sizes = [shapes[i : i + 3] for i in range(0, 12, 3)]  # two batches to train, one to validate
    assert [[s[2] for s in epoch] for epoch in sizes] == [[9, 9, 12]] * 2 + [[12] * 3] * 2
    assert run.config["training"]["coarse"] == 0.5


@pytest.mark.parametrize("forecast", [None, "3d", "steps"])
def test_slopes_change_the_training_and_its_configuration(forecast, run, tmp_path):
    if forecast is None:
        usual, rough = run, darcy(tmp_path / "rough", h1=0.5)
    else:
        ways = ({}, {"h1": 0.5})
        usual, rough = (
            flow(tmp_path / str(len(w)), forecast=forecast, epochs=1, **w) for w in ways
        )
    assert rough.config["training"]["h1"] == 0.5 and "h1" not in usual.config["training"]
    assert not same_bits(usual, rough)


@pytest.mark.parametrize("forecast", ["3d", "steps"])
def test_forecasts(forecast, tmp_path, monkeypatch):
    shapes = watched(monkeypatch)
    run = flow(tmp_path / "run", forecast=forecast, epochs=1)
    of_training = [(4, 1, 8, 8)] * 3 if forecast == "steps" else [(4, 2, 8, 8), (2, 2, 8, 8)]
    assert shapes == [*of_training, (2, 2, 8, 8)]  # windows of one frame, or sequences
    predicted = run.predict(run.data["test"].to_dataset())
    assert predicted["vorticity"].shape == (3, 2, 8, 8)
    error = float(run.evaluate()["relative_l2"].mean())
    assert run.metrics["test_relative_l2"] == pytest.approx(error)
    assert run.config["model"]["forecast"] == forecast
    page = run.report().read_text()
    assert "How far it forecasts" in page and "until t = " in page
    longer = run.rollout(steps=3)
    assert longer["relative_l2"].shape == (3, 3)
    assert longer["relative_l2"].isnull().sum() == 3  # beyond the data


def test_by_default_all_frames_come_at_once(tmp_path):
    assert flow(tmp_path / "run", epochs=1).config["model"]["forecast"] == "3d"


def test_someones_data_without_val(tmp_path):
    run = on_lines(tmp_path / "run")
    sizes = {split: run.data[split].sizes["sample"] for split in ("train", "val", "test")}
    assert sizes == {"train": 6, "val": 1, "test": 3}
    np.testing.assert_array_equal(run.data["val"]["a"], lines()["train"]["a"][6:])
    assert run.config["data"] | {"fingerprint": ""} == {
        **dict(n_train=6, n_val=1, n_test=3, given=None, fingerprint=""),
    }


@pytest.mark.parametrize("op", ["xd", "fno", "conv", "xd-grid"])
def test_training_knows_where_uneven_points_are(op, tmp_path):
    """At rate 0 the network stays as it is, and training must judge it as evaluation does."""
    run = on_lines(tmp_path / "run", uneven_lines(), op, rate=0.0, arch_rate=0.0, batch_size=5)
    for split in ("train", "val"):
        expected = float(run.evaluate(split=split)["relative_l2"].mean())
        found = run.history[f"{split}_relative_l2"]
        assert found.tolist() == pytest.approx([expected] * 2, rel=1e-4)


# --- two processes --------------------------------------------------------------------------------

TOGETHER = """
import json, os, sys, warnings
from pathlib import Path
import torch
from safetensors.torch import save_file
import sciops.runs.folder, sciops.training
from tests.run_toy import on_lines
from tests.training_toy import trained

warnings.simplefilter("ignore")
rank = os.environ.get("LOCAL_RANK", "0")

def noted(write):
    def noting(*arguments, **options):
        with open("writers", "a") as log:
            log.write(rank)
        return write(*arguments, **options)
    return noting

for module, name in (
    (sciops.training, "save_state"),
    (sciops.runs.folder, "save_model"),
    (sciops.runs.folder, "write_text"),
):
    setattr(module, name, noted(getattr(module, name)))

two = dict(devices=2, strategy="ddp")
run = on_lines("run", epochs=3, batch_size=5, n_train=6, **two)
Path(f"metrics{rank}").write_text(json.dumps(run.metrics))
for loss in ("mean", "sum"):
    model = trained(loss, **two)
    if rank == "0":
        save_file({n: p.detach().contiguous() for n, p in model.named_parameters()}, loss)
"""


@pytest.fixture(scope="module")
def together(tmp_path_factory) -> Path:
    """Where two processes have trained."""
    folder = tmp_path_factory.mktemp("together")
    result = in_another_process(TOGETHER, folder)
    assert result.returncode == 0, result.stderr[-3000:]
    return folder


@pytest.mark.parametrize("loss", ["mean", "sum"])
def test_two_processes_take_the_steps_of_one(loss, together):
    found = load_file(together / loss)
    for name, one in trained(loss).named_parameters():
        torch.testing.assert_close(found[name], one.detach(), rtol=2e-3, atol=2e-5, msg=name)


def test_two_processes_make_one_run(together, tmp_path):
    alone = on_lines(tmp_path / "alone", epochs=3, batch_size=5, n_train=6)
    run = sciops.open_run(together / "run")
    for rank in (0, 1):
        metrics = json.loads((together / f"metrics{rank}").read_text())
        for name in alone.metrics:
            if name != "train_seconds":
                assert metrics[name] == pytest.approx(alone.metrics[name], rel=1e-3), name
    np.testing.assert_allclose(errors_of(run), errors_of(alone), rtol=1e-3)
    assert set((together / "writers").read_text()) == {"0"}


@pytest.mark.parametrize(
    ("boundary", "expected"),
    [
        (dict(domain_named("darcy").boundary_conditions), ("flip", "swap")),
        ({"x": "open", "y": "open"}, ("swap",)),
        ({"x": "open", "y": "dirichlet 0"}, ()),
        ({}, ()),
    ],
)
def test_symmetries_are_those_of_equation_and_boundary(boundary, expected):
    axes = tuple(Axis(name, (0.0, 0.5, 1.0), False, 1.0) for name in "xy")
    task = Task("darcy", (Field("a"),), (Field("u"),), axes)
    assert _symmetries("darcy", "xd", {"boundary_conditions": boundary}, task) == expected


# --- networks of terms, and what is told on the way -----------------------------------------------

TERM = "Linear2(lift8, Block(Parallel2(fourier4, conv3), pointwise, id, gelu))"


def test_a_term_is_a_network(tmp_path):
    run = darcy(tmp_path / "run", op="term", term=TERM)
    opened = sciops.open_run(tmp_path / "run")
    assert same_bits(run, opened) and opened.config["model"]["term"] == TERM
    assert opened.evaluate().equals(run.evaluate())
    assert f"The network of a term {TERM} learned" in run.report().read_text()
    own = {"Twice": [[1, 2], [2, 3]]}
    again = darcy(tmp_path / "own", op="term", term="Twice(lift8, conv3)", topologies=own)
    assert same_bits(again, sciops.open_run(tmp_path / "own"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "op='term' needs a term, such as"),
        ({"term": "Linear2(lift8, convolution)"}, "there is no primitive 'convolution'"),
        ({"term": "Linear2(lift8"}, "expected"),
        ({"term": "lift8", "frame": "films"}, "there is no frame 'films'"),
        ({"term": "lift8", "width": 8}, "no option width; op='term' has term, frame"),
    ],
)
def test_terms_that_are_no_networks(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        darcy(tmp_path / "run", op="term", **options)
    assert list(tmp_path.iterdir()) == []


def test_epochs_are_told_and_may_end_the_training(tmp_path):
    told = []
    whole = darcy(tmp_path / "whole", epochs=3, at_epoch_end=lambda rows: told.append(rows[-1]))
    assert [row["val_relative_l2"] for row in told] == whole.history["val_relative_l2"].tolist()

    def stop(rows):
        if len(rows) == 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        darcy(tmp_path / "parts", epochs=3, at_epoch_end=stop)
    resumed = darcy(tmp_path / "parts", epochs=3)
    assert same_bits(whole, resumed) and errors_of(whole) == errors_of(resumed)
