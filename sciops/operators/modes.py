"""The inside of every operation: real coefficients -> modes -> mixed channels -> real coefficients.

    y = Re( K · diag(D) · M x ),        M, K Kronecker products over the axes, D[f] one matrix o × i

All arithmetic is real.  A complex number is two planes (real, imaginary), a complex matrix the real
block [[Re, −Im], [Im, Re]]; so each axis is one GEMM with a wide right-hand side, and the product
with D one batched GEMM over the modes.  The layouts are chosen such that nothing is transposed on
the way: `q` = (batch, channel) comes last, and the plane index walks through the axes,

    to_modes    (n₀, n₁, q) -> (f₀, 2, n₁, q) -> (f₀, f₁, 2, q)
    from_modes  (f₀, f₁, 2, q) -> (f₀, 2, r₁, q) -> (r₀, r₁, q)
"""

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor


class StagedMap(Protocol):
    """A complex map too large for a dense matrix; applied along axis 1 of (before, n, after)."""

    shape: tuple[int, int]

    def apply(self, x: Tensor) -> Tensor: ...


Map = Tensor | StagedMap  # (f, n) complex


def into_block(matrix: Map, *, real_input: bool) -> Map:
    """The real form (f·2, [2·]n) of a complex matrix (f, n): planes of the rows last, of columns first."""
    if not isinstance(matrix, Tensor):
        return matrix
    re, im = matrix.real, matrix.imag
    if real_input:
        return torch.stack([re, im], 1).flatten(0, 1)
    return torch.stack([re, -im, im, re], 1).unflatten(1, (2, 2)).flatten(2).flatten(0, 1)


def out_block(matrix: Map, *, real_output: bool) -> Map:
    """The real form ([2·]r, f·2) of a complex matrix (r, f): planes of the rows first, of columns last."""
    if not isinstance(matrix, Tensor):
        return matrix
    re, im = matrix.real, matrix.imag
    first = torch.stack([re, -im], -1).flatten(1)
    return first if real_output else torch.cat([first, torch.stack([im, re], -1).flatten(1)])


def into_blocks(maps: Sequence[Map], *, real_input: bool = True) -> list[Map]:
    return [into_block(a, real_input=real_input and i == 0) for i, a in enumerate(maps)]


def out_blocks(maps: Sequence[Map]) -> list[Map]:
    return [out_block(a, real_output=i == 0) for i, a in enumerate(maps)]


def to_modes(x: Tensor, blocks: Sequence[Map], *, real_input: bool = True) -> Tensor:
    """Apply a map along every axis.

    x:       (n₀, …, *q) real, or (2, n₀, …, *q) with `real_input=False`
    blocks:  one `into_block` per axis
    returns: (f₀, …, 2, *q)
    """
    axes = len(blocks)
    sizes = x.shape if real_input else x.shape[1:]
    modes: list[int] = []
    for axis, block in enumerate(blocks):
        x = x.reshape(math.prod(modes), -1, math.prod(sizes[axis + 1 :]))
        if isinstance(block, Tensor):
            x = torch.bmm(block.expand(len(x), -1, -1), x)
            modes.append(len(block) // 2)
        else:
            planes = x.unflatten(1, (-1, sizes[axis]))  # (before, 1 or 2, n, after)
            real = planes.shape[1] == 1
            z = block.apply(planes[:, 0] if real else torch.complex(planes[:, 0], planes[:, 1]))
            x = torch.stack([z.real, z.imag], 2)
            modes.append(block.shape[0])
    return x.reshape(*modes, 2, *sizes[axes:])


def from_modes(z: Tensor, blocks: Sequence[Map]) -> Tensor:
    """Apply a map along every axis and take the real part.

    z:       (f₀, …, 2, *q)
    blocks:  one `out_block` per axis
    returns: (r₀, …, *q) real
    """
    axes = len(blocks)
    tail = z.shape[axes + 1 :]
    sizes: list[int] = []  # r of the axes done, last axis first
    for axis in reversed(range(axes)):
        block = blocks[axis]
        before = math.prod(z.shape[:axis]) if not sizes else math.prod(modes[:axis])
        if not sizes:
            modes = z.shape[:axes]
        x = z.reshape(before, 2 * modes[axis], -1)
        if isinstance(block, Tensor):
            rows = len(block) if axis == 0 else len(block) // 2
            z = torch.bmm(block.expand(len(x), -1, -1), x)
        else:
            rows = block.shape[0]
            planes = x.unflatten(1, (modes[axis], 2))  # (before, f, 2, after)
            y = block.apply(torch.complex(planes[:, :, 0], planes[:, :, 1]))
            z = y.real if axis == 0 else torch.stack([y.real, y.imag], 1)
        sizes.insert(0, rows)
    return z.reshape(*sizes, *tail)


def mix(z: Tensor, multiplier: Tensor) -> Tensor:
    """Multiply the channels by one complex matrix per mode and group.

    z:          (f₀, …, 2, batch, groups·i)
    multiplier: (f₀, …, 2, groups, i, o)
    returns:    (f₀, …, 2, batch, groups·o)
    """
    *modes, _, groups, i, o = multiplier.shape
    batch = z.shape[-2]
    z = z.reshape(-1, 2, batch, groups, i)
    d = multiplier.reshape(-1, 2, groups, i, o)
    turned = torch.stack([-z[:, 1], z[:, 0]], 1)  # √−1 · z
    left = torch.stack([z, turned], -2)  # (f, 2, b, g, [z, iz], i)
    if groups > 1:
        left, d = left.movedim(3, 1), d.movedim(2, 1)
    out = torch.bmm(
        left.reshape(-1, 2 * batch, 2 * i), d.reshape(-1, 2 * i, o)
    )  # Re: z_r D_r − z_i D_i,  Im: z_i D_r + z_r D_i
    out = out.view(-1, groups, 2, batch, o).movedim(1, 3) if groups > 1 else out
    return out.reshape(*modes, 2, batch, groups * o)
