"""Both ways to forecast, against the same thing done by hand."""

import pytest
import torch
from torch import nn

from sciops.backbones import FnoCnn, NeuralopFno, Normalized
from sciops.backbones.forecasting import (
    RollOut,
    SpaceTime,
    continued,
    forecaster,
    history_and_frames,
    next_frame_task,
    space_time_task,
)
from sciops.task import Axis, Field, Task

SMALL = {
    "conv": {"width": 4, "taps": 3},
    "fno": {"width": 4, "frequencies": 4},
    "xd": {"width": 4, "frequencies": 4, "taps": 3},
    "xd-grid": {"width": 4, "taps": 3},
    "neuralop": {"width": 4, "modes": 4},
    "unet": {"width": 4, "levels": 2},
}


def make_task(n: int = 8, history: int = 3, frames: int = 5, ndim: int = 2) -> Task:
    """The first axis is periodic, the second has ends."""
    ring = Axis("x", tuple((torch.arange(n) / n).tolist()), True, 1.0)
    line = Axis("y", tuple(torch.linspace(0, 1, n).tolist()), False, 1.0)
    window = Field("w", (0, history)), Field("w", (history, history + frames))
    return Task("flow", window[:1], window[1:], (ring, line)[:ndim])


def by_hand(model: SpaceTime, x: torch.Tensor) -> torch.Tensor:
    """The history at every time, frame k of T being at k/T."""
    n, frames = x.shape[-1], model.frames
    repeated = x[..., None].repeat(1, 1, 1, 1, frames)
    points = torch.arange(n) / n, torch.linspace(0, 1, n), torch.linspace(0, 1, frames + 1)[1:]
    y = model.network(repeated, tuple(p.double() for p in points))
    return torch.stack([y[:, 0, :, :, k] for k in range(frames)], 1)


@pytest.mark.parametrize("op", ["conv", "fno", "xd", "neuralop"])
def test_space_time_is_the_network_on_repeated_frames(op):
    torch.manual_seed(0)
    task = make_task()
    model = SpaceTime(task, op, **SMALL[op])
    assert isinstance(model.network, NeuralopFno if op == "neuralop" else FnoCnn)
    x = torch.randn(2, 3, 8, 8)
    torch.testing.assert_close(model(x), by_hand(model, x), rtol=1e-5, atol=1e-6)


def test_space_time_depends_on_time():
    torch.manual_seed(0)
    y = SpaceTime(make_task(), "fno", **SMALL["fno"])(torch.randn(1, 3, 8, 8))
    assert (y.diff(dim=1).abs().mean((0, 2, 3)) > 1e-3).all()


def test_the_history_is_not_copied_for_every_time():
    model, seen = SpaceTime(make_task(), "conv", **SMALL["conv"]), []
    model.network.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    x = torch.randn(1, 3, 8, 8)
    model(x)
    assert seen[0].stride(-1) == 0
    assert seen[0].data_ptr() == x.data_ptr()


@pytest.mark.parametrize("op", SMALL)
@pytest.mark.parametrize("way", ["3d", "steps"])
def test_shapes_and_gradients(op, way):
    torch.manual_seed(0)
    task = make_task()
    x, y = torch.randn(2, 3, 8, 8), torch.randn(2, 5, 8, 8)
    model = forecaster(task, op, way, **SMALL[op]).fit(x, y).eval()
    out = model(x)
    assert out.shape == y.shape
    out.square().sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("way", ["3d", "steps"])
def test_one_axis_of_space(way):
    task = make_task(ndim=1)
    x, y = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    assert forecaster(task, "fno", way, **SMALL["fno"]).fit(x, y).eval()(x).shape == y.shape


