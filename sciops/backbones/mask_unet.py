"""The U-Net of deepCR for masks of images (Zhang & Bloom 2020, arXiv:1907.09500), with XD in it.

    level(h) = σ norm conv( σ norm conv h )        3 × 3, zeros beyond the image, σ = ReLU
    down:      2 × 2 maxima, then a level of twice the channels
    up:        a transposed 2 × 2 convolution of stride 2, beside what was there on the way down,
               then a level
    y = conv₁ₓ₁ h                                  logits

Published are two levels of 32 and 64 channels and, as norm, weight normalisation or batch
normalisation behind each convolution.  In "xd-grid" and "xd-hybrid" the 3 × 3 convolutions become
XD operations that start as the same function, each on the grid of its level.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from sciops.operators.operator import whole_numbers
from sciops.suggestions import did_you_mean
from sciops.task import Task

from .relaxed_convs import relaxed
from .unet import down_and_up

OPERATORS = ("conv", "xd-grid", "xd-hybrid")
NORMS = ("batch", "weight")


class Up(nn.Module):
    """The level behind a doubled h and its neighbour of the way down."""

    def __init__(self, channels: int, norm: str):
        super().__init__()
        self.enlarge = nn.ConvTranspose2d(2 * channels, channels, 2, stride=2)
        self.level = _level(2 * channels, channels, norm)

    def forward(self, skip: Tensor, h: Tensor) -> Tensor:
        return self.level(torch.cat([skip, self.enlarge(h)], 1))


class MaskUNet(nn.Module):
    """From the input channels of a task to logits of its target channels, on images of any size.

    op:      "conv", "xd-grid" (of the task's window only) or "xd-hybrid"
    width:   channels of the first level, doubled at each
    norm:    "batch" or "weight"
    options: of the XD operations: `k_depth`, the depth of their K-matrices; those of `Hybrid`
    """

    def __init__(
        self,
        task: Task,
        op: str = "conv",
        *,
        width: int = 32,
        levels: int = 2,
        norm: str = "batch",
        **options,
    ):
        super().__init__()
        window = _checked_window(task, op, norm)
        (width, levels) = whole_numbers((width, levels), 2, "(width, levels)")
        self.step = 2 ** (levels - 1)
        widths = [width * 2**level for level in range(levels)]
        pairs = zip([task.in_channels, *widths[:-1]], widths, strict=True)
        self.down = nn.ModuleList(_level(a, b, norm) for a, b in pairs)
        self.up = nn.ModuleList(Up(channels, norm) for channels in reversed(widths[:-1]))
        self.project = nn.Conv2d(width, task.out_channels, 1)
        if op == "xd-grid" and any(n % self.step for n in window):
            raise ValueError(
                f"XD on the grids of a U-Net of {levels} levels needs a window that {self.step} "
                f"divides, got {window}"
            )
        for layers, halvings in self._levels():  # when all weights are drawn: the same in every op
            size = tuple(-(-n // 2**halvings) for n in window)
            for name, layer in layers.named_children():
                if isinstance(layer, nn.Conv2d):
                    setattr(layers, name, relaxed(op, layer, size, options, MaskUNet))
        self.reach = _reach(levels) if op == "conv" else None

    def _levels(self) -> Iterator[tuple[nn.Sequential, int]]:
        """Each level and how often its grid was halved."""
        yield from ((level, halvings) for halvings, level in enumerate(self.down))
        above = range(len(self.down) - 2, -1, -1)
        yield from ((up.level, halvings) for up, halvings in zip(self.up, above, strict=True))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, in_channels, h, w) -> (batch, out_channels, h, w).

        Zeros below and to the right make both sides multiples of `step`.
        """
        height, width = x.shape[2:]
        x = F.pad(x, (0, -width % self.step, 0, -height % self.step))
        h = down_and_up(x, self.down, lambda h: F.max_pool2d(h, 2), self.up)
        return self.project(h)[..., :height, :width]


def _level(in_channels: int, out_channels: int, norm: str) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (in_channels, out_channels):
        conv = nn.Conv2d(channels, out_channels, 3, padding=1)
        if norm == "weight":
            layers += [weight_norm(conv), nn.ReLU(inplace=True)]
        else:
            layers += [conv, nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


def _reach(levels: int) -> int:
    """How many pixels away an output may see the input.

    Two convolutions reach 2 pixels, before and behind what the level below reaches: twice as many
    of its pixels, and one more, as two pixels that are one there may be neighbours.

    >>> _reach(1), _reach(2), _reach(3)
    (2, 9, 23)
    """
    return 2 if levels == 1 else 2 * _reach(levels - 1) + 1 + 4


def _checked_window(task: Task, op: str, norm: str) -> tuple[int, ...]:
    if len(task.axes) != 2:
        raise ValueError(f"an image has two axes, but {task.name!r} has {len(task.axes)}")
    for name, value, known in (("op", op, OPERATORS), ("norm", norm, NORMS)):
        if value not in known:
            raise ValueError(
                f"there is no {name}={value!r}; there are {', '.join(known)}"
                f"{did_you_mean(value, known)}"
            )
    return tuple(axis.size for axis in task.axes)
