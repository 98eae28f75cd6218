"""What the grid and the band frame share: analyse, multiply by D = L w + b, synthesise.

A frame owns the K-matrices K, L, M of a layer, one per axis, and turns them into plain complex
maps; `prepare` makes of them and the weights the real matrices that `apply` needs.  D holds a
number for every mode and channel pair; where that is large it is made and used a slab of modes at a
time, and made again for the gradient, so that memory stays bounded.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .core import core
from .kaleidoscope import Kaleidoscope
from .modes import Block, leftward, mix, rightward

LARGE = 2**26  # a D of more numbers than this (256 MB in float32) is neither made whole nor kept


class Multiplier(NamedTuple):
    """D = L w, still to be multiplied."""

    taps: Sequence[Tensor]  # L, a real block per axis, or nothing
    w: Tensor  # ([2·]t₀, t₁, …, g, o, i); or D itself, (modes, 2, g, o, i), where there are no taps

    def numbers(self) -> int:
        """How many D has."""
        if not self.taps:
            return self.w.numel()
        return 2 * math.prod(len(block) // 2 for block in self.taps) * self.w.shape[-3:].numel()

    def dense(self) -> Tensor:
        """D, (modes, 2, g, o, i)."""
        axes = len(self.taps)
        return rightward(self.w, self.taps).flatten(0, axes - 1) if axes else self.w

    def mix(self, z: Tensor) -> Tensor:
        """Multiply modes (f₀, …, 2, b, c) by D, in slabs of f₀ where D is large."""
        if not self.taps or self.numbers() <= LARGE:
            return mix(z, self.dense())
        first, *others = self.taps
        planes = first.unflatten(0, (-1, 2))
        parts = min(-(-self.numbers() // LARGE), len(planes))
        slabs = zip(z.tensor_split(parts), planes.tensor_split(parts), strict=True)
        keep_nothing = {"use_reentrant": False, "preserve_rng_state": False}
        return torch.cat(
            [checkpoint(_mix_slab, *slab, others, self.w, **keep_nothing) for slab in slabs]
        )


def _mix_slab(z: Tensor, first: Tensor, others: Sequence[Tensor], w: Tensor) -> Tensor:
    return mix(z, Multiplier([first.flatten(0, 1), *others], w).dense())


class Prepared(NamedTuple):
    """Everything a forward pass needs besides its input."""

    into: Sequence[Block]
    multiplier: Multiplier  # L (C ⊙ w)
    arch_bias: Tensor | None  # b (modes, 2)
    gates: Tensor | None  # C (2, g, o, i), for b
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
        real_taps: whether w is real; complex numbers come as two planes, in front of the taps
        """
        raise TypeError(f"{type(self).__name__} must define blocks()")

    def analyse(self, x: Tensor, coords) -> Tensor:
        """(b, c, *n) -> (b, c, *r)."""
        raise TypeError(f"{type(self).__name__} must define analyse()")

    def synthesise(self, c: Tensor, size: tuple[int, ...], coords) -> Tensor:
        """(b, o, *r) -> (b, o, *n_out)."""
        raise TypeError(f"{type(self).__name__} must define synthesise()")

    @property
    def arch_bias_shape(self) -> tuple[int, ...]:
        return (*self.modes, 2)

    def gates_at_one(self, out_channels: int, in_channels: int) -> Tensor:
        return torch.tensor([1.0, 0.0]).expand(out_channels, in_channels, 2).clone()

    def prepare(self, weight: Tensor, arch_bias: Tensor | None, gates: Tensor | None, groups: int):
        """Fold maps, weights, bias and gates into the matrices of one forward pass."""
        axes = len(self.modes)
        by_taps = weight.ndim == axes + 2
        pair = (groups, len(weight) // groups, weight.shape[1]) if by_taps else weight.shape[-3:]
        if gates is not None:  # (o, i, 2) -> (2, g, o, i)
            gates = gates.movedim(-1, 0).unflatten(1, (groups, -1))
        w = _taps_first(weight, pair) if by_taps else weight
        real = by_taps and gates is None
        if gates is not None:  # C ⊙ L w = L (C ⊙ w)
            w = torch.stack([w, torch.zeros_like(w)], axes) if by_taps else w
            w = complex_product(w, gates)
        elif arch_bias is not None:
            ones = weight.new_ones(pair)
            gates = torch.stack([ones, torch.zeros_like(ones)])
        into, taps, out = self.blocks(weight, real_taps=real)
        return Prepared(into, _multiplier(w, taps, axes), arch_bias, gates, out)

    def finish(self, prepared: Prepared) -> Prepared:
        """Make D once and for all, unless it is too large to keep."""
        d = prepared.multiplier
        if d.numbers() > LARGE:
            return prepared
        return prepared._replace(multiplier=Multiplier((), d.dense()))

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
    return (
        prepared.multiplier.w.shape[-3] == 1
        and prepared.arch_bias is None
        and all(isinstance(block, Tensor) for block in (*prepared.into, *prepared.out))
    )


def _core(c: Tensor, prepared: Prepared) -> Tensor:
    taps, w = prepared.multiplier
    return core(c, w.squeeze(-3), taps, prepared.into, prepared.out)


def _step_by_step(c: Tensor, prepared: Prepared) -> Tensor:
    """(b, i, *r) -> (b, o, *r_out), with groups, b, large D and long axes."""
    z = rightward(c.movedim((0, 1), (-2, -1)), prepared.into)
    mixed = prepared.multiplier.mix(z)
    if prepared.arch_bias is not None:
        mixed = mixed + _biased(z, prepared.arch_bias, prepared.gates)
    return leftward(mixed, prepared.out).movedim((-2, -1), (0, 1))


def complex_product(d: Tensor, c: Tensor) -> Tensor:
    """(…, 2, g, o, i) times (2, g, o, i), planes being real and imaginary parts."""
    re, im = d.unbind(-4)
    return torch.stack([re * c[0] - im * c[1], re * c[1] + im * c[0]], -4)


def _taps_first(weight: Tensor, pair: Sequence[int]) -> Tensor:
    """(o, i, *taps) -> (*taps, g, o, i)."""
    taps = weight.shape[2:]
    return weight.reshape(-1, taps.numel()).mT.contiguous().view(*taps, *pair)


def _multiplier(w: Tensor, taps: Sequence[Tensor] | None, axes: int) -> Multiplier:
    """L w of (*taps, [2,] g, o, i), taps = modes without L."""
    if taps is None:
        return Multiplier((), w.reshape(-1, 2, *w.shape[-3:]))
    if w.ndim > axes + 3:  # complex: planes in front
        w = w.movedim(axes, 0).flatten(0, 1)
    return Multiplier(taps, w)


def _biased(z: Tensor, arch_bias: Tensor, gates: Tensor) -> Tensor:
    """C b z: the bias is one number a mode for all channel pairs, so C alone mixes them."""
    (re, im), (b_re, b_im) = z.unbind(-3), arch_bias[..., None, None].unbind(-3)
    z = torch.stack([re * b_re - im * b_im, re * b_im + im * b_re], -3)
    return mix(z, gates.expand(arch_bias.shape[:-1].numel(), *gates.shape))


def kaleidoscopes(blocks: Sequence[Tensor], *, decreasing: bool) -> nn.ModuleList:
    """One learnable K-matrix per axis."""
    real = torch.get_default_dtype()
    return nn.ModuleList(Kaleidoscope(b, decreasing=decreasing, dtype=real) for b in blocks)
