"""Functions known everywhere, sampled on any grid, and models whose right answer is known.

Sample s has the input a = 1 + sin 2π(p + φₛ) + q³ − q and the target u = a², in which p and q are
the positions along x, which has a period, and y, which has ends, in units of their lengths.
"""

import math

import numpy as np
import torch
import xarray as xr
from torch import nn

from sciops.task import Task

X_PERIOD, Y_FIRST, Y_LENGTH = 2 * math.pi, 5.0, 3.0
FIRST = 40  # number of the first sample, if nothing else is said


def periodic_points(n: int) -> np.ndarray:
    return np.arange(n) / n


def phases(samples: int, first: int = FIRST) -> np.ndarray:
    """Of the samples from number `first` on."""
    return np.random.default_rng(1).random(first - FIRST + samples)[first - FIRST :]


def line(n: int = 16, samples: int = 5, *, above: float = 0.0, first: int = FIRST) -> xr.Dataset:
    """On a period; above: amplitude in the target of a wave of κ = 10, if the grid can hold it."""
    p = periodic_points(n)
    a = 1 + np.sin(2 * np.pi * (p + phases(samples, first)[:, None]))
    u = a**2 + (above * np.sin(20 * np.pi * p) if n > 20 else 0)
    return dataset({"a": (("x",), a), "u": (("x",), u)}, {"x": X_PERIOD * p}, first)


def closed_line(
    n: int = 9, samples: int = 5, *, points: np.ndarray | None = None, first: int = FIRST
) -> xr.Dataset:
    """With ends; input and target are one cubic polynomial of y − 5."""
    y = Y_FIRST + Y_LENGTH * np.linspace(0, 1, n) if points is None else points
    q = (y - Y_FIRST) / Y_LENGTH
    a = 1 + q**3 - phases(samples, first)[:, None] * q
    return dataset({"a": (("y",), a), "u": (("y",), a)}, {"y": y}, first)


def plane(
    nx: int = 16, ny: int = 9, samples: int = 4, *, frames: int = 0, first: int = FIRST
) -> xr.Dataset:
    """x has a period, y has ends.  With frames: a times 1, 2, …; the last two are to be found."""
    p, q = periodic_points(nx)[:, None], np.linspace(0, 1, ny)
    a = 1 + np.sin(2 * np.pi * (p + phases(samples, first)[:, None, None])) + q**3 - q
    coords = {"x": X_PERIOD * p[:, 0], "y": Y_FIRST + Y_LENGTH * q}
    if not frames:
        return dataset({"a": (("x", "y"), a), "u": (("x", "y"), a**2)}, coords, first)
    w = a[:, None] * np.arange(1, frames + 1)[:, None, None]
    ds = dataset({"w": (("time", "x", "y"), w)}, {"time": np.arange(frames), **coords}, first)
    ds.attrs["inputs"] = [{"variable": "w", "frames": [0, frames - 2]}]
    ds.attrs["targets"] = [{"variable": "w", "frames": [frames - 2, frames]}]
    return ds


def dataset(fields: dict, coords: dict, first: int = FIRST) -> xr.Dataset:
    samples = len(next(iter(fields.values()))[1])
    attrs = {
        "name": "toy",
        "boundary_conditions": {"x": "periodic", "y": "dirichlet"},
        "inputs": [{"variable": "a", "frames": None}],
        "targets": [{"variable": "u", "frames": None}],
    }
    data = {
        name: (("sample", *dims), values.astype("float32"), {"units": "m/s"})
        for name, (dims, values) in fields.items()
    }
    return xr.Dataset(data, {"sample": first + np.arange(samples), **coords}, attrs)


class Power(nn.Module):
    """factor · x^power: the same on every grid, with an error that is known."""

    def __init__(self, power: int = 2, factor: float = 1.0, channels: slice = slice(None)):
        super().__init__()
        self.power, self.factor, self.channels = power, factor, channels

    def forward(self, x, coords=None):
        return self.factor * x[:, self.channels] ** self.power


class Where(nn.Module):
    """The coordinates themselves, averaged over the axes; None is the uniform grid."""

    def __init__(self, task: Task):
        super().__init__()
        self.periodic = [axis.periodic for axis in task.axes]

    def forward(self, x, coords=None):
        sizes = x.shape[2:]
        if coords is None:
            coords = [
                torch.arange(n) / (n if p else n - 1)
                for n, p in zip(sizes, self.periodic, strict=True)
            ]
        mesh = torch.meshgrid(*coords, indexing="ij")
        return torch.stack(mesh).mean(0).to(x).expand(len(x), 1, *sizes)


class OneGridOnly(nn.Module):
    """Only on the grid of a task, like an operator whose resolution is fixed."""

    def __init__(self, model: nn.Module, task: Task):
        super().__init__()
        self.model, self.size = model, tuple(axis.size for axis in task.axes)

    def forward(self, x, coords=None):
        if tuple(x.shape[2:]) != self.size:
            raise ValueError(f"built for size={self.size}, not {tuple(x.shape[2:])}")
        return self.model(x)


class Recorder(nn.Module):
    """Notes what a model is given."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model, self.calls = model, []

    def forward(self, x, coords=None):
        self.calls.append((x, coords, self.training, torch.is_grad_enabled()))
        return self.model(x) if coords is None else self.model(x, coords)
