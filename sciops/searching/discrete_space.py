"""The space of the eight DARTS operations, relaxed by a softmax."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from sciops.operators.convolution import Convolution
from sciops.operators.discrete import OPERATIONS, UNIFORM, Discrete
from sciops.operators.discrete_convert import MAX_POOLS, discrete_from_layer
from sciops.operators.torch_layers import AVERAGE_POOLS, CONVOLUTIONS

from .patch import change_layers
from .space import AbstractSpace


@dataclass(frozen=True)
class DiscreteSpace(AbstractSpace):
    """Mixtures of conv3, conv5, dilated3, dilated5, max3, mean3, skip and zero.

    perturb: share of all operations but the layer's own at the start; 0.875 is uniform
    pooling: replace pools, too
    """

    perturb: float = UNIFORM
    pooling: bool = False

    name: ClassVar[str] = "discrete"

    def supernet(self, model: nn.Module, sample: Tensor, *, seed: int = 0) -> nn.Module:
        pools = (*AVERAGE_POOLS, *MAX_POOLS) if self.pooling else ()
        return change_layers(
            model,
            sample,
            lambda name, layer, x: discrete_from_layer(layer, x, perturb=self.perturb),
            op="discrete",
            layers=self.layers,
            kinds=(*CONVOLUTIONS, Convolution, *pools),
            one_grid=False,
        )

    def randomise(self, supernet: nn.Module, *, seed: int) -> nn.Module:
        """One of the eight for each layer."""
        generator = torch.Generator().manual_seed(seed)
        for layer in supernet.modules():
            if isinstance(layer, Discrete):
                chosen = torch.randint(len(OPERATIONS), (), generator=generator)
                layer.choose(OPERATIONS[int(chosen)])
        return supernet

    def place(self, layer: Discrete) -> Tensor:
        """The shares: logits say the same after a constant is added."""
        return layer.shares().detach()

    def describe(self, layer: Discrete) -> str:
        """The largest shares."""
        order = layer.shares().argsort(descending=True)[:3].tolist()
        return ", ".join(f"{OPERATIONS[k]} {layer.shares()[k]:.2f}" for k in order)
