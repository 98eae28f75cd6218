"""The residual networks of He et al. 2015 (arXiv:1512.03385) for CIFAR-10, without parameters in
their shortcuts ("option A").

    h ← σ( norm conv₃ₓ₃ x )                                          16 channels
    h ← σ( norm conv σ norm conv h + shortcut h )                    three stages of n blocks: 16,
                                                                     32, 64 channels
    y = W mean(h) + c

The first block of the second and of the third stage has a stride of 2, and its shortcut takes every
second point and puts as many channels of zeros before as behind.  There are 6 n + 2 layers with
weights; 20 of them have 269 722 parameters on 3 channels and 10 classes.

Of a task without classes the network is dense: no strides, and y = W h + c at every point.
"""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from sciops.task import Task

from .lenet import image_size

WIDTHS = (16, 32, 64)


class Block(nn.Module):
    """σ( norm conv σ norm conv h + shortcut h )."""

    def __init__(
        self, channels: int, width: int, stride: int, activation: Callable[[], nn.Module] = nn.ReLU
    ):
        super().__init__()
        self.inner, self.outer = activation(), activation()
        self.stride, self.more = stride, width - channels
        self.first, self.first_norm = _conv(channels, width, stride), nn.BatchNorm2d(width)
        self.second, self.second_norm = _conv(width, width), nn.BatchNorm2d(width)

    def forward(self, h: Tensor) -> Tensor:
        inner = self.inner(self.first_norm(self.first(h)))
        return self.outer(self.second_norm(self.second(inner)) + self._shortcut(h))

    def _shortcut(self, h: Tensor) -> Tensor:
        before = self.more // 2
        h = h[..., :: self.stride, :: self.stride]
        return F.pad(h, (0, 0, 0, 0, before, self.more - before)) if self.more else h


class CifarResNet(nn.Module):
    """(batch, channels, y, x) -> logits (batch, classes), or a field (batch, channels, y, x).

    depth:      6 n + 2 layers: 20, 32, 44, 56, 110
    activation: makes σ, for each of its places
    """

    def __init__(
        self, task: Task, *, depth: int = 20, activation: Callable[[], nn.Module] = nn.ReLU
    ):
        super().__init__()
        if not isinstance(depth, int) or depth < 8 or (depth - 2) % 6:
            raise ValueError(f"depth={depth!r} must be 6 n + 2: 8, 14, 20, 26, 32, …")
        if len(task.axes) != 2:
            raise ValueError(f"images have two axes, but {task.name!r} has {len(task.axes)}")
        self.dense = not task.classes
        if not self.dense:
            image_size(task)
        self.activation = activation()
        self.lift, self.norm = _conv(task.in_channels, WIDTHS[0]), nn.BatchNorm2d(WIDTHS[0])
        blocks, channels = [], WIDTHS[0]
        for width in WIDTHS:
            for _ in range((depth - 2) // 6):
                stride = 2 if width > channels and not self.dense else 1
                blocks.append(Block(channels, width, stride, activation))
                channels = width
        self.blocks = nn.Sequential(*blocks)
        project = nn.Conv2d(channels, task.out_channels, 1) if self.dense else None
        self.project = project or nn.Linear(channels, task.out_channels)
        nn.init.kaiming_normal_(self.project.weight)

    def forward(self, x: Tensor) -> Tensor:
        h = self.blocks(self.activation(self.norm(self.lift(x))))
        return self.project(h if self.dense else h.mean((-2, -1)))


def _conv(channels: int, width: int, stride: int = 1) -> nn.Conv2d:
    conv = nn.Conv2d(channels, width, 3, stride=stride, padding=1, bias=False)
    nn.init.kaiming_normal_(conv.weight)
    return conv
