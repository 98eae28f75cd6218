"""LeNet and its relatives, for images of any size and any number of channels.

    LeNet            conv 5 × 5 (6) – σ – pool 2 – conv 5 × 5 (16) – σ – pool 2 – 120 – 84 – classes
      as in Roberts et al. 2021 (arXiv:2103.15798): no padding, max pooling; 62 006 parameters on
      3 × 32 × 32.  Their text has pools of 3 × 3, their code of 2 × 2; where XD operations take the
      place of pooling they start as average pooling: pool="average".
      as in "Searching for Convolutions" (ICLR 2021 submission): `PaddedLeNet`, padding that keeps
      the size, average pooling
    WideLeNet        conv 3 × 3 (32) – norm – σ – pool – conv (64) – norm – σ – conv (128) – σ –
                     pool – 128 – norm – σ – classes          of the same submission.  It names no
                     pooling, but its second and third layer share K-matrices, so they must see
                     grids of one size: we pool before and behind them.
    LinearNetwork    the same submission's control: linear layers as wide as the maps of LeNet,
                     6 n/2 m/2 – 16 n/4 m/4 – 120 – 84 – classes; of sequences one layer of 300
    SphericalCnn     two 5 × 5 convolutions with a stride of 3 (20, 40), one linear layer: for
                     spherical MNIST, 60 × 60, of the same submission

σ is ReLU.  All map (batch, channels, y, x) to logits (batch, classes).
"""

import math
from functools import partial

from torch import Tensor, nn

from sciops.suggestions import did_you_mean
from sciops.task import Task

POOLS = {"max": nn.MaxPool2d, "average": nn.AvgPool2d}


class LeNet(nn.Module):
    """Two convolutions and three linear layers.

    padded: whether the convolutions keep the size of the image
    pool:   "max" or "average"
    """

    def __init__(self, task: Task, *, padded: bool = False, pool: str = "max"):
        super().__init__()
        if pool not in POOLS:
            raise ValueError(
                f"pool={pool!r} is not known; choose one of {', '.join(POOLS)}"
                f"{did_you_mean(pool, POOLS)}"
            )
        size = image_size(task, least=4 if padded else 16)
        padding, lost = (2, 0) if padded else (0, 4)
        for _ in range(2):
            size = tuple((n - lost) // 2 for n in size)
        self.features = nn.Sequential(
            nn.Conv2d(task.in_channels, 6, 5, padding=padding),
            nn.ReLU(),
            POOLS[pool](2),
            nn.Conv2d(6, 16, 5, padding=padding),
            nn.ReLU(),
            POOLS[pool](2),
        )
        self.head = _head(16 * math.prod(size), (120, 84), task)

    def forward(self, x: Tensor) -> Tensor:  # (batch, channels, y, x) -> (batch, classes)
        return self.head(self.features(x).flatten(1))


PaddedLeNet = partial(LeNet, padded=True, pool="average")


class WideLeNet(nn.Module):
    """Three convolutions, normalised, and two linear layers."""

    def __init__(self, task: Task):
        super().__init__()
        size = image_size(task, least=4)
        conv = partial(nn.Conv2d, kernel_size=3, padding=1)
        self.features = nn.Sequential(
            *(conv(task.in_channels, 32), nn.BatchNorm2d(32), nn.ReLU(), nn.AvgPool2d(2)),
            *(conv(32, 64), nn.BatchNorm2d(64), nn.ReLU()),
            *(conv(64, 128), nn.ReLU(), nn.AvgPool2d(2)),
        )
        width = 128 * math.prod(n // 2 // 2 for n in size)
        self.head = nn.Sequential(
            *(nn.Linear(width, 128), nn.BatchNorm1d(128), nn.ReLU()),
            nn.Linear(128, task.out_channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).flatten(1))


class SphericalCnn(nn.Module):
    """Two convolutions with a stride and one linear layer."""

    def __init__(self, task: Task):
        super().__init__()
        size = image_size(task, least=17)
        self.features = nn.Sequential(
            nn.Conv2d(task.in_channels, 20, 5, stride=3),
            nn.ReLU(),
            nn.Conv2d(20, 40, 5, stride=3),
            nn.ReLU(),
        )
        for _ in range(2):
            size = tuple((n - 5) // 3 + 1 for n in size)
        self.head = nn.Linear(40 * math.prod(size), task.out_channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).flatten(1))


class LinearNetwork(nn.Module):
    """Linear layers and nothing else; images or sequences."""

    def __init__(self, task: Task):
        super().__init__()
        expect_classes(task)
        size = [axis.size for axis in task.axes]
        widths = (300,)
        if len(size) == 2:
            widths = (*(c * math.prod(n // d for n in size) for c, d in ((6, 2), (16, 4))), 120, 84)
        if min(widths) < 1:
            raise ValueError(f"images of {size} are too small; give 4 × 4 pixels or more")
        self.head = _head(task.in_channels * math.prod(size), widths, task)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x.flatten(1))


def _head(width: int, widths: tuple[int, ...], task: Task) -> nn.Sequential:
    """Linear layers of these widths, each with ReLU, and one to the classes."""
    layers: list[nn.Module] = []
    for before, after in zip((width, *widths), widths, strict=False):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], task.out_channels))


def expect_classes(task: Task) -> None:
    if not task.classes:
        raise ValueError(
            f"this network names the class of a sample, but {task.name!r} has no classes; it "
            f"predicts {', '.join(f.variable for f in task.targets)}"
        )


def image_size(task: Task, *, least: int = 1) -> tuple[int, ...]:
    """(y, x) of a task about images of classes, if they are large enough for a network."""
    expect_classes(task)
    size = tuple(axis.size for axis in task.axes)
    if len(size) != 2:
        raise ValueError(f"images have two axes, but {task.name!r} has {len(size)}")
    if min(size) < least:
        raise ValueError(
            f"images of {size[0]} × {size[1]} are too small for this network, which needs {least} "
            "pixels or more on each side; use 'padded-lenet' or 'resnet20'"
        )
    return size
