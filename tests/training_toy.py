"""A small problem to train on."""

import numpy as np
import torch
import xarray as xr

from sciops.backbones import make_backbone
from sciops.config import Optimisation, Training
from sciops.data.samples import MemorySamples
from sciops.training import fit


def samples(n: int = 12, size: int = 16, seed: int = 0) -> MemorySamples:
    """u is the shifted square of a smooth random a."""
    rng = np.random.default_rng(seed)
    x = np.arange(size) / size
    phase, height = rng.random((n, 1)), 1 + rng.random((n, 1))
    a = height * np.sin(2 * np.pi * (x + phase))
    fields = {"a": a, "u": np.roll(a**2, 3, 1)}
    attrs = {
        "name": "toy",
        "boundary_conditions": {"x": "periodic"},
        "inputs": [{"variable": "a", "frames": None}],
        "targets": [{"variable": "u", "frames": None}],
    }
    data = {name: (("sample", "x"), values) for name, values in fields.items()}
    return MemorySamples(xr.Dataset(data, {"sample": np.arange(n), "x": x}, attrs))


def model_for(data: MemorySamples, op: str = "xd", **options) -> torch.nn.Module:
    torch.manual_seed(0)
    small = dict(width=6, hidden=8, blocks=2, **options)
    size = dict(frequencies=4, taps=5) if op == "xd" else {}
    return make_backbone(data.task, op, **small, **size).fit(data.x, data.y)


def quick(epochs: int = 4, **changes) -> Training:
    rates = Optimisation(1e-2, clip=1.0), Optimisation(1e-2, "sgd", momentum=0.5)
    return Training(epochs, 5, *rates, **changes)


def trained(loss: str, **processes) -> torch.nn.Module:
    """By SGD on 11 samples in batches of 5, 5 and 1, which two processes cannot share."""
    data = samples(11)
    model = model_for(data)
    sgd = Optimisation(1e-2, "sgd", schedule="constant")
    fit(model, data, samples(5, seed=1), Training(3, 5, sgd, sgd, loss=loss), **processes)
    return model
