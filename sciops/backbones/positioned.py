"""Coordinates as further inputs of a network that knows nothing about the domain."""

import torch
from torch import Tensor

from sciops.task import Task

from .positions import positions, unit_points
from .staged import AbstractStaged


class Positioned(AbstractStaged):
    """network( x with the positions of its points ), for fields of a task."""

    def __init__(self, network: AbstractStaged, task: Task):
        super().__init__()
        self.network, self.task = network, task

    def forward_stages(
        self, x: Tensor, coords: tuple[Tensor, ...] | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """(batch, in_channels, *n) -> (batch, out_channels, *n), and the stages."""
        points = unit_points(self.task, tuple(x.shape[2:])) if coords is None else coords
        where = positions(self.task, points, x).expand(len(x), *[-1] * (x.ndim - 1))
        return self.network.forward_stages(torch.cat([x, where], 1))

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        return self.forward_stages(x, coords)[0]
