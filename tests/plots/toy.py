"""Small labelled data, a model that is easy to follow, and the errors of a transfer."""

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn


class Copy(nn.Module):
    """The last input channel, times 0.9 and plus 0.1, for every target channel."""

    def __init__(self, channels: int = 1):
        super().__init__()
        self.channels = channels

    def forward(self, x: Tensor, coords=None) -> Tensor:
        return 0.9 * x[:, -1:].expand(-1, self.channels, *x.shape[2:]) + 0.1


def data(
    sizes: dict[str, int], *, frames: tuple[int, int] | None = None, n: int = 3, periodic=True
) -> xr.Dataset:
    """Random fields a and u; or frames=(given, predicted) of a forecast of w."""
    rng = np.random.default_rng(0)
    shape = (n, *((sum(frames),) if frames else ()), *sizes.values())
    dims = ("sample", *(("time",) if frames else ()), *sizes)
    names = ["w"] if frames else ["a", "u"]
    values = {name: (dims, rng.normal(size=shape).astype(np.float32)) for name in names}
    points = {name: np.linspace(0, 1, size, endpoint=not periodic) for name, size in sizes.items()}
    if frames:
        points["time"] = ("time", 0.5 * np.arange(sum(frames)), {"units": "s"})
        sides = [("w", [0, frames[0]]), ("w", [frames[0], sum(frames)])]
    else:
        sides = [("a", None), ("u", None)]
    declared = [[{"variable": v, "frames": f}] for v, f in sides]
    attrs = {
        "name": "toy",
        "boundary_conditions": dict.fromkeys(sizes, "periodic" if periodic else "free"),
        "inputs": declared[0],
        "targets": declared[1],
    }
    return xr.Dataset(values, {"sample": np.arange(n), **points}, attrs)


def transfer(resolutions=(8, 16, 32), samples: int = 5) -> xr.Dataset:
    """What `sciops.transfer` returns."""
    rng = np.random.default_rng(0)
    grid, modes = len(resolutions), max(resolutions) // 2 + 1
    names = ("relative_l2", "control_upsample", "control_downsample", "energy_above_nyquist")
    table = {n: (("resolution", "sample"), rng.random((grid, samples)) + 0.1) for n in names}
    spectrum = rng.random((grid, modes)) + 0.1
    spectrum[np.arange(modes) > np.array(resolutions)[:, None] // 2] = np.nan
    for name in ("error_spectrum", "target_spectrum"):
        table[name] = (("resolution", "wavenumber"), spectrum)
    table["growth"] = table["seconds"] = ("resolution", rng.random(grid))
    coords = {
        "resolution": list(resolutions),
        "sample": np.arange(samples),
        "wavenumber": np.arange(modes),
    }
    attrs = {"training_resolution": 16, "training_nyquist": 8.0, "refused": ""}
    return xr.Dataset(table, coords, attrs)


def moved(model: nn.Module, by: float = 0.1) -> nn.Module:
    """The model with every parameter changed at random."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(by * torch.randn(p.shape, generator=generator))
    return model