@pytest.mark.parametrize("way", ["3d", "steps"])
def test_other_grids_and_their_coordinates(way):
    torch.manual_seed(0)
    model = forecaster(make_task(), "xd", way, **SMALL["xd"])
    model.fit(torch.randn(2, 3, 8, 8), torch.randn(2, 5, 8, 8)).eval()
    x = torch.randn(1, 3, 10, 9)
    uniform = torch.arange(10).double() / 10, torch.linspace(0, 1, 9).double()
    torch.testing.assert_close(model(x, uniform), model(x), rtol=1e-4, atol=1e-5)
    moved = uniform[0], 0.9 * uniform[1]
    assert (model(x, moved) - model(x)).abs().max() > 1e-3


def test_tasks_of_the_two_ways():
    task = make_task(history=3, frames=5)
    assert history_and_frames(task) == (3, 5)
    step = next_frame_task(task)
    assert (step.inputs, step.targets, step.axes) == (task.inputs, (Field("w", (3, 4)),), task.axes)
    whole = space_time_task(task)
    assert (whole.in_channels, whole.out_channels, whole.axes[:2]) == (3, 1, task.axes)
    assert (whole.axes[2].points, whole.axes[2].periodic) == ((0.2, 0.4, 0.6, 0.8, 1.0), False)


def test_each_frame_has_its_own_normalisation():
    x, y = torch.randn(4, 3, 8, 8), torch.randn(4, 5, 8, 8) * torch.arange(1, 6).view(5, 1, 1)
    model = forecaster(make_task(), "conv", **SMALL["conv"]).fit(x, y)
    torch.testing.assert_close(model.y_std, y.transpose(0, 1).flatten(1).std(1, correction=0))


# --- step by step ---------------------------------------------------------------------------------


class Shift(nn.Module):
    """The last frame, moved by one point."""

    def forward(self, x):
        return x[:, -1:].roll(1, -1)


