"""The estimate of a training step is right by hand, changes nothing and leaves nothing behind."""

import gc
import weakref

import pytest
import torch
from torch import nn

import sciops.training_memory
from sciops.training_memory import expect_memory_to_train, saved_bytes, step_bytes
from tests.run_toy import on_lines
from tests.search_toy import Images
from tests.training_toy import model_for, samples


class Flat(nn.Module):
    """Two dense layers; for the backward pass they keep their inputs, and relu its output."""

    def __init__(self, size: int = 64, hidden: int = 10):
        super().__init__()
        self.first, self.second = nn.Linear(size, hidden), nn.Linear(hidden, 1)

    def forward(self, x):
        return self.second(self.first(x.flatten(1)).relu())


def test_saved_bytes_by_hand():
    x = torch.randn(5, 1, 8, 8)
    assert saved_bytes(Flat(), x) == 4 * (5 * 64 + 5 * 10)  # relu's output is the second's input


def test_a_step_by_hand():
    model = Flat()
    parameters = 4 * (64 * 10 + 10 + 10 + 1)
    assert step_bytes(model, Images(4, 0), 100) == 3 * parameters + 4 * 100 * (64 + 10)


def test_nothing_is_kept():
    class Noted(Flat):
        def forward(self, x):
            hidden = self.first(x.flatten(1)).relu()  # relu keeps its own output
            self.hidden = weakref.ref(hidden.untyped_storage())
            return self.second(hidden)

    model = Noted()
    saved_bytes(model, torch.randn(5, 1, 8, 8))
    gc.collect()
    assert model.hidden() is None


@pytest.mark.parametrize("batch", [5, 9])
def test_two_and_three_samples_tell_of_any_number(batch):
    data = samples(12)
    model = model_for(data)
    saved = saved_bytes(model.train(), data.__getitems__(range(batch)).x)
    parameters = sum(p.nbytes for p in model.parameters())
    assert step_bytes(model, data, batch) == pytest.approx(saved + 3 * parameters, rel=0.02)


def test_nothing_is_changed():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout()).eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    chance = torch.get_rng_state()
    step_bytes(model, Images(4, 0), 8)
    assert torch.equal(chance, torch.get_rng_state()) and not model.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_a_step_that_does_not_fit_is_refused_with_the_number(monkeypatch):
    monkeypatch.setenv("SCIOPS_MEMORY", "1e-5")
    message = (
        r"a training step with 50 samples needs about 2.*e-05 GB .* smaller batch_size \(now 100"
    )
    with pytest.raises(ValueError, match=message):
        expect_memory_to_train(Flat(), Images(4, 0), 100, processes=2)
    expect_memory_to_train(Flat(), Images(4, 0), 2)


def test_a_run_is_refused_before_it_trains(tmp_path, monkeypatch):
    monkeypatch.setattr(sciops.training_memory, "step_bytes", lambda *_: 10**18)
    with pytest.raises(ValueError, match=r"a training step with 4 samples needs about 1e\+09 GB"):
        on_lines(tmp_path / "run")
    assert not (tmp_path / "run" / "checkpoints").exists()
    monkeypatch.undo()
    on_lines(tmp_path / "run")  # the folder is taken up again
