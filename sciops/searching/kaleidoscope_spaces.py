"""The spaces of K-matrices: XD operations, and K-operations, which are XD without b and C.

    XD(w)(x) = Re( K diag(L w + b) M x )                grid frame, one (K, L, M, b, C) a layer

K-operations (Roberts et al. 2020, "Searching for Convolutions and a More Ambitious NAS") start as
convolutions, or *from scratch*: K and M random unitary matrices, L one times √n, as the Fourier
transform of a convolution is, so that outputs are not much smaller than those of a convolution.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar

import torch
from torch import Tensor, nn

from sciops.operators import XD
from sciops.operators.convolution import Convolution
from sciops.operators.kaleidoscope import haar_blocks
from sciops.operators.torch_layers import AVERAGE_POOLS, CONVOLUTIONS

from .patch import change_layers, to_xd
from .space import AbstractSpace

STARTS = ("conv", "scratch")
SCRATCH_DEPTH = 9  # as published; a convolution needs no more than 1


@dataclass(frozen=True)
class XDSpace(AbstractSpace):
    """XD operations that start as the layers they replace.

    depth: of the K-matrices, a number or a triple (K, L, M)
    kernel_size: smaller kernels grow to this; L is blind to the new taps at the start
    pooling: replace average pools, too
    arch_bias, gates: learn b and C
    """

    depth: int | tuple[int, int, int] = 1
    kernel_size: int | None = None
    pooling: bool = False
    arch_bias: bool = False
    gates: bool = False

    name: ClassVar[str] = "xd"

    def supernet(self, model: nn.Module, sample: Tensor, *, seed: int = 0) -> nn.Module:
        depth = tuple(self.depth) if isinstance(self.depth, list | tuple) else self.depth
        options = dict(depth=depth, arch_bias=self.arch_bias, gates=self.gates)

        def make(name: str, layer: nn.Module, x: Tensor) -> nn.Module:
            own = {"depth": depth} if isinstance(layer, AVERAGE_POOLS) else options
            return to_xd(_torch(layer), x, frame="grid", kernel_size=self.kernel_size, **own)

        kinds = (*CONVOLUTIONS, Convolution, *(AVERAGE_POOLS if self.pooling else ()))
        return change_layers(model, sample, make, op="xd", layers=self.layers, kinds=kinds)

    def randomise(self, supernet: nn.Module, *, seed: int) -> nn.Module:
        generator = torch.Generator().manual_seed(seed)
        for layer in _each_once(supernet):
            draw_maps(layer, generator)
            for part, scale in ((layer.arch_bias, layer.in_channels**-0.5), (layer.gates, 1.0)):
                if part is not None:  # complex, of variance scale²
                    noise = torch.randn(part.shape, generator=generator, dtype=torch.float64)
                    with torch.no_grad():
                        part.copy_(noise * scale * math.sqrt(0.5))
        return supernet

    def describe(self, layer: XD) -> str:
        return _in_words(layer)


@dataclass(frozen=True)
class KOperations(AbstractSpace):
    """K-operations.

    start: "conv", "scratch", or the start of each layer by name or pattern, such as
           {"conv1": "conv", "*": "scratch"}; the first that fits counts
    depth: of the K-matrices; None is 1 for convolutions and 9 from scratch, as published
    tied:  layers that share one operation: all (True), or those of these names; they must have
           grids of the same size
    unitary_taps: from scratch, L unitary without √n, as published: outputs are then smaller than
           those of a convolution by a factor of about √n an axis
    """

    start: str | Mapping[str, str] = "conv"
    depth: int | None = None
    tied: bool | tuple[str, ...] = False
    unitary_taps: bool = False

    name: ClassVar[str] = "kop"

    def __post_init__(self):
        given = {"*": self.start} if isinstance(self.start, str) else dict(self.start)
        unknown = sorted(set(given.values()) - set(STARTS))
        if unknown:
            raise ValueError(f"start={unknown[0]!r} is not known; choose 'conv' or 'scratch'")

    def start_of(self, layer: str) -> str:
        """
        >>> KOperations(start={"conv1": "conv", "*": "scratch"}).start_of("conv2")
        'scratch'
        """
        if isinstance(self.start, str):
            return self.start
        fitting = [start for pattern, start in self.start.items() if fnmatchcase(layer, pattern)]
        if not fitting:
            raise ValueError(f"start= has nothing for the layer {layer!r}; add '*': 'conv'")
        return fitting[0]

    def supernet(self, model: nn.Module, sample: Tensor, *, seed: int = 0) -> nn.Module:
        generator = torch.Generator().manual_seed(seed)

        def make(name: str, layer: nn.Module, x: Tensor) -> nn.Module:
            scratch = self.start_of(name) == "scratch"
            depth = self.depth or (SCRATCH_DEPTH if scratch else 1)
            new = to_xd(_torch(layer), x, frame="grid", kernel_size=None, depth=depth)
            return draw_maps(new, generator, unitary_taps=self.unitary_taps) if scratch else new

        kinds = (*CONVOLUTIONS, Convolution)
        changed = change_layers(model, sample, make, op="kop", layers=self.layers, kinds=kinds)
        return self._tie(changed)

    def _tie(self, model: nn.Module) -> nn.Module:
        named = [(n, m) for n, m in model.named_modules() if isinstance(m, XD)]
        patterns = () if self.tied is False else ("*",) if self.tied is True else self.tied
        tied = [(n, m) for n, m in named if any(fnmatchcase(n, p) for p in patterns)]
        for name, layer in tied[1:]:
            first, one = tied[0]
            if _kind(layer) != _kind(one):
                raise ValueError(
                    f"layers {first!r} and {name!r} cannot share an operation: their K-matrices "
                    f"have the orders {_kind(one)} and {_kind(layer)}; choose layers with tied=…"
                )
            layer.frame.k, layer.frame.l, layer.frame.m = one.frame.k, one.frame.l, one.frame.m
        return model

    def randomise(self, supernet: nn.Module, *, seed: int) -> nn.Module:
        generator = torch.Generator().manual_seed(seed)
        for layer in _each_once(supernet):
            draw_maps(layer, generator, unitary_taps=self.unitary_taps)
        return supernet

    def describe(self, layer: XD) -> str:
        return _in_words(layer)


def draw_maps(layer: XD, generator: torch.Generator, *, unitary_taps: bool = False) -> XD:
    """Begin anew with K and M random unitary matrices, and L one, times √n an axis."""
    for part in ("k", "l", "m"):
        for k in getattr(layer.frame, part):
            how = dict(dtype=torch.complex128, generator=generator)
            blocks = haar_blocks(k.n, k.depth, **how)
            if part == "l" and not unitary_taps and k.n > 1:
                blocks[0, 0] *= math.sqrt(k.n)
            k.restart(blocks)
    return layer


def _torch(layer: nn.Module) -> nn.Module:
    return layer.as_torch() if isinstance(layer, Convolution) else layer


def _each_once(model: nn.Module) -> list[XD]:
    """All XD layers, one of those that share an operation."""
    layers = {id(m.frame.k): m for m in model.modules() if isinstance(m, XD)}
    return list(layers.values())


def _kind(layer: XD) -> tuple[tuple[int, int], ...]:
    """Order and depth of every K-matrix."""
    frame = layer.frame
    return tuple((k.n, k.depth) for part in (frame.k, frame.l, frame.m) for k in part)


def _in_words(layer: XD) -> str:
    """Such as "depth 3 on 32 × 32 points"."""
    depths = sorted({k.depth for part in (layer.frame.k, layer.frame.m) for k in part})
    points = " × ".join(str(k.n) for k in layer.frame.k)
    return f"depth {'–'.join(map(str, depths))} on {points} points"
