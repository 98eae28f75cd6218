"""Training learns, resumes bit for bit, shares batches out, says how it goes and why it fails.

How two processes train together is in test_pde.py.
"""

import io
import re
import shutil
import subprocess
import sys
from functools import partial
from itertools import chain
from pathlib import Path

import pytest
import torch

import sciops.training
from sciops.backbones.ccnn_sizes import Sizes
from sciops.checkpoint import CheckpointError
from sciops.config import CHANGES, Optimisation, Training, changed, training_from
from sciops.metrics.field import relative_h1, relative_l2
from sciops.operators import arch_parameters, weight_parameters
from sciops.training import ShuffledBatches, TrainingFailed, fit, make_optimiser, rate_factor
from sciops.training_bar import bar_is_wanted
from tests.grid_toy import Recorder
from tests.training_toy import model_for, quick, samples


def values(model: torch.nn.Module) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters()]


@pytest.mark.parametrize("op", ["xd", "conv"])
def test_it_learns_and_says_how(op):
    data, val = samples(), samples(5, seed=1)
    model = model_for(data, op)
    history = fit(model, data, val, quick(30))
    assert list(history["epoch"]) == list(range(1, 31))
    assert set(history) == {"epoch", "train_relative_l2", "val_relative_l2", "seconds"}
    assert history["train_relative_l2"].iloc[-1] < 0.5 * history["train_relative_l2"].iloc[0]
    assert history["val_relative_l2"].iloc[-1] < history["val_relative_l2"].iloc[0]


def test_a_run_that_was_stopped_ends_with_the_same_bits(tmp_path, monkeypatch):
    data, val = samples(), samples(5, seed=1)
    whole = model_for(data)
    expected = fit(whole, data, val, quick(5))

    saved = []

    def stop_after_two(folder, state, metadata):
        saved.append(save(folder, state, metadata))
        if len(saved) == 2:
            raise KeyboardInterrupt

    save = sciops.training.save_state
    monkeypatch.setattr(sciops.training, "save_state", stop_after_two)
    with pytest.raises(
        KeyboardInterrupt, match="stopped after epoch 2 of 5; the same call goes on"
    ):
        fit(model_for(data), data, val, quick(5), folder=tmp_path / "run")
    resumed = model_for(data)
    history = fit(resumed, data, val, quick(5), folder=tmp_path / "run")
    for a, b in zip(values(whole), values(resumed), strict=True):
        assert torch.equal(a, b)
    assert history["train_relative_l2"].tolist() == expected["train_relative_l2"].tolist()
    again = fit(model_for(data), data, val, quick(5), folder=tmp_path / "run")
    assert again["epoch"].tolist() == [1, 2, 3, 4, 5]


