"""M, D = L w, channel mixing and K in one step, with a gradient written by hand.

    c -> Re( K · diag(L w) · M c )                         (planes as in `modes`)

`plain` is the definition; autograd differentiates it correctly, but keeps every intermediate result
in fresh memory and spends as long on bookkeeping as on small products.  `core` does the same
products in reused memory and writes the gradient of D over D.  M and K are applied image by image,
as many small products, which a CPU does two or three times faster than one wide one; only modes are
transposed.  A large D is made, used and, for the gradient, made again in chunks of modes, and never
needs memory.  Where a gradient is itself differentiated, `core` falls back to `plain`.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .modes import leftward, product, rightward, rows_of
from .scratch import lend

WHOLE_NUMBERS = 2**25  # a D of more numbers than this (128 MB in float32) is made in chunks
CHUNK_NUMBERS = 2**21  # of this size, which stays in the cache
SUM_NUMBERS = 2**20  # products that are added up are kept side by side up to this size


def plain(c: Tensor, w: Tensor, taps: Sequence, into: Sequence, out: Sequence) -> Tensor:
    """The operation in coefficients.

    c:       (b, i, *r) real
    w:       weights, ([2·]t₀, t₁, …, o, i); or D itself, (f, 2, o, i), where there are no `taps`
    taps:    L, a rightward block per axis, or nothing
    into:    M, a rightward block per axis
    out:     K, a leftward block per axis
    returns: (b, o, *r_out) real
    """
    d = rightward(w, taps).flatten(0, len(taps) - 1) if taps else w
    z = rightward(c.movedim((0, 1), (-2, -1)), into)
    mixed = product(z.flatten(0, -4), d)
    return leftward(mixed.unflatten(0, z.shape[: len(into)]), out).movedim((-2, -1), (0, 1))


def core(c: Tensor, w: Tensor, taps: Sequence, into: Sequence, out: Sequence) -> Tensor:
    """`plain`, faster."""
    if torch.compiler.is_compiling():
        return plain(c, w, taps, into, out)
    return _Core.apply(c, w, *taps, *into, *out)


class _Core(torch.autograd.Function):
    @staticmethod
    def forward(ctx, c, w, *blocks):
        ctx.save_for_backward(c, w, *blocks)
        out, ctx.kept = _forward(c, w, *_by_kind(c, blocks))
        return out

    @staticmethod
    def backward(ctx, gradient):
        saved, wanted = ctx.saved_tensors, ctx.needs_input_grad
        c, w, *blocks = saved
        kinds = _by_kind(c, blocks)
        if torch.is_grad_enabled():  # the gradient is itself to be differentiated
            return _differentiate_plain(saved, kinds, gradient, wanted)
        if ctx.kept is None:  # not the first backward pass
            _, ctx.kept = _forward(c, w, *kinds)
        kept, ctx.kept = ctx.kept, None  # its memory will be used again
        return _backward(c, w, *kinds, kept, gradient, _by_kind(c, wanted[2:]))


def _by_kind(c: Tensor, blocks: Sequence) -> tuple[Sequence, Sequence, Sequence]:
    """L (or nothing), M and K, a block per axis each."""
    axes = c.ndim - 2
    return blocks[: -2 * axes], blocks[-2 * axes : -axes], blocks[-axes:]


def _forward(c: Tensor, w: Tensor, taps: Sequence, into: Sequence, out: Sequence):
    """The result, and what its gradient needs: the inputs of all products, z and D."""
    batch, i, *sizes = c.shape
    x, of_m = _along(c, into, _behind(sizes))
    z = _transposed(x.view(batch * i, -1)).view(-1, 2, batch, i)
    right, of_l = _along(w, taps[:-1], _behind(w.shape))
    left, right = _last_product(w, taps, right)
    if len(_chunks(left, right)) == 1:
        d = _made(left, right)
        x = _mix(z, d)
    else:
        x, d = _mix_in_chunks(z, left, right), None
    x, sizes = _transposed(x.view(-1, batch * w.shape[-2])), rows_of(out)
    x, of_k = _along(x, out[::-1], _behind(sizes)[::-1])
    return x.view(batch, -1, *sizes), (of_m, of_l, of_k, right, z, d)


def _backward(c, w, taps, into, out, kept, g, wanted):
    """Gradients for c, w and the blocks that are `wanted`; D in `kept` is overwritten."""
    of_m, of_l, of_k, right, z, d = kept
    for_l, for_m, for_k = wanted
    g, for_out = _back_along(out[::-1], of_k, g, for_k[::-1])
    g = _transposed(g.view(len(c) * w.shape[-2], -1)).view(*z.shape[:3], -1)
    left = taps[-1] if taps else None
    if d is not None:
        g, for_left, for_right = _mix_backward(z, d, left, right, g)
    else:
        g, for_left, for_right = _mix_in_chunks_backward(z, left, right, g)
    for_w, for_taps = _back_along(taps[:-1], of_l, for_right, for_l[:-1])
    for_c, for_into = _back_along(into, of_m, _transposed(g.view(2 * len(g), -1)), for_m)
    for_taps = [*for_taps, for_left] if taps else []
    return for_c.view_as(c), for_w.view_as(w), *for_taps, *for_into, *for_out[::-1]


# --- along the axes -------------------------------------------------------------------------------


def _behind(sizes: Sequence[int]) -> list[int]:
    """For each axis the product of the sizes behind it.

    >>> _behind((2, 3, 4))
    [12, 4, 1]
    """
    return [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]


def _along(x: Tensor, blocks: Sequence[Tensor], behind: Sequence[int]) -> tuple[Tensor, list]:
    """Apply the blocks, each to the next axis, and the input of each product."""
    inputs = []
    for block, after in zip(blocks, behind, strict=False):
        inputs.append(x.reshape(-1, block.shape[1], after))
        x = _left(block, inputs[-1])
    return x, inputs


def _back_along(blocks, inputs, g: Tensor, wanted: Sequence[bool]) -> tuple[Tensor, list]:
    """Gradients of `_along` for x and, where wanted, for the blocks."""
    found: list[Tensor | None] = []
    for block, x, is_wanted in reversed(list(zip(blocks, inputs, wanted, strict=True))):
        g = g.reshape(len(x), len(block), -1)
        found.insert(0, _sum_of_products(g, x) if is_wanted else None)
        g = _left(block.mT, g)
    return g, found


def _left(block: Tensor, x: Tensor) -> Tensor:
    """block · x for (rows, columns) and (before, columns, after), into reused memory."""
    before, columns, after = x.shape
    out = lend((before, len(block), after), x)
    if after > 1:
        return torch.bmm(block.expand(before, -1, -1), x, out=out)
    flat = None if out is None else out.view(before, -1)
    return torch.mm(x.view(before, columns), block.mT, out=flat).view(before, -1, 1)


def _sum_of_products(g: Tensor, x: Tensor) -> Tensor:
    """Σ g xᵀ over a batch of matrices, (before, rows, after), (before, columns, after)."""
    if g.shape[2] == 1:
        return g.squeeze(2).mT @ x.squeeze(2)
    at_once = max(1, SUM_NUMBERS // (g.shape[1] * x.shape[1]))
    sums = torch.bmm(g[:at_once], x[:at_once].mT)
    for start in range(at_once, len(g), at_once):
        some = slice(start, start + at_once)
        sums[: len(g[some])].baddbmm_(g[some], x[some].mT)
    return sums.sum(0)


def _transposed(x: Tensor) -> Tensor:
    return _memory((x.shape[1], x.shape[0]), x).copy_(x.mT)


def _memory(shape: tuple[int, ...], like: Tensor) -> Tensor:
    lent = lend(shape, like)
    return like.new_empty(shape) if lent is None else lent


# --- D and the product with it --------------------------------------------------------------------


def _last_product(w: Tensor, taps: Sequence[Tensor], right: Tensor):
    """D as a product still to be done, left · (before, columns, o, i); or nothing and D."""
    if not taps:
        return None, w
    return taps[-1], right.reshape(-1, taps[-1].shape[1], *w.shape[-2:])


def _made(left: Tensor | None, right: Tensor) -> Tensor:
    """D, (f, 2, o, i)."""
    if left is None:
        return right
    return _left(left, right.flatten(2)).view(-1, 2, *right.shape[-2:])


def _mix(z: Tensor, d: Tensor) -> Tensor:
    """z Dᵀ, (f, 2, b, o)."""
    f, _, batch, _ = z.shape
    o = d.shape[2]
    shape = (f, 2 * batch, 2 * o)
    pairs = torch.bmm(z.flatten(1, 2), d.flatten(1, 2).mT, out=lend(shape, z))
    pairs = pairs.view(f, 2, batch, 2, o)
    x = _memory((f, 2, batch, o), z)
    torch.sub(pairs[:, 0, :, 0], pairs[:, 1, :, 1], out=x[:, 0])
    torch.add(pairs[:, 0, :, 1], pairs[:, 1, :, 0], out=x[:, 1])
    return x


def _mix_backward(z, d, left, right, g) -> tuple[Tensor, Tensor | None, Tensor]:
    """Gradients for z, left and right; a d that was made is overwritten by its own gradient."""
    f, _, batch, o = g.shape
    pairs = _memory((f, 2, batch, 2, o), g)
    pairs[:, 0].copy_(g.transpose(1, 2))
    pairs[:, 1, :, 0].copy_(g[:, 1])
    torch.neg(g[:, 0], out=pairs[:, 1, :, 1])
    pairs = pairs.view(f, 2 * batch, 2 * o)
    for_z = torch.bmm(pairs, d.flatten(1, 2), out=lend((f, 2 * batch, z.shape[3]), z))
    memory = torch.empty_like(d) if left is None else d
    for_d = torch.bmm(pairs.mT, z.flatten(1, 2), out=memory.flatten(1, 2)).view_as(d)
    for_z = for_z.view_as(z)
    if left is None:
        return for_z, None, for_d
    for_d = for_d.view(len(right), len(left), -1)
    for_left = _sum_of_products(for_d, right.flatten(2))
    return for_z, for_left, _left(left.mT, for_d).view_as(right)


def _chunks(left: Tensor | None, right: Tensor) -> list[slice]:
    """Chunks of the leading modes, `right`'s first axis; one, if D is made whole."""
    before = len(right)
    numbers = 0 if left is None else before * len(left) * right[0, 0].numel()
    count = before if numbers <= WHOLE_NUMBERS else max(1, CHUNK_NUMBERS * before // numbers)
    return [slice(a, a + count) for a in range(0, before, count)]


def _parts(left: Tensor, right: Tensor) -> list[tuple[slice, slice]]:
    """The chunks, each with its modes."""
    f = len(left) // 2
    return [(slice(c.start * f, c.stop * f), c) for c in _chunks(left, right)]


def _mix_in_chunks(z: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """`_mix` without D."""
    out = z.new_empty(*z.shape[:3], right.shape[2])
    for modes, chunk in _parts(left, right):
        out[modes] = _mix(z[modes], _made(left, right[chunk]))
    return out


def _mix_in_chunks_backward(z, left, right, g) -> tuple[Tensor, Tensor, Tensor]:
    """`_mix_backward`, D being made again."""
    for_z, for_left, for_right = torch.empty_like(z), 0, torch.empty_like(right)
    for modes, chunk in _parts(left, right):
        d = _made(left, right[chunk])
        found = _mix_backward(z[modes], d, left, right[chunk], g[modes])
        for_z[modes], for_right[chunk] = found[0], found[2]
        for_left = for_left + found[1]
    return for_z, for_left, for_right


def _differentiate_plain(saved, kinds, gradient: Tensor, wanted):
    """The gradient by autograd, differentiable again."""
    asked = [t for t, w in zip(saved, wanted, strict=True) if w]
    y = plain(*saved[:2], *kinds)
    found = iter(torch.autograd.grad(y, asked, gradient, create_graph=True))
    return tuple(next(found) if w else None for w in wanted)
