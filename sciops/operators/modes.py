"""The inside of every operation: real coefficients -> modes -> mixed channels -> real coefficients.

    y = Re( K · diag(D) · M x ),        M, K, L Kronecker products over the axes,   D = L w

All arithmetic is real.  A complex number is two planes (real, imaginary), a complex matrix the real
block [[Re, −Im], [Im, Re]]; so each axis is one GEMM, and the product with D one batched GEMM over
the modes.  The layouts are chosen such that nothing is transposed on the way: the plane index walks
through the axes,

    rightward   (n₀, n₁, q) -> (f₀, 2, n₁, q) -> (f₀, f₁, 2, q)            x -> M x and w -> L w
    leftward    (f₀, f₁, 2, q) -> (f₀, 2, r₁, q) -> (r₀, r₁, q), real part         z -> K z
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


Block = Tensor | StagedMap  # a complex map in its real form, or staged


def rightward_block(matrix: Tensor, *, real_input: bool) -> Tensor:
    """The real form (f·2, [2·]n) of a complex (f, n): row planes last, column planes first."""
    re, im = matrix.real, matrix.imag
    if real_input:
        return torch.stack([re, im], 1).flatten(0, 1)
    return torch.stack([re, -im, im, re], 1).unflatten(1, (2, 2)).flatten(2).flatten(0, 1)


def leftward_block(matrix: Tensor, *, real_output: bool) -> Tensor:
    """The real form ([2·]r, f·2) of a complex (r, f): row planes first, column planes last."""
    return rightward_block(matrix.mH, real_input=real_output).mT


def rightward(x: Tensor, blocks: Sequence[Block]) -> Tensor:
    """Apply a map along every axis, first to last: ([2·]n₀, …, *q) -> (f₀, …, 2, *q)."""
    axes = len(blocks)
    sizes, modes = x.shape, []
    for axis, block in enumerate(blocks):
        x = x.reshape(math.prod(modes), -1, math.prod(sizes[axis + 1 :]))
        if isinstance(block, Tensor):
            x = _left(block, x)
            modes.append(len(block) // 2)
        else:
            planes = x.unflatten(1, (-1, sizes[axis])).unbind(1)  # (before, n, after), 1 or 2
            z = block.apply(torch.complex(*planes) if len(planes) == 2 else planes[0])
            x = torch.stack([z.real, z.imag], 2)
            modes.append(block.shape[0])
    return x.reshape(*modes, 2, *sizes[axes:])


def leftward(z: Tensor, blocks: Sequence[Block]) -> Tensor:
    """Apply a map along every axis, last to first: (f₀, …, 2, *q) -> (r₀, …, *q), real."""
    axes, sizes = len(blocks), z.shape
    for axis in reversed(range(axes)):
        block, before = blocks[axis], math.prod(sizes[:axis])
        if isinstance(block, Tensor):
            z = _left(block, z.reshape(before, block.shape[1], -1))
        else:
            re, im = z.reshape(before, sizes[axis], 2, -1).unbind(2)
            y = block.apply(torch.complex(re, im))
            z = y.real if axis == 0 else torch.stack([y.real, y.imag], 1)
    return z.reshape(*rows_of(blocks), *sizes[axes + 1 :])


def rows_of(blocks: Sequence[Block]) -> list[int]:
    """The sizes r of the result of `leftward`."""
    planes = [2 if axis and isinstance(block, Tensor) else 1 for axis, block in enumerate(blocks)]
    return [block.shape[0] // p for block, p in zip(blocks, planes, strict=True)]


def _left(block: Tensor, x: Tensor) -> Tensor:
    """block · x for (rows, columns) and (before, columns, after); never a copy of x."""
    if len(x) == 1:
        return (block @ x.squeeze(0)).unsqueeze(0)
    return torch.bmm(block.expand(len(x), -1, -1), x)


def mix(z: Tensor, multiplier: Tensor) -> Tensor:
    """Multiply the channels by one complex matrix per mode and group.

    z:          (f₀, …, 2, batch, groups·i)
    multiplier: (modes, 2, groups, o, i), all modes in one axis
    returns:    (f₀, …, 2, batch, groups·o)
    """
    groups, o, i = multiplier.shape[-3:]
    *modes, _, batch, _ = z.shape
    z = z.reshape(-1, 2, batch, groups, i)
    z = z.movedim(3, 1) if groups > 1 else z  # a group is one more mode
    out = product(z.reshape(-1, 2, batch, i), multiplier.transpose(1, 2).reshape(-1, 2, o, i))
    out = out.view(-1, groups, 2, batch, o).movedim(1, 3) if groups > 1 else out
    return out.reshape(*modes, 2, batch, groups * o)


def product(z: Tensor, d: Tensor) -> Tensor:
    """z Dᵀ in planes, (f, 2, b, i), (f, 2, o, i) -> (f, 2, b, o), by one batched product."""
    pairs = torch.bmm(z.flatten(1, 2), d.flatten(1, 2).mT)  # of planes of z and of D
    (aa, ab), (ba, bb) = [p.unbind(2) for p in pairs.view(*z.shape[:3], 2, -1).unbind(1)]
    return torch.stack([aa - bb, ab + ba], 1)
