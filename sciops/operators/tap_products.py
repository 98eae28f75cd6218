"""The grid frame for small kernels in two dimensions: one pair of small matrices for each tap.

With w[s, t] the real matrix of channels (o, i) at tap (s, t), no bias b and no gates C,

    y = Re Σ_st (A_s ⊗ B_t) w[s, t] x,        A_s, B_t = K diag(L[:, tap]) M of either axis

A_s and B_t lead from the points of the input to those of the output.  So the data never see the
modes, of which there are many more, and L w, a number for every mode and channel pair, is never
made.  For each sample

    (n₀, i, n₁) -> (n₀, i·t, 2·m₁) -> (o·s, n₀, 2·m₁) -> (o, m₀, m₁)

by B, by w and by A, in real GEMMs.  The planes 2 are real and imaginary part of B x: w, being real,
mixes the channels of both alike, and A takes the real part.
"""

from itertools import cycle
from typing import NamedTuple

import torch
from torch import Tensor

from .axes import GridAxis
from .scratch import lend

BATCH = 4  # samples that matrices made once per step typically serve
ACCUMULATORS = 4  # sums of products, added up at the end
SMALL_SAMPLE = 2**14  # samples of fewer numbers behind w are multiplied all at once


class TapProducts(NamedTuple):
    """What a forward pass needs besides its input."""

    first: Tensor  # A, (m₀, s, n₀, 2), the imaginary part negated
    mixing: Tensor  # w, (o, s, i, t)
    last: Tensor  # B, (n₁, t, 2, m₁)


def tap_products(weight: Tensor, first: Tensor, last: Tensor) -> TapProducts:
    """From weights (o, i, s, t) and complex maps (taps, points out, points in) of both axes."""
    a = torch.view_as_real(first.mH.resolve_conj()).permute(2, 0, 1, 3)
    b = torch.view_as_real(last).permute(2, 0, 3, 1)
    return TapProducts(a.contiguous(), weight.transpose(1, 2).contiguous(), b.contiguous())


def tap_maps(k: Tensor, l_columns: Tensor, m: Tensor) -> Tensor:
    """K diag(L[:, t]) M for every tap t: (taps, rows of K, columns of M)."""
    return (k * l_columns.mT.unsqueeze(1)) @ m


def taps_are_cheaper(axes: tuple[GridAxis, ...], weight: Tensor) -> bool:
    """Whether all this takes fewer flops than the product mode by mode (`core`).

    It also moves less memory, which is not counted.
    """
    o, i = weight.shape[:2]
    return len(axes) == 2 and _flops(*axes, i, o) < _flops_by_modes(*axes, i, o)


def _flops(first: GridAxis, last: GridAxis, i: int, o: int) -> int:
    once = 8 * sum(a.kernel * a.n_out * a.n * a.size for a in (first, last))
    values = 2 * last.n_out * first.size  # of one channel and tap behind B
    b = 2 * values * last.kernel * i * last.size
    mixing = 2 * values * o * first.kernel * i * last.kernel
    a = 2 * values * o * first.kernel * first.n_out
    return once + BATCH * (b + mixing + a)


def _flops_by_modes(first: GridAxis, last: GridAxis, i: int, o: int) -> int:
    pairs, modes = i * o, first.n * last.n
    once = 4 * first.n * first.kernel * last.kernel * pairs + 8 * modes * last.kernel * pairs
    m = i * (4 * first.n * first.size * last.size + 8 * modes * last.size)
    k = o * (8 * modes * last.n_out + 4 * first.n * first.n_out * last.n_out)
    return once + BATCH * (m + 8 * modes * pairs + k)


# --- applying them --------------------------------------------------------------------------------


def plain(x: Tensor, first: Tensor, mixing: Tensor, last: Tensor) -> Tensor:
    """The definition: (batch, i, n₀, n₁) -> (batch, o, m₀, m₁)."""
    z = torch.einsum("binx,xtpy->bintpy", x, last)
    u = torch.einsum("osit,bintpy->bosnpy", mixing, z)
    return torch.einsum("msnp,bosnpy->bomy", first, u)


def multiply(x: Tensor, maps: TapProducts) -> Tensor:
    """`plain`, for large samples on CPUs in reused memory and with a gradient written by hand."""
    numbers = maps.mixing.shape[:2].numel() * x.shape[2] * maps.last.shape[2:].numel()
    if x.device.type != "cpu" or torch.compiler.is_compiling() or numbers < SMALL_SAMPLE:
        return plain(x, *maps).contiguous()  # dropout draws in the order of memory
    if not torch.is_grad_enabled():
        return _forward(x, *maps, keep=False)[0]
    return _Multiply.apply(x, *maps)


