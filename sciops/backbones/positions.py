"""Coordinates: for the operators, and as input channels that do not spoil resolution invariance.

A closed axis gives s = (x − x₀)/length.  On a periodic one the ramp s would jump at the seam, which
no finite number of modes can follow, so it gives cos 2πs and sin 2πs instead.
"""

import math

import torch
from torch import Tensor

from sciops.task import Task


def position_channels(task: Task) -> int:
    """How many there are.

    >>> from sciops.task import Axis
    >>> axes = Axis("x", (0.0, 0.5), True, 1.0), Axis("y", (0.0, 1.0), False, 1.0)
    >>> position_channels(Task("demo", (), (), axes))
    3
    """
    return sum(2 if axis.periodic else 1 for axis in task.axes)


def unit_points(task: Task, size: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Points of a uniform grid of another size on the domain of the task, lengths being 1."""
    return tuple(
        torch.arange(n, dtype=torch.float64) / (n if axis.periodic else max(n - 1, 1))
        for axis, n in zip(task.axes, size, strict=True)
    )


def positions(task: Task, points: tuple[Tensor, ...], like: Tensor) -> Tensor:
    """(1, channels, *size) of the points of each axis, in units of its length."""
    size = [len(p) for p in points]
    channels = []
    for axis, (kind, p) in enumerate(zip(task.axes, points, strict=True)):
        waves = [(2 * math.pi * p).cos(), (2 * math.pi * p).sin()] if kind.periodic else [p]
        shape = [-1 if a == axis else 1 for a in range(len(size))]
        channels += [wave.view(shape).expand(size) for wave in waves]
    return torch.stack(channels)[None].to(like)
