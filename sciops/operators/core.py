"""M, D = L w, channel mixing and K in one step, with a gradient written by hand.

    c -> Re( K · diag(first · partial) · M c )                (layouts as in `modes`)

`plain` is the definition; autograd differentiates it correctly, but keeps every intermediate result
in fresh memory and spends as long on bookkeeping as on small products.  `core` does the same
products in reused memory and writes the gradient of D over D.  A large D is made, used and, for the
gradient, made again in chunks of modes, and never needs memory.  Where a gradient is itself
differentiated, `core` falls back to `plain`.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .modes import leftward, mix, rightward, rows_of
from .scratch import lend

WHOLE_NUMBERS = 2**25  # a D of more numbers than this (128 MB in float32) is made in chunks
CHUNK_NUMBERS = 2**21  # of this size, which stays in the cache


def plain(c: Tensor, first: Tensor, partial: Tensor, into: Sequence[Tensor], out: Sequence[Tensor]):
    """The operation in coefficients.

    c:       (*r, b, i) real
    first:   (2·f₀, columns), the first axis of L
    partial: (columns, rest, i, o), w with L applied to the other axes
    into:    M, a rightward block per axis
    out:     K, a leftward block per axis
    returns: (*r_out, b, o) real
    """
    d = (first @ partial.flatten(1)).view(2, -1, 1, *partial.shape[-2:])
    mixed = mix(rightward(c, into), d)
    return leftward(mixed, out).view(*rows_of(out), *mixed.shape[-2:])


def core(c: Tensor, first: Tensor, partial: Tensor, into: Sequence[Tensor], out: Sequence[Tensor]):
    """`plain`, faster."""
    if torch.compiler.is_compiling():
        return plain(c, first, partial, into, out)
    return _Core.apply(c, first, partial, *into, *out)


class _Core(torch.autograd.Function):
    @staticmethod
    def forward(ctx, c, first, partial, *blocks):
        ctx.save_for_backward(c, first, partial, *blocks)
        out, ctx.kept = _forward(c, first, partial, blocks)
        return out

    @staticmethod
    def backward(ctx, gradient):
        saved = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is itself to be differentiated
            return _differentiate_plain(saved, gradient, ctx.needs_input_grad)
        c, first, partial, *blocks = saved
        if ctx.kept is None:  # not the first backward pass
            _, ctx.kept = _forward(c, first, partial, blocks)
        kept, ctx.kept = ctx.kept, None  # its memory will be used again
        return _backward(c, first, partial, blocks, kept, gradient)


def _forward(c: Tensor, first: Tensor, partial: Tensor, blocks: Sequence[Tensor]):
    """The result, and what its gradient needs: the inputs of every axis' product, z and D."""
    axes = len(blocks) // 2
    into, out = blocks[:axes], blocks[axes:]
    batch, i = c.shape[-2:]
    inputs = []
    x, done = c, 1
    for axis, block in enumerate(into):
        x = x.reshape(done, block.shape[1], math.prod(c.shape[axis + 1 :]))
        inputs.append(x)
        x = _left(block, x)
        done *= block.shape[0] // 2
    z = x.view(-1, 2, batch, i)
    if len(_chunks(first, partial)) == 1:
        x, d = _mix(z, first, partial)
    else:
        x, d = _mix_in_chunks(z, first, partial), None
    for axis in reversed(range(axes)):
        done //= into[axis].shape[0] // 2
        x = x.view(done, out[axis].shape[1], -1)
        inputs.append(x)
        x = _left(out[axis], x)
    return x.view(*rows_of(out), batch, -1), (inputs, z, d)


def _backward(c, first, partial, blocks, kept, g):
    """Gradients for c, first, partial and the blocks; d in `kept` is overwritten."""
    inputs, z, d = kept
    axes = len(blocks) // 2
    order = [*range(axes), *reversed(range(axes, 2 * axes))]  # blocks as they were applied
    for_blocks: list = [None] * len(blocks)
    for step in reversed(range(axes, 2 * axes)):
        block = order[step]
        g, for_blocks[block] = _left_backward(blocks[block], inputs[step], g)
    if d is not None:
        g, for_first, for_partial = _mix_backward(z, d, first, partial, g)
    else:
        g, for_first, for_partial = _mix_in_chunks_backward(z, first, partial, g)
    for step in reversed(range(axes)):
        block = order[step]
        g, for_blocks[block] = _left_backward(blocks[block], inputs[step], g)
    return g.view_as(c), for_first, for_partial, *for_blocks


def _left(block: Tensor, x: Tensor) -> Tensor:
    """block · x for (rows, columns) and (before, columns, after), into reused memory."""
    out = lend((len(x), len(block), x.shape[2]), x)
    return torch.bmm(block.expand(len(x), -1, -1), x, out=out)


