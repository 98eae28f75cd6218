"""Training learns, resumes bit for bit, uses several processes as one, and fails clearly."""

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import sciops.training
from sciops.config import Optimisation, Training
from sciops.operators import arch_parameters, weight_parameters
from sciops.training import ShuffledBatches, TrainingFailed, fit, rate_factor
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
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        fit(model_for(data), data, val, quick(5), folder=tmp_path / "run")
    resumed = model_for(data)
    history = fit(resumed, data, val, quick(5), folder=tmp_path / "run")
    for a, b in zip(values(whole), values(resumed), strict=True):
        assert torch.equal(a, b)
    assert history["train_relative_l2"].tolist() == expected["train_relative_l2"].tolist()
    again = fit(model_for(data), data, val, quick(5), folder=tmp_path / "run")
    assert again["epoch"].tolist() == [1, 2, 3, 4, 5]


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


def test_nan_stops_with_advice():
    data = samples()
    model = model_for(data)
    how = Training(20, 5, Optimisation(1e30, schedule="constant"), Optimisation(1e-2))
    with pytest.raises(TrainingFailed, match=r"the loss became .* lower the learning rates"):
        fit(model, data, None, how)


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


def test_batches_are_shared_out_and_depend_on_seed_and_epoch(monkeypatch):
    sampler = ShuffledBatches(11, 4, seed=3)
    whole = list(sampler)
    assert sorted(chain(*whole)) == list(range(11))
    shares = []
    for rank in range(4):
        monkeypatch.setattr(sciops.training, "_process", lambda rank=rank: (rank, 4))
        shares.append(list(sampler))
    assert [sorted(chain(*parts)) for parts in list(zip(*shares, strict=True))[:2]] == [
        sorted(batch) for batch in whole[:2]
    ]
    assert all(parts[2] == whole[2] for parts in shares)  # too small to be shared
    monkeypatch.undo()
    sampler.epoch = 1
    assert list(sampler) != whole
    sampler.epoch = 0
    assert list(sampler) == whole


def test_two_processes_take_the_steps_of_one(tmp_path):
    script = Path(__file__).with_name("training_toy.py")
    found = []
    for devices, strategy in ((1, "auto"), (2, "ddp")):
        out = tmp_path / f"{devices}.safetensors"
        environment = {**os.environ, "PYTHONPATH": str(script.parents[1]), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, script, out, str(devices), strategy]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr[-2000:]
        found.append(load_file(out))
    for name, one in found[0].items():
        torch.testing.assert_close(found[1][name], one, rtol=2e-3, atol=2e-5, msg=name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Optimisation(1e-3, "adamw"), "optimiser='adamw' must be one of"),
        (lambda: Optimisation(-1.0), "rate=-1.0 must not be negative"),
        (lambda: Optimisation(float("nan")), "rate=nan must not be negative"),
        (lambda: quick(0), "epochs=0 must be a whole number ≥ 1"),
        (lambda: quick(loss="median"), "loss='median' must be 'mean' or 'sum'"),
    ],
)
def test_senseless_configurations_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