def test_what_a_killed_process_was_removing_is_removed_though_nothing_is_left_to_train(tmp_path):
    data = samples()
    fit(model_for(data), data, None, quick(1), folder=tmp_path)
    (tmp_path / ".discarded-save-000001").mkdir()
    fit(model_for(data), data, None, quick(1), folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["save-000001"]


def test_a_folder_of_another_run_is_refused(tmp_path):
    data = samples()
    fit(model_for(data), data, None, quick(1), folder=tmp_path / "run")
    with pytest.raises(ValueError, match="trained otherwise; choose another folder"):
        fit(model_for(data), data, None, quick(2), folder=tmp_path / "run")


def test_the_architecture_waits_for_its_warm_up():
    data = samples()
    model = model_for(data)
    before = [p.detach().clone() for p in arch_parameters(model)]
    rates = Optimisation(1e-2), Optimisation(1e-2, warmup=2)
    fit(model, data, None, Training(2, 5, *rates))
    assert all(torch.equal(a, b) for a, b in zip(before, arch_parameters(model), strict=True))
    fit(model, data, None, Training(3, 5, *rates))
    assert not any(torch.equal(a, b) for a, b in zip(before, arch_parameters(model), strict=True))


def test_each_optimiser_has_its_own_parameters(monkeypatch):
    data = samples()
    model = model_for(data)
    before = [p.detach().clone() for p in weight_parameters(model)]
    fit(model, data, None, Training(1, 5, Optimisation(0.0), Optimisation(1e-2)))
    assert all(torch.equal(a, b) for a, b in zip(before, weight_parameters(model), strict=True))


def test_sum_and_mean_differ_by_the_batch_for_sgd():
    data = samples(10)  # two whole batches of 5
    models = []
    for loss, rate in (("mean", 5e-2), ("sum", 1e-2)):
        sgd = Optimisation(rate, "sgd", schedule="constant")
        model = model_for(data)
        fit(model, data, None, Training(2, 5, sgd, sgd, loss=loss))
        models.append(values(model))
    for a, b in zip(*models, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_slopes_count_in_the_loss_and_not_in_the_history():
    """One step of SGD on one batch is that of the sum of both errors, worked out by hand."""
    data = samples(5)
    sgd = Optimisation(1e-2, "sgd", schedule="constant")
    slopes = partial(relative_h1, periodic=(True,), lengths=(1.0,))
    model, by_hand = model_for(data), model_for(data)
    history = fit(model, data, None, Training(1, 5, sgd, sgd, h1=0.5), slopes=slopes)
    predicted = by_hand(data.x)
    errors = relative_l2(predicted, data.y)
    (errors + 0.5 * slopes(predicted, data.y)).mean().backward()
    for trained, start in zip(model.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(trained, start - 1e-2 * start.grad)
    assert history["train_relative_l2"].iloc[0] == pytest.approx(errors.mean().item(), rel=1e-5)


def test_without_slopes_there_is_nothing_to_weigh():
    data = samples(5)
    with pytest.raises(ValueError, match=r"h1=0.5 weighs an error of slopes: give slopes=…"):
        fit(model_for(data), data, None, quick(1, h1=0.5))
    with pytest.raises(ValueError, match="h1=-1 must be a number, and not negative"):
        quick(1, h1=-1)


def test_configurations_without_slopes_are_those_of_earlier_versions():
    assert "h1" not in quick(1).as_dict()
    assert training_from(quick(1, h1=0.25).as_dict()) == quick(1, h1=0.25)


def test_nan_stops_with_advice():
    data = samples()
    model = model_for(data)
    how = Training(20, 5, Optimisation(1e30, schedule="constant"), Optimisation(1e-2))
    with pytest.raises(TrainingFailed, match=r"the loss became .* lower .* \(1e\+30 for weights"):
        fit(model, data, None, how)


def test_weights_that_are_lost_in_the_last_step_are_not_a_result(tmp_path):
    data = samples(5)
    with pytest.raises(TrainingFailed, match="not finite after the last batch of epoch 1"):
        fit(model_for(data), data, None, exploding(1), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def exploding(epochs: int) -> Training:
    return Training(epochs, 5, Optimisation(1e3, "sgd", decay=3e38), Optimisation(0.0))


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (Optimisation(1.0, schedule="constant"), [1, 1, 1, 1]),
        (Optimisation(1.0, schedule="step", step_epochs=2), [1, 1, 0.5, 0.5]),
        (Optimisation(1.0, warmup=1), [0, 0.8535534, 0.5, 0.1464466]),
    ],
)
def test_schedules(how, expected):
    assert [rate_factor(how, epoch, 4) for epoch in range(4)] == pytest.approx(expected)


def test_batches_are_shared_out_and_depend_on_seed_and_epoch():
    sampler = ShuffledBatches(11, 4, seed=3)
    whole = list(sampler)
    assert [sampler.size(index) for index in range(len(sampler))] == [4, 4, 3]
    assert sorted(chain(*whole)) == list(range(11))
    shares = []
    for rank in range(4):
        sampler.process = rank, 4
        shares.append(list(sampler))
    assert [sorted(chain(*parts)) for parts in list(zip(*shares, strict=True))[:2]] == [
        sorted(batch) for batch in whole[:2]
    ]
    assert all(parts[2] == whole[2] for parts in shares)  # too small to be shared
    assert [sampler.shares(sampler.size(index)) for index in range(3)] == [4, 4, 1]
    sampler.process, sampler.epoch = (0, 1), 1
    assert list(sampler) != whole
    sampler.epoch = 0
    assert list(sampler) == whole


def test_every_epoch_sees_all_samples_in_another_order():
    data = samples()
    model = Recorder(model_for(data))
    fit(model, data, None, quick(3))
    seen = torch.cat([x for x, *_ in model.calls])[:, 0].split(len(data))
    orders = [[int(torch.nonzero((data.x[:, 0] == x).all(1))) for x in epoch] for epoch in seen]
    assert all(sorted(order) == list(range(len(data))) for order in orders)
    assert orders[0] != orders[1] != orders[2]
    expected = ShuffledBatches(len(data), 5, seed=0)
    expected.epoch = 2
    assert orders[2] == list(chain(*expected))


def test_the_error_of_an_epoch_is_the_mean_over_samples():
    """The last of three batches has two samples."""
    data, model = samples(), model_for(samples())
    still = Training(1, 5, Optimisation(0.0), Optimisation(0.0))
    history = fit(model, data, data, still)
    one = sciops.training.relative_l2(model(data.x), data.y).mean().item()
    assert history["train_relative_l2"].tolist() == pytest.approx([one], rel=1e-5)
    assert history["val_relative_l2"].tolist() == pytest.approx([one], rel=1e-5)


def test_points_that_are_not_uniform_are_handed_to_the_model():
    data = samples()
    model, where = Recorder(model_for(data)), (torch.linspace(0, 1, 17)[:-1] ** 2,)
    fit(model, data, data, quick(1), coords=where)
    assert len(model.calls) == 6 and all(coords == where for _, coords, *_ in model.calls)
    model.calls.clear()
    fit(model, data, data, quick(1))
    assert all(coords is None for _, coords, *_ in model.calls)


def test_a_model_in_evaluation_mode_is_trained_all_the_same():
    data, model = samples(), Recorder(model_for(samples())).eval()
    fit(model, data, data, quick(1))
    assert [training for *_, training, _ in model.calls] == [True] * 3 + [False] * 3


# --- what a process that was killed leaves --------------------------------------------------------


def test_a_first_state_that_was_not_finished_is_no_obstacle(tmp_path):
    data = samples()
    (tmp_path / "run" / ".state.partial").mkdir(parents=True)
    history = fit(model_for(data), data, None, quick(1), folder=tmp_path / "run")
    assert list(history["epoch"]) == [1]


def test_a_damaged_state_is_an_error_that_says_the_way_back(tmp_path):
    data, folder = samples(), tmp_path / "run"
    expected = fit(model_for(data), data, None, quick(3), folder=folder)
    last = folder / "save-000003"
    content = bytearray((last / "state.safetensors").read_bytes())
    content[-1] ^= 1
    (last / "state.safetensors").write_bytes(content)
    with pytest.raises(
        CheckpointError, match=r"damaged .* remove .*save-000003 to go back to save"
    ):
        fit(model_for(data), data, None, quick(3), folder=folder)
    shutil.rmtree(last)
    again = fit(model_for(data), data, None, quick(3), folder=folder)
    assert again["train_relative_l2"].tolist() == expected["train_relative_l2"].tolist()


# --- the bar --------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch, val=None, *, stream: io.StringIO, progress: bool = True) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("SCIOPS_NO_PROGRESS", raising=False)
    data = samples()
    fit(model_for(data), data, val, quick(2), progress=progress)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())


def test_a_person_sees_epoch_errors_and_time_left(monkeypatch):
    text = shown(monkeypatch, samples(5, seed=1), stream=Terminal())
    data = samples()
    history = fit(model_for(data), data, samples(5, seed=1), quick(2), progress=False)
    train, val = history["train_relative_l2"].iloc[1], history["val_relative_l2"].iloc[0]
    assert f"training: epoch 2/2, train {train:.4f}, val {val:.4f}" in text
    assert re.search(r"\d:\d\d:\d\d", text)


def test_without_validation_the_bar_has_the_training_error(monkeypatch):
    text = shown(monkeypatch, stream=Terminal())
    assert "epoch 2/2, train 0." in text and "val" not in text


def test_nobody_at_a_terminal_sees_nothing(monkeypatch):
    assert shown(monkeypatch, stream=io.StringIO()) == ""
    assert shown(monkeypatch, stream=Terminal(), progress=False) == ""
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert bar_is_wanted(True)
    monkeypatch.setenv("SCIOPS_NO_PROGRESS", "1")
    assert not bar_is_wanted(True)


def test_the_bar_ends_with_a_failure(monkeypatch):
    stream = Terminal()
    data = samples()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(TrainingFailed):
        fit(model_for(data), data, None, exploding(2))
    assert "\x1b[?25h" in stream.getvalue()  # the cursor is there again


# --- configurations -------------------------------------------------------------------------------


def test_changes_leave_the_rest_as_it_is():
    usual = quick(3)
    new = changed(usual, epochs=None, batch_size=7, rate=0.5)
    assert (new.epochs, new.batch_size, new.weights.rate) == (3, 7, 0.5)
    assert new.weights.clip == 1.0 and new.architecture == usual.architecture
    assert training_from(new.as_dict()) == new


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Optimisation(1e-3, "lion"), "optimiser='lion' must be one of"),
        (lambda: Optimisation(-1.0), "rate=-1.0 must be a number, and not negative"),
        (lambda: Optimisation(float("nan")), "rate=nan must be a number"),
        (lambda: Optimisation(float("inf")), "rate=inf must be a number"),
        (lambda: Optimisation("high"), "rate='high' must be a number"),
        (lambda: Optimisation(1e-3, step_epochs=0), "step_epochs=0 .* must be above 0"),
        (lambda: Optimisation(1e-3, clip=0.0), "clip=0.0 must be above 0"),
        (lambda: quick(0), "epochs=0 must be a whole number ≥ 1"),
        (lambda: quick(loss="median"), "loss='median' must be 'mean' or 'sum'"),
    ],
)
def test_senseless_configurations_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


