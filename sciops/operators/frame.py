"""What the grid and the band frame share: analyse, multiply by D = L w + b, synthesise.

A frame owns the K-matrices K, L, M of a layer, one per axis, and turns them into plain complex
maps; `prepare` makes of them and the weights the real matrices that `apply` needs.  D holds a
number for every mode and channel pair; where that is large it is made and used a slab of modes at a
time, and made again for the gradient, so that memory stays bounded.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .core import core
from .kaleidoscope import Kaleidoscope
from .modes import Block, leftward, mix, rightward, rows_of

LARGE = 2**26  # a D of more numbers than this (256 MB in float32) is neither made whole nor kept


class Multiplier(NamedTuple):
    """D = L w in the making: L is applied to all axes of w but the first."""

    partial: Tensor  # (columns, rest, g, i, o), or D itself where `first` is None
    first: Tensor | None  # the first axis of L as a real block, (2, modes, columns)

    def numbers(self) -> int:
        """How many D has."""
        n = self.partial.numel()
        return n if self.first is None else n // self.first.shape[2] * self.first.shape[:2].numel()

    def dense(self) -> Tensor:
        """D, (2, modes, g, i, o)."""
        if self.first is None:
            return self.partial
        d = self.first.flatten(0, 1) @ self.partial.flatten(1)
        return d.view(2, -1, *self.partial.shape[-3:])

    def mix(self, z: Tensor) -> Tensor:
        """Multiply modes (f₀, …, 2, b, c) by D, in slabs of f₀ where D is large."""
        if self.first is None or self.numbers() <= LARGE:
            return mix(z, self.dense())
        parts = min(-(-self.numbers() // LARGE), len(z))
        slabs = zip(z.tensor_split(parts), self.first.tensor_split(parts, 1), strict=True)
        keep_nothing = {"use_reentrant": False, "preserve_rng_state": False}
        return torch.cat(
            [checkpoint(_mix_slab, *slab, self.partial, **keep_nothing) for slab in slabs]
        )


def _mix_slab(z: Tensor, first: Tensor, partial: Tensor) -> Tensor:
    return mix(z, Multiplier(partial, first).dense())


class Prepared(NamedTuple):
    """Everything a forward pass needs besides its input."""

    into: Sequence[Block]
    multiplier: Multiplier | Tensor  # L (C ⊙ w)
    arch_bias: Tensor | None  # b (modes, 2)
    gates: Tensor | None  # C (2, g, i, o), for b
    out: Sequence[Block]


class AbstractFrame(nn.Module):
    """Analysis, synthesis and K-matrices of a layer; concrete frames are `Grid` and `Band`."""

    modes: tuple[int, ...]  # numbers of modes, one per axis
    k: nn.ModuleList
    l: nn.ModuleList  # noqa: E741 - the paper's name
    m: nn.ModuleList

    def blocks(self, like: Tensor, *, real_taps: bool):
        """The real forms of M (r -> f), L (taps -> f) and K (f -> r), one per axis each.

        L is None if it is the identity on weights that are given per mode.
        """
        raise TypeError(f"{type(self).__name__} must define blocks()")

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
        real = weight.ndim == len(self.modes) + 2
        if real:  # (o, i, *taps) -> (*taps, g, i, o)
            weight = weight.unflatten(0, (groups, -1)).movedim((0, 2, 1), (-3, -2, -1)).contiguous()
        if gates is not None:  # (o, i, 2) -> (2, g, i, o); C ⊙ L w = L (C ⊙ w)
            gates = gates.unflatten(0, (groups, -1)).permute(3, 0, 2, 1)
            weight = torch.stack([weight, torch.zeros_like(weight)], -4) if real else weight
            weight, real = complex_product(weight, gates), False
        elif arch_bias is not None:
            ones = weight.new_ones(weight.shape[-3:])
            gates = torch.stack([ones, torch.zeros_like(ones)])
        into, taps, out = self.blocks(weight, real_taps=real)
        return Prepared(into, _multiplier(weight, taps), arch_bias, gates, out)

    def finish(self, prepared: Prepared) -> Prepared:
        """Make D once and for all, unless it is too large to keep."""
        d = prepared.multiplier
        return prepared._replace(multiplier=d.dense()) if d.numbers() <= LARGE else prepared

    def apply(self, x: Tensor, prepared: Prepared, coords) -> Tensor:
        """(b, i, *n) -> (b, o, *n_out)."""
        c = self.analyse(x, coords)
        c = _core(c, prepared) if _is_plain(prepared) else _step_by_step(c, prepared)
        return self.synthesise(c, tuple(x.shape[2:]), coords)

    def check_size(self, size: tuple[int, ...]) -> None:
        """Raise if the frame cannot work on a grid of this size."""

    def extra_repr(self) -> str:
        return f"modes={self.modes}"


def _is_plain(prepared: Prepared) -> bool:
    """Whether the layer has nothing that `core` leaves out."""
    d = prepared.multiplier
    return (
        isinstance(d, Multiplier)
        and d.first is not None
        and d.partial.shape[2] == 1
        and prepared.arch_bias is None
        and all(isinstance(block, Tensor) for block in (*prepared.into, *prepared.out))
    )


def _core(c: Tensor, prepared: Prepared) -> Tensor:
    d = prepared.multiplier
    return core(c, d.first.flatten(0, 1), d.partial.squeeze(2), prepared.into, prepared.out)


def _step_by_step(c: Tensor, prepared: Prepared) -> Tensor:
    """(*r, b, i) -> (*r_out, b, o), with groups, b, large D and long axes."""
    z = rightward(c, prepared.into)
    d = prepared.multiplier
    mixed = mix(z, d) if isinstance(d, Tensor) else d.mix(z)
    if prepared.arch_bias is not None:
        mixed = mixed + _biased(z, prepared.arch_bias, prepared.gates)
    return leftward(mixed, prepared.out).view(*rows_of(prepared.out), *mixed.shape[-2:])


def complex_product(d: Tensor, c: Tensor) -> Tensor:
    """(…, 2, g, i, o) times (2, g, i, o), planes being real and imaginary parts."""
    re, im = d.unbind(-4)
    return torch.stack([re * c[0] - im * c[1], re * c[1] + im * c[0]], -4)


def _multiplier(weight: Tensor, taps: Sequence[Tensor] | None) -> Multiplier:
    """L w, all but its first axis; weight is (*taps, [2,] g, i, o), taps = modes without L."""
    pair = weight.shape[-3:]
    if taps is None:
        return Multiplier(weight.flatten(0, -5).movedim(1, 0), None)
    first = taps[0].unflatten(0, (2, -1))
    partial = leftward(weight, taps, stop=1)
    return Multiplier(partial.reshape(first.shape[2], -1, *pair), first)


def _biased(z: Tensor, arch_bias: Tensor, gates: Tensor) -> Tensor:
    """C b z: the bias is one number a mode for all channel pairs, so C alone mixes them."""
    (re, im), (b_re, b_im) = z.unbind(-3), arch_bias[..., None, None].unbind(-3)
    z = torch.stack([re * b_re - im * b_im, re * b_im + im * b_re], -3)
    return mix(z, gates[:, None].expand(-1, arch_bias.shape[:-1].numel(), *gates.shape[1:]))


def kaleidoscopes(blocks: Sequence[Tensor], *, decreasing: bool) -> nn.ModuleList:
    """One learnable K-matrix per axis."""
    real = torch.get_default_dtype()
    return nn.ModuleList(Kaleidoscope(b, decreasing=decreasing, dtype=real) for b in blocks)