class Recurrence(nn.Module):
    """2 w₁ − w₂ + ½ w₃, w₁ being the last frame: every place of the history counts."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))

    def forward(self, x):
        return torch.einsum("h,bh...->b...", self.weights, x).unsqueeze(1)


def test_a_translation_rolls_on():
    x = torch.randn(2, 3, 8)
    y = RollOut(Shift(), 5).eval()(x)
    for k in range(5):
        torch.testing.assert_close(y[:, k], x[:, -1].roll(k + 1, -1))


def test_predictions_take_the_place_of_the_oldest_frames():
    x = torch.randn(2, 3, 4)
    frames = list(x.unbind(1))
    for _ in range(6):
        frames.append(0.5 * frames[-3] - frames[-2] + 2 * frames[-1])
    torch.testing.assert_close(RollOut(Recurrence(), 6).eval()(x), torch.stack(frames[3:], 1))


@pytest.mark.parametrize("block", [1, 2, 4, 7])
def test_a_model_of_several_frames_is_continued(block):
    """Shorter or longer than the history, and cut at the frames asked for."""
    x = torch.randn(2, 3, 4)
    several = lambda history: continued(Recurrence(), history, block)
    torch.testing.assert_close(continued(several, x, 9), continued(Recurrence(), x, 9))


def test_gradient_goes_through_the_whole_roll_out():
    class Decay(nn.Module):
        def forward(self, x):
            return 0.5 * x[:, -1:]

    x = torch.ones(1, 2, 3, requires_grad=True)
    RollOut(Decay(), 4).eval()(x)[:, -1].sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([0.0, 0.5**4]).view(1, 2, 1).expand(1, 2, 3))


def test_training_sees_the_next_frame_only():
    x, model = torch.randn(2, 3, 4), RollOut(Recurrence(), 6)
    torch.testing.assert_close(model.train()(x), Recurrence()(x))
    torch.testing.assert_close(model.train()(x), model.eval()(x)[:, :1])


def test_noise_is_relative_seeded_and_for_training_only():
    class Last(nn.Module):
        def forward(self, x):
            return x

    x = torch.randn(2, 3, 4000) * torch.tensor([1.0, 50.0]).view(2, 1, 1)
    model = RollOut(Last(), 3, noise=0.1).train()
    torch.manual_seed(3)
    once = model(x)
    torch.manual_seed(3)
    torch.testing.assert_close(model(x), once)
    spread = (once - x).flatten(1).std(1) / x.flatten(1).std(1)
    torch.testing.assert_close(spread, torch.full((2,), 0.1), rtol=0.05, atol=0)
    torch.testing.assert_close(model.eval()(x), x)


@pytest.mark.parametrize(("history", "frames"), [(3, 5), (4, 2), (2, 1)])
def test_the_step_is_normalised_by_all_windows(history, frames):
    sequence = torch.randn(6, history + frames, 8) * torch.arange(1, history + frames + 1)[:, None]
    sequence = sequence + 10 * torch.randn(history + frames, 1)
    x, y = sequence[:, :history], sequence[:, history:]
    model = RollOut(Normalized(nn.Identity(), history, 1), frames).fit(x, y)
    windows = torch.cat([sequence[:, s : s + history + 1] for s in range(frames)])
    expected = Normalized(nn.Identity(), history, 1).fit(windows[:, :-1], windows[:, -1:])
    for name, value in expected.named_buffers():
        torch.testing.assert_close(dict(model.step.named_buffers())[name], value)


def test_normalisation_survives_constant_and_refuses_bad_data():
    model = RollOut(Normalized(nn.Identity(), 2, 1), 3)
    model.fit(torch.full((4, 2, 5), 3.0), torch.full((4, 3, 5), 3.0))
    assert model.step.x_std.tolist() == [1.0, 1.0]
    x = torch.zeros(4, 2, 5)
    x[1, 0, 2] = torch.nan
    with pytest.raises(ValueError, match="training inputs have NaN"):
        model.fit(x, torch.zeros(4, 3, 5))


def test_weights_and_normalisation_are_kept():
    torch.manual_seed(0)
    x, y = torch.randn(2, 3, 8, 8), torch.randn(2, 5, 8, 8)
    for way in ("3d", "steps"):
        model, other = (forecaster(make_task(), "fno", way, **SMALL["fno"]) for _ in range(2))
        model.fit(x, y).eval()
        other.eval().load_state_dict(model.state_dict())
        torch.testing.assert_close(other(x), model(x))


def two_variables() -> Task:
    task = make_task()
    return Task("flow", (*task.inputs, Field("a")), task.targets, task.axes)


def with_a_gap() -> Task:
    task = make_task()
    return Task("flow", task.inputs, (Field("w", (4, 8)),), task.axes)


def still() -> Task:
    return Task("darcy", (Field("a"),), (Field("u"),), make_task().axes)


def solid() -> Task:
    task = make_task()
    return Task("flow", task.inputs, task.targets, (*task.axes, task.axes[0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: forecaster(make_task(), "fno", "4d"), "forecast='4d'.*3d, steps"),
        (lambda: forecaster(make_task(), "fnoo"), "no op='fnoo'"),
        (lambda: forecaster(make_task(), "fno", noise=0.1), "noise=0.1 is for forecast='steps'"),
        (lambda: forecaster(make_task(frames=1), "fno"), "2 frames or more.*steps"),
        (lambda: forecaster(solid(), "fno"), "3 axes of space.*forecast='steps'"),
        (lambda: forecaster(still(), "fno"), "'darcy' is not a forecast"),
        (lambda: forecaster(two_variables(), "fno", "steps"), "not a forecast"),
        (lambda: forecaster(with_a_gap(), "fno", "steps"), "not a forecast"),
        (lambda: RollOut(Shift(), 0), "frames=0 must be 1 or more"),
        (lambda: RollOut(Shift(), 1, noise=-0.1), "noise=-0.1 not negative"),
    ],
)
def test_bad_requests(make, message):
    with pytest.raises(ValueError, match=message):
        make()