def _left_backward(block: Tensor, x: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients for x and the block."""
    g = g.reshape(len(x), len(block), -1)
    for_x = torch.bmm(block.mT.expand(len(x), -1, -1), g, out=lend(x.shape, x))
    pairs = torch.bmm(g, x.mT, out=lend((len(x), *block.shape), x))
    return for_x, pairs.sum(0)


def _mix(z: Tensor, first: Tensor, partial: Tensor) -> tuple[Tensor, Tensor]:
    """z D, (f, 2·b, o), and D, (2·f₀, rest·i·o)."""
    d = torch.mm(first, partial.flatten(1), out=lend((len(first), partial[0].numel()), z))
    re, im = d.view(2, -1, *partial.shape[-2:])
    iz = _turned(z)
    x = torch.bmm(z.flatten(1, 2), re, out=lend((len(z), 2 * z.shape[2], re.shape[2]), z))
    x.baddbmm_(iz.flatten(1, 2), im)
    return x, d


def _mix_backward(z, d, first, partial, g) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients for z, first and partial; d is overwritten by its own gradient."""
    batch, i = z.shape[2:]
    g = g.reshape(len(z), 2 * batch, -1)
    re, im = d.view(2, -1, i, g.shape[2])
    for_iz = torch.bmm(g, im.mT, out=lend((len(z), 2 * batch, i), z)).view_as(z)
    for_z = _turned(for_iz)
    for_z.flatten(1, 2).baddbmm_(g, re.mT, beta=-1)  # (√−1)ᵀ = −√−1
    iz = _turned(z)
    torch.bmm(z.flatten(1, 2).mT, g, out=re)
    torch.bmm(iz.flatten(1, 2).mT, g, out=im)
    for_partial = torch.mm(first.mT, d, out=lend((first.shape[1], d.shape[1]), d))
    return for_z, d @ partial.flatten(1).mT, for_partial.view_as(partial)


def _chunks(first: Tensor, partial: Tensor) -> list[slice]:
    """Chunks of the axes behind the first; one, if D is made whole."""
    rest, numbers = partial.shape[1], len(first) * partial[0].numel()
    count = rest if numbers <= WHOLE_NUMBERS else max(1, CHUNK_NUMBERS * rest // numbers)
    return [slice(a, a + count) for a in range(0, rest, count)]


def _mix_in_chunks(z: Tensor, first: Tensor, partial: Tensor) -> Tensor:
    """`_mix` without D."""
    shape = (-1, partial.shape[1], 2 * z.shape[2], partial.shape[-1])
    out = torch.empty(len(z), *shape[2:], dtype=z.dtype, device=z.device).view(shape)
    for chunk in _chunks(first, partial):
        part = _part(z, partial, chunk)
        x, _ = _mix(part, first, partial[:, chunk].contiguous())
        out[:, chunk] = x.unflatten(0, (out.shape[0], -1))
    return out.flatten(0, 1)


def _mix_in_chunks_backward(z, first, partial, g) -> tuple[Tensor, Tensor, Tensor]:
    """`_mix_backward`, D being made again."""
    for_z, for_first, for_partial = torch.empty_like(z), 0, torch.empty_like(partial)
    g = g.reshape(len(z), 2 * z.shape[2], -1)
    for chunk in _chunks(first, partial):
        part, columns = _part(z, partial, chunk), partial[:, chunk].contiguous()
        d = torch.mm(first, columns.flatten(1), out=lend((len(first), columns[0].numel()), z))
        found = _mix_backward(part, d, first, columns, _part(g, partial, chunk))
        place = for_z.unflatten(0, (-1, partial.shape[1]))[:, chunk]
        place.copy_(found[0].view_as(place))
        for_first = for_first + found[1]
        for_partial[:, chunk] = found[2]
    return for_z, for_first, for_partial


def _part(x: Tensor, partial: Tensor, chunk: slice) -> Tensor:
    """The modes of one chunk, (f, …) -> (fewer, …), as a copy."""
    part = x.unflatten(0, (-1, partial.shape[1]))[:, chunk]
    return part.clone(memory_format=torch.contiguous_format).flatten(0, 1)


def _turned(z: Tensor) -> Tensor:
    """`turned`, into reused memory."""
    out = lend(z.shape, z)
    out = torch.empty_like(z) if out is None else out
    torch.neg(z[:, 1], out=out[:, 0])
    out[:, 1].copy_(z[:, 0])
    return out


def _differentiate_plain(saved, gradient: Tensor, wanted):
    """The gradient by autograd, differentiable again."""
    c, first, partial, *blocks = saved
    axes = len(blocks) // 2
    y = plain(c, first, partial, blocks[:axes], blocks[axes:])
    asked = [t for t, w in zip(saved, wanted, strict=True) if w]
    found = iter(torch.autograd.grad(y, asked, gradient, create_graph=True))
    return tuple(next(found) if w else None for w in wanted)
