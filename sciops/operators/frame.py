"""What the grid and the band frame share: analyse, multiply by D = L w + b, synthesise.

A frame owns the K-matrices K, L, M of a layer, one per axis, and turns them into plain complex maps;
`prepare` makes of them and the weights the real matrices that `apply` needs.  D holds a number for
every mode and channel pair; where that is large it is made and used a slab of modes at a time, and
made again for the gradient, so that memory stays bounded.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .kaleidoscope import Kaleidoscope
from .modes import Map, from_modes, into_blocks, mix, out_blocks, to_modes

SLAB_NUMBERS = 2**26  # at most this many numbers (256 MB in float32) of D exist at once


class Multiplier(NamedTuple):
    """D = (L w + b) ⊙ C, made on request for a range of the first axis' modes."""

    weight: Tensor  # (*taps, g, i, o), or (*modes, 2, g, i, o) for weights on the modes
    blocks: list[Map] | None  # L; None = the weights are D already
    arch_bias: Tensor | None  # (*modes, 2)
    gates: Tensor | None  # (2, g, i, o)
    modes: tuple[int, ...]

    def numbers(self) -> int:
        return 2 * torch.Size(self.modes).numel() * self.weight.shape[-3:].numel()

    def rows(self, first: int, last: int) -> Tensor:
        """D of modes f₀ = first … last − 1: (f₀, …, 2, g, i, o)."""
        real = self.weight.ndim == len(self.modes) + 3
        if self.blocks is None:
            d = self.weight[first:last]
        else:
            blocks = [self.blocks[0][2 * first : 2 * last], *self.blocks[1:]]
            weight = self.weight if real else self.weight.movedim(len(self.modes), 0)
            d = to_modes(weight, blocks, real_input=real)
        if self.arch_bias is not None:
            d = d + self.arch_bias[first:last, ..., None, None, None]
        return d if self.gates is None else complex_product(d, self.gates)


class Prepared(NamedTuple):
    """Everything a forward pass needs besides its input."""

    into: list[Map]
    multiplier: Multiplier | Tensor
    out: list[Map]


def complex_product(d: Tensor, c: Tensor) -> Tensor:
    """(…, 2, g, i, o) times (2, g, i, o), planes being real and imaginary parts."""
    re, im = d.unbind(-4)
    return torch.stack([re * c[0] - im * c[1], re * c[1] + im * c[0]], -4)


class AbstractFrame(nn.Module):
    """Analysis, synthesis and K-matrices of a layer; concrete frames are `Grid` and `Band`."""

    modes: tuple[int, ...]  # numbers of modes, one per axis
    k: nn.ModuleList
    l: nn.ModuleList  # noqa: E741 - the paper's name
    m: nn.ModuleList

    def maps(self, like: Tensor) -> tuple[Sequence[Map], Sequence[Tensor] | None, Sequence[Map]]:
        """The complex maps M (f, r), L (f, taps) and K (r, f), one per axis each, for weights `like`."""
        raise TypeError(f"{type(self).__name__} must define maps()")

    def analyse(self, x: Tensor, coords) -> Tensor:
        """(b, c, *n) -> (*r, b, c)."""
        raise TypeError(f"{type(self).__name__} must define analyse()")

    def synthesise(self, c: Tensor, size: tuple[int, ...], coords) -> Tensor:
        """(*r, b, o) -> (b, o, *n_out)."""
        raise TypeError(f"{type(self).__name__} must define synthesise()")

    @property
    def arch_bias_shape(self) -> tuple[int, ...]:
        return (*self.modes, 2)

    def gates_at_one(self, out_channels: int, in_channels: int) -> Tensor:
        return torch.tensor([1.0, 0.0]).expand(out_channels, in_channels, 2).clone()

    def prepare(self, weight: Tensor, arch_bias: Tensor | None, gates: Tensor | None, groups: int):
        """Fold maps, weights, bias and gates into the matrices of one forward pass."""
        m, l_maps, k = self.maps(weight)
        on_modes = weight.ndim == len(self.modes) + 4
        if not on_modes:  # (o, i, *taps) -> (*taps, g, i, o)
            weight = weight.unflatten(0, (groups, -1)).movedim((0, 2, 1), (-3, -2, -1)).contiguous()
        if gates is not None:  # (o, i, 2) -> (2, g, i, o)
            gates = gates.unflatten(0, (groups, -1)).permute(3, 0, 2, 1)
        blocks = None if l_maps is None else into_blocks(l_maps, real_input=not on_modes)
        multiplier = Multiplier(weight, blocks, arch_bias, gates, self.modes)
        if multiplier.numbers() <= SLAB_NUMBERS:
            multiplier = multiplier.rows(0, self.modes[0])
        return Prepared(into_blocks(m), multiplier, out_blocks(k))

    def apply(self, x: Tensor, prepared: Prepared, coords) -> Tensor:
        """(b, i, *n) -> (b, o, *n_out)."""
        z = to_modes(self.analyse(x, coords), prepared.into)
        if isinstance(prepared.multiplier, Tensor):
            z = mix(z, prepared.multiplier)
        else:
            z = torch.cat(list(_mix_in_slabs(z, prepared.multiplier)))
        return self.synthesise(from_modes(z, prepared.out), tuple(x.shape[2:]), coords)

    def check_size(self, size: tuple[int, ...]) -> None:
        """Raise if the frame cannot work on a grid of this size."""

    def extra_repr(self) -> str:
        return f"modes={self.modes}"


def _mix_in_slabs(z: Tensor, multiplier: Multiplier) -> Iterator[Tensor]:
    n = multiplier.modes[0]
    slab = max(1, SLAB_NUMBERS * n // multiplier.numbers() // 4)
    for first in range(0, n, slab):
        last = min(first + slab, n)

        def part(rows: Tensor, first: int = first, last: int = last) -> Tensor:
            return mix(rows, multiplier.rows(first, last))

        yield checkpoint(part, z[first:last], use_reentrant=False)


def kaleidoscopes(blocks: Sequence[Tensor], *, decreasing: bool) -> nn.ModuleList:
    """One learnable K-matrix per axis."""
    return nn.ModuleList(Kaleidoscope(b, decreasing=decreasing) for b in blocks)
