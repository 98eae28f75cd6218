"""Networks from features of residue pairs to distances, by name."""

import torch.nn.functional as F
from torch import Tensor, nn

from sciops.suggestions import did_you_mean
from sciops.task import Task

from .resnet import OPERATORS, ResNet
from .unet import UNet

MAP_NETWORKS = (*OPERATORS, "unet")


class DistanceUNet(nn.Module):
    """A U-Net between a normalisation of its inputs and log(1 + eʸ), so that y ≥ 0."""

    def __init__(self, task: Task, **options):
        super().__init__()
        self.norm, self.unet = nn.BatchNorm2d(task.in_channels), UNet(task, **options)

    def forward(self, x: Tensor) -> Tensor:
        return F.softplus(self.unet(self.norm(x)))


def distance_network(task: Task, op: str, **options) -> nn.Module:
    """The network that `op` names: PDNET's tower with that operator, or a U-Net."""
    if op not in MAP_NETWORKS:
        raise ValueError(
            f"there is no op={op!r}; there are {', '.join(MAP_NETWORKS)}"
            f"{did_you_mean(op, MAP_NETWORKS)}"
        )
    return DistanceUNet(task, **options) if op == "unet" else ResNet(task, op, **options)
