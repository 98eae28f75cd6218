"""Small networks for masks, and images of sky, stars and streaks."""

import numpy as np
import torch
from torch import nn

from sciops.backbones.image_masks import ImageMask, mask_network
from sciops.task import Axis, Field, Task
from tests.contracts import randomise

SMALL = {
    "unet": dict(width=4),
    "resnet": dict(width=4, depth=6),
    "fno": dict(width=4, hidden=8),
    "dnarch": dict(width=4, blocks=2, hidden=8),
}
HYBRID = dict(channels=2, frequencies=2, taps=3)


def image_task(window=(16, 16), *, periodic=False) -> Task:
    axes = tuple(
        Axis(name, tuple(map(float, range(n))), periodic, float(n))
        for name, n in zip("yxz", window, strict=False)
    )
    return Task("cosmic", (Field("image"),), (Field("mask"),), axes)


def network(op="unet", window=(16, 16), *, seed=0, **options) -> ImageMask:
    torch.manual_seed(seed)
    kind = "fno" if op in ("fno", "xd") else op.split("-")[0]
    usual = SMALL[kind] | (HYBRID if op in ("unet-xd", "resnet-xd") else {})
    usual |= dict(frequencies=4) if kind == "fno" else {}
    return mask_network(image_task(window), op, **usual | options)


def stirred(model: nn.Module, seed=0) -> nn.Module:
    """With parameters and running statistics that matter, in eval mode."""
    randomise(model, seed=seed)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(generator=torch.Generator().manual_seed(seed))
            module.running_var.uniform_(0.5, 2, generator=torch.Generator().manual_seed(seed))
    return model.eval()


def sky(height=60, width=75, seed=0) -> tuple[np.ndarray, np.ndarray]:
    """An image of sky, a slope and stars, float32, with streaks; and the mask of these."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    image = 200 + 0.5 * x + 5 * rng.standard_normal((height, width))
    for _ in range(6):
        row, column = rng.uniform(0, (height, width))
        image += 2000 * np.exp(-((y - row) ** 2 + (x - column) ** 2) / 8)
    mask = np.zeros(image.shape, bool)
    for _ in range(8):
        row, column, length = (
            rng.integers(0, height),
            rng.integers(0, width - 6),
            rng.integers(2, 6),
        )
        mask[row, column : column + length] = True
    image[mask] += 1500
    return image.astype(np.float32), mask
