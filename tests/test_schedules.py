"""The plateau rule: as published, and not fooled by the beginning of a search."""

import pytest
import torch

from sciops.config import Optimisation, Training
from sciops.schedules import plateau_cuts, rate_factor
from sciops.training import fit
from tests.training_toy import model_for, samples


def published(errors: list[float], start_epoch: int = 1) -> int:
    """The loop of Bai et al. and Roberts et al., literally."""
    cuts, before = 0, errors[: start_epoch - 1]
    for epoch in range(start_epoch, len(errors) + 1):
        error = errors[epoch - 1]
        if epoch > start_epoch + 9 and error > max(before[-3:]):
            cuts += 1
        before = [*before, error]
    return cuts


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_published_rule(seed):
    generator = torch.Generator().manual_seed(seed)
    errors = (3 + torch.rand(60, generator=generator)).tolist()
    assert plateau_cuts(errors, 10) == published(errors) > 0
    assert plateau_cuts(errors, 10, begin=25) - plateau_cuts(errors[:25], 10) == published(
        errors, start_epoch=26
    )


def test_what_the_search_disturbs_does_not_cut_the_rate():
    calm = [8 - 0.1 * k for k in range(12)]
    disturbed = [*calm, 8.0, 7.9, 7.8, 7.7]
    assert plateau_cuts(disturbed, 10) == 1
    assert plateau_cuts(disturbed, 10, begin=12) == 0


def test_rates_are_divided_by_ten_after_the_warm_up():
    how = Optimisation(1.0, schedule="plateau", warmup=3)
    assert [rate_factor(how, epoch, 9, cuts) for epoch, cuts in ((2.9, 1), (3, 0), (5, 2))] == (
        pytest.approx([0, 1, 0.01])
    )


def test_training_follows_it_and_resumes_exactly(tmp_path, monkeypatch):
    """Rates that are far too high, so that validation errors rise."""
    seen = []
    adam = torch.optim.Adam.step

    def step(self, *args, **options):
        seen.append(self.param_groups[0]["lr"])
        return adam(self, *args, **options)

    monkeypatch.setattr(torch.optim.Adam, "step", step)
    rates = (Optimisation(0.3, schedule="plateau", step_epochs=2), Optimisation(0.0))
    data, val = samples(), samples(5, seed=1)
    history = fit(model_for(data, "conv"), data, val, Training(8, 12, *rates))
    errors = history["val_relative_l2"].tolist()
    expected = [0.3 * 0.1 ** plateau_cuts(errors[:k], 2) for k in range(8)]
    assert seen == pytest.approx(expected) and expected[-1] < 0.3

    def stop(rows):
        if len(rows) == 5:
            raise InterruptedError

    run = dict(folder=tmp_path / "run")
    with pytest.raises(InterruptedError):
        fit(model_for(data, "conv"), data, val, Training(8, 12, *rates), at_epoch_end=stop, **run)
    resumed = fit(model_for(data, "conv"), data, val, Training(8, 12, *rates), **run)
    assert resumed["val_relative_l2"].tolist() == errors
