"""A small labelled data set whose every number says where it belongs."""

import numpy as np
import xarray as xr


def toy(n: int = 6, size: int = 5, *, frames: int = 0, first: int = 0) -> xr.Dataset:
    """Inputs a (and, with frames, w over time), targets u; values are 1000·sample + position."""
    rng = np.random.default_rng([n, size, first])
    x = np.arange(size) / size
    shape = ("sample", "x")
    number = 1000.0 * (first + np.arange(n))[:, None]
    a = number + np.arange(size) + 0.1 * rng.random((n, size))
    data = {
        "a": (shape, a.astype("float32"), {"units": "1", "long_name": "input"}),
        "u": (shape, (2 * a).astype("float32"), {"units": "1", "long_name": "output"}),
    }
    coords = {"sample": first + np.arange(n), "x": x}
    attrs = {
        "name": "toy",
        "equation": "u = 2 a",
        "boundary_conditions": {"x": "periodic"},
        "parameters": {},
        "inputs": [{"variable": "a", "frames": None}],
        "targets": [{"variable": "u", "frames": None}],
    }
    if frames:
        w = a[:, None] + 100.0 * np.arange(frames)[:, None]
        data["w"] = (("sample", "time", "x"), w.astype("float32"), {"units": "1"})
        coords["time"] = np.arange(1.0, frames + 1)
        attrs["inputs"] = [{"variable": "w", "frames": [0, 2]}, {"variable": "a", "frames": None}]
        attrs["targets"] = [{"variable": "w", "frames": [2, frames]}]
    return xr.Dataset(data, coords, attrs)