class _Multiply(torch.autograd.Function):
    """Keeps w B x for the gradient; B x, which takes as much memory, is made again."""

    @staticmethod
    def forward(ctx, x, first, mixing, last):
        ctx.save_for_backward(x, first, mixing, last)
        y, ctx.kept = _forward(x, first, mixing, last, keep=True)
        return y

    @staticmethod
    def backward(ctx, gradient):
        saved = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is itself to be differentiated
            return _differentiate_plain(saved, gradient, ctx.needs_input_grad)
        u = _forward(*saved, keep=True)[1] if ctx.kept is None else ctx.kept
        ctx.kept = None  # its memory will be used again
        return _backward(*saved, u, gradient)


def _forward(x, first, mixing, last, *, keep: bool) -> tuple[Tensor, Tensor]:
    """y, and u = w B x of all samples, (batch, o·s, n₀, 2·m₁), or of the last one."""
    (o, s), n0, m1 = mixing.shape[:2], x.shape[2], last.shape[3]
    a, w = first.flatten(1), mixing.flatten(2).flatten(0, 1)
    u = _memory((len(x) if keep else 1, o * s, n0, 2 * m1), x)
    y = x.new_empty(len(x), o, len(first), m1)
    for sample, mixed, out in zip(x, cycle(u), y, strict=False):
        z = _spread(_rows_first(sample), last)
        torch.bmm(w.expand(n0, -1, -1), z, out=mixed.transpose(0, 1))
        torch.bmm(a.expand(o, -1, -1), mixed.view(o, -1, m1), out=out)
    return y, u


def _backward(x, first, mixing, last, u, gradient):
    """Gradients for x, A, w and B."""
    o, n0, m1 = len(mixing), x.shape[2], last.shape[3]
    a, w, b = first.flatten(1), mixing.flatten(2).flatten(0, 1), last.flatten(1)
    for_x, for_b = torch.empty_like(x), torch.zeros_like(b)
    for_a, for_w = (t.new_zeros(ACCUMULATORS, *t.shape) for t in (a, w))
    for sample, mixed, g, out in zip(x, u, gradient, for_x, strict=True):
        _accumulate(for_a, g, mixed.view(o, -1, m1))
        for_u = torch.bmm(a.mT.expand(o, -1, -1), g, out=lend((o, a.shape[1], m1), x))
        for_u = for_u.view_as(mixed).transpose(0, 1)
        rows = _rows_first(sample)
        z = _spread(rows, last)
        _accumulate(for_w, for_u, z)
        for_z = torch.bmm(w.mT.expand(n0, -1, -1), for_u, out=lend(z.shape, x))
        for_z = for_z.view(-1, b.shape[1])
        for_b.addmm_(rows.flatten(0, 1).mT, for_z)
        out.transpose(0, 1).copy_((for_z @ b.mT).view_as(rows))
    sums = for_a.sum(0).view_as(first), for_w.sum(0).view_as(mixing), for_b.view_as(last)
    return for_x, *sums


def _rows_first(sample: Tensor) -> Tensor:
    """(i, n₀, n₁) -> (n₀, i, n₁)."""
    return sample.transpose(0, 1).contiguous()


def _spread(rows: Tensor, last: Tensor) -> Tensor:
    """B x: (n₀, i, n₁) -> (n₀, i·t, 2·m₁)."""
    n0, i, _ = rows.shape
    t, numbers = last.shape[1], last[0].numel()
    z = torch.mm(rows.flatten(0, 1), last.flatten(1), out=lend((n0 * i, numbers), rows))
    return z.view(n0, i * t, -1)


def _accumulate(sums: Tensor, a: Tensor, b: Tensor) -> None:
    """Add a bᵀ, a batch of products, to the sums; every matrix to one of them."""
    for start in range(0, len(a), len(sums)):
        some = a[start : start + len(sums)]
        sums[: len(some)].baddbmm_(some, b[start : start + len(sums)].mT)


def _memory(shape: tuple[int, ...], like: Tensor) -> Tensor:
    lent = lend(shape, like)
    return like.new_empty(shape) if lent is None else lent


def _differentiate_plain(saved, gradient: Tensor, wanted):
    """The gradient by autograd, differentiable again."""
    asked = [t for t, w in zip(saved, wanted, strict=True) if w]
    found = iter(torch.autograd.grad(plain(*saved), asked, gradient, create_graph=True))
    return tuple(next(found) if w else None for w in wanted)