STOPPED = """
import os, signal, sys
from tests.training_toy import model_for, quick, samples
from sciops.training import fit

def end(rows):
    if len(rows) == 2:
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs begin without it
data = samples()
fit(model_for(data), data, None, quick(9), folder=sys.argv[2], at_epoch_end=end)
print("went on")
"""


@pytest.mark.parametrize(("signal", "code"), [("SIGTERM", 143), ("SIGINT", -2)])
def test_a_process_that_is_asked_to_end_says_so(signal, code, tmp_path):
    """With a code that tells a queue, or a shell's &&, that the run is not finished."""
    command = [sys.executable, "-c", STOPPED, signal, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.returncode == code and "went on" not in done.stdout
    assert "of 9; the same call goes on from there" in done.stderr


def test_the_first_step_moves_the_weights():
    data = samples(4)
    how = quick(1)
    how = Training(1, 4, *(Optimisation(1e-2, ramp=0.1) for _ in range(2)), seed=how.seed)
    model = model_for(data)
    before = values(model)
    fit(model, data, None, how)
    assert all(not torch.equal(a, b) for a, b in zip(before, values(model), strict=True))


def test_every_setting_of_the_optimisers_can_be_changed():
    usual = quick()
    for name in CHANGES:
        new = changed(usual, **{name: 2})
        group = "architecture" if name.startswith("arch_") else "weights"
        assert getattr(getattr(new, group), name.removeprefix("arch_")) == 2
        others = [getattr(new, g) for g in ("weights", "architecture") if g != group]
        assert others == [getattr(usual, g) for g in ("weights", "architecture") if g != group]


def dnarch(learn: str = "KRWD", **options):
    """A continuous CNN that begins far from what it may cost."""
    data = samples(10)
    return model_for(data, "dnarch", learn=learn, **options), data


def test_architectures_add_to_the_loss_and_stay_where_they_may_be():
    """Steps of masks are so large that they would leave the interval."""
    fast = Training(3, 5, Optimisation(0.0), Optimisation(3.0, schedule="constant"))
    free, data = dnarch(cost=0.0)
    dear, _ = dnarch(cost=1e3, target=0.5)
    rows = [fit(model, data, data, fast, progress=False) for model in (free, dear)]
    assert rows[1]["complexity"].iloc[-1] < rows[0]["complexity"].iloc[-1]
    assert max(row["train_relative_l2"].max() for row in rows) < 10  # errors are without it
    for model in (free, dear):
        (sizes,) = [m for m in model.modules() if isinstance(m, Sizes)]
        before = [p.clone() for p in sizes.parameters()]
        sizes.project()
        assert all(torch.equal(a, b) for a, b in zip(before, sizes.parameters(), strict=True))


def test_a_target_is_met():
    model, data = dnarch(cost=10.0, target=0.9)
    how = Training(40, 5, Optimisation(5e-3), Optimisation(1e-2))
    rows = fit(model, data, data, how, progress=False)
    assert rows["complexity"].iloc[-1] == pytest.approx(0.9, rel=0.02)
    assert rows["train_relative_l2"].iloc[-1] < 0.8 * rows["train_relative_l2"].iloc[0]


def test_adamw_does_not_mix_decay_and_gradients():
    weight = torch.nn.Parameter(torch.ones(1))
    optimiser = make_optimiser([weight], Optimisation(0.1, "adamw", decay=0.5))
    weight.grad = torch.zeros(1)
    optimiser.step()
    assert weight.item() == pytest.approx(1 - 0.1 * 0.5)
