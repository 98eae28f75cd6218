"""Operations without an architecture, which searches are compared with: K-layers, dense layers."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from sciops.operators.convolution import Convolution
from sciops.operators.dense import Dense
from sciops.operators.klayer import KLayer
from sciops.operators.torch_layers import CONVOLUTIONS

from .patch import change_layers
from .space import AbstractSpace
from .tracing import copy_model, run


@dataclass(frozen=True)
class AbstractFixed(AbstractSpace):
    """One operation, whose weights are drawn anew; those of the model are not used."""

    learns: ClassVar[bool] = False

    def supernet(self, model: nn.Module, sample: Tensor, *, seed: int = 0) -> nn.Module:
        def make(name: str, layer: nn.Module, x: Tensor) -> nn.Module:
            y = run(copy_model(layer), (x,))
            shape = (x.shape[1], y.shape[1], tuple(x.shape[2:]), tuple(y.shape[2:]))
            new = self._layer(*shape, bias=layer.bias is not None)
            return new.to(x.device, x.dtype).train(layer.training)

        kinds = (*CONVOLUTIONS, Convolution)
        return change_layers(model, sample, make, op=self.name, layers=self.layers, kinds=kinds)

    def randomise(self, supernet: nn.Module, *, seed: int) -> nn.Module:
        raise ValueError(f"space {self.name!r} has one member only; there is nothing to draw")

    def _layer(self, *shape, bias: bool) -> nn.Module:
        raise TypeError(f"{type(self).__name__} must define _layer()")


@dataclass(frozen=True)
class KLayers(AbstractFixed):
    """A K-matrix for every pair of channels.

    depth: of the K-matrices
    """

    depth: int = 1

    name: ClassVar[str] = "klayer"

    def _layer(self, *shape, bias: bool) -> nn.Module:
        return KLayer(*shape, depth=self.depth, bias=bias)


@dataclass(frozen=True)
class Linear(AbstractFixed):
    """A dense matrix from all inputs to all outputs."""

    name: ClassVar[str] = "linear"

    def _layer(self, *shape, bias: bool) -> nn.Module:
        return Dense(*shape, bias=bias)
