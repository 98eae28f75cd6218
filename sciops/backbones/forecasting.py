"""Forecasts: the first H frames of a field go in, the next T come out, in one of two ways.

    3d      `SpaceTime`: all T frames at once, from a network on space and time.  The history is
            repeated along a closed axis of time, frame k at t = k/T, so that t = 0 is its last one.
    steps   `RollOut`: a network that gives the next frame; its output is fed back until there are
            T of them.

Both map (batch, H, *space) to (batch, T, *space) in physical units.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from sciops.suggestions import did_you_mean
from sciops.task import Axis, Field, Task

from .normalized import Normalized
from .positions import unit_points

WAYS = ("3d", "steps")


def forecaster(
    task: Task, op: str, forecast: str = "3d", *, noise: float = 0.0, **options
) -> nn.Module:
    """A forecast with the operator `op`, either way; `fit(x, y)` it to sequences, then train it.

    noise:   of `RollOut`
    options: of `make_backbone`
    """
    if forecast == "3d":
        if noise:
            raise ValueError(f"noise={noise} is for forecast='steps'; leave it out")
        return Normalized(SpaceTime(task, op, **options), task.in_channels, task.out_channels)
    if forecast == "steps":
        from . import make_backbone

        _, frames = history_and_frames(task)
        return RollOut(make_backbone(next_frame_task(task), op, **options), frames, noise=noise)
    raise ValueError(
        f"forecast={forecast!r} is not known; choose one of {', '.join(WAYS)}"
        f"{did_you_mean(forecast, WAYS)}"
    )


# --- what a forecast is ---------------------------------------------------------------------------


def history_and_frames(task: Task) -> tuple[int, int]:
    """H and T of a forecast, or a ValueError if the task is none.

    >>> history_and_frames(Task("demo", (Field("w", (0, 10)),), (Field("w", (10, 30)),), ()))
    (10, 20)
    """
    match task:
        case Task(inputs=(Field(given, (_, now)),), targets=(Field(wanted, (after, _)),)):
            if given == wanted and now == after:
                return task.in_channels, task.out_channels
    raise ValueError(
        f"{task.name!r} is not a forecast: it predicts {task.targets} from {task.inputs}; a "
        "forecast has frames [a, b) of one variable as input and frames [b, c) as target"
    )


def next_frame_task(task: Task) -> Task:
    """The same history, and only the frame after it."""
    history_and_frames(task)
    (target,) = task.targets
    first = target.frames[0]
    return replace(task, targets=(Field(target.variable, (first, first + 1)),))


def space_time_task(task: Task) -> Task:
    """The same history at every point of space and time, and one channel to predict there."""
    _, frames = history_and_frames(task)
    if frames < 2:
        raise ValueError("an axis of time needs 2 frames or more; use forecast='steps' for one")
    if len(task.axes) > 2:
        raise ValueError(
            f"{task.name!r} has {len(task.axes)} axes of space, and with time that is more than 3, "
            "for which there is no network; use forecast='steps'"
        )
    time = Axis("time", tuple(times(frames).tolist()), periodic=False, length=1.0)
    return replace(task, targets=(Field(task.targets[0].variable),), axes=(*task.axes, time))


def times(frames: int) -> Tensor:
    """1/T, 2/T, …, 1.

    >>> times(4).tolist()
    [0.25, 0.5, 0.75, 1.0]
    """
    return torch.arange(1, frames + 1, dtype=torch.float64) / frames


# --- all at once ----------------------------------------------------------------------------------


class SpaceTime(nn.Module):
    """All frames of a forecast at once, by the network that `op` names on one axis more."""

    def __init__(self, task: Task, op: str = "xd", **options):
        super().__init__()
        from . import make_backbone

        self.task = task
        self.frames = task.out_channels
        self.takes_coords = op != "xd-grid"  # which knows its grid and no other
        self.network = make_backbone(space_time_task(task), op, **options).model

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, H, *n) -> (batch, T, *n).

        coords: points of each axis of space, in units of its length
        """
        repeated = x.unsqueeze(-1).expand(*x.shape, self.frames)
        if coords is None and not self.takes_coords:
            y = self.network(repeated)
        else:
            space = unit_points(self.task, tuple(x.shape[2:])) if coords is None else coords
            y = self.network(repeated, (*space, times(self.frames)))
        return y.squeeze(1).movedim(-1, 1)


# --- step by step ---------------------------------------------------------------------------------


class RollOut(nn.Module):
    """A forecast by a `step` from H frames to the next one.

    In training mode it gives that frame only, (batch, 1, *n); in eval mode all `frames`.  So the
    same model learns from windows (`sciops.data.windows`) and is judged by its roll-out.

    noise: standard deviation of what is added to the history in training mode, relative to that of
           the sample: the step learns to correct errors as large as its own
    """

    def __init__(self, step: nn.Module, frames: int, *, noise: float = 0.0):
        super().__init__()
        if frames < 1 or not noise >= 0:
            raise ValueError(f"{frames=} must be 1 or more, and {noise=} not negative")
        self.step, self.frames, self.noise = step, frames, noise

    def fit(self, x: Tensor, y: Tensor) -> "RollOut":
        """Normalise the step by all windows of sequences, (n, H, *space) and (n, T, *space)."""
        windows = _two_windows_like_all(x, y)
        self.step.fit(windows[:, :-1], windows[:, -1:])
        return self

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, H, *n) -> (batch, T, *n), or (batch, 1, *n) in training mode."""
        if self.training:
            return _called(self.step, _disturbed(x, self.noise), coords)
        return continued(self.step, x, self.frames, coords)


def continued(
    model: Callable[..., Tensor],
    history: Tensor,
    frames: int,
    coords: tuple[Tensor, ...] | None = None,
) -> Tensor:
    """(batch, H, *n) -> (batch, frames, *n), by a model of one or more frames fed with its own.

    >>> continued(lambda x: x[:, -1:] + 1, torch.zeros(1, 2, 1), 3).flatten().tolist()
    [1.0, 2.0, 3.0]
    """
    made: list[Tensor] = []
    while sum(new.shape[1] for new in made) < frames:
        new = _called(model, history, coords)
        history = torch.cat([history, new], 1)[:, -history.shape[1] :]
        made.append(new)
    return torch.cat(made, 1)[:, :frames]


def _called(model: Callable[..., Tensor], x: Tensor, coords) -> Tensor:
    return model(x) if coords is None else model(x, coords)


def _disturbed(x: Tensor, noise: float) -> Tensor:
    if not noise:
        return x
    deviation = x.flatten(1).std(1, correction=0).view(-1, *[1] * (x.ndim - 1))
    return x + noise * deviation * torch.randn_like(x)


def _two_windows_like_all(x: Tensor, y: Tensor) -> Tensor:
    """(2, H + 1, 1), with the mean and the deviation that each place has in all windows.

    There are T windows of a sequence, and place h of them holds the frames h … h + T − 1.  Their
    moments follow from those of the frames, without a copy of the data for every window.
    """
    frames = (frame for side in (x, y) for frame in side.unbind(1))
    moments = [torch.stack(torch.var_mean(frame.double(), correction=0)) for frame in frames]
    variance_of, mean_of = torch.stack(moments, 1).unfold(1, y.shape[1], 1)  # (H + 1, T) each
    center = mean_of.mean(1)
    deviation = (variance_of + (mean_of - center[:, None]).square()).mean(1).sqrt()
    return torch.stack([center - deviation, center + deviation])[..., None]
