"""Named operations as points of the XD family: which K, L, M, b and C they are.

Each function gives the `Maps` of one operation on the given axes (`layer.frame.axes`) and for the
given depth of K, L, M; `layer.set_maps(maps)` puts them into a grid-frame layer.  F is the DFT
without bit reversal, P a permutation (two blocks of a K-matrix, Beneš), w the weights as torch
stores them.

    operation                     K      L        M       b         C      least depth
    convolution (any dilation)    F⁻¹    F        F       0         1      1, 1, 1
    dilated, from plain taps      F⁻¹    F P      F       0         1      1, 3, 1
    transposed convolution        F⁻¹    F P      F P     0         1      1, 3, 3
    permutation, convolution      F⁻¹    F        F P     0         1      1, 1, 3
    average pooling               F⁻¹    0        F       F box     id     1, 1, 1
    identity                      id     0        id      1         id     1, 1, 1
    zero                          F⁻¹    0        F       0         1      1, 1, 1

A Fourier layer is the band frame's XD with weights on the modes and K = L = M = id
(`fourier_layer`). The scale is split as the paper does: K and M unitary, L unscaled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .axes import GridAxis
from .butterfly import bit_reversal, dft_twiddle, scale_input
from .kaleidoscope import identity_blocks, permutation_blocks

Depth = tuple[int, int, int]
EXACT = torch.complex128


@dataclass(frozen=True)
class Maps:
    """An architecture: blocks (depth, m, n/2, 2, 2) of K, L, M per axis, bias b and gates C."""

    k: tuple[Tensor, ...]
    l: tuple[Tensor, ...]  # noqa: E741 - the paper's name
    m: tuple[Tensor, ...]
    arch_bias: Tensor | None = None  # (*modes,) complex
    gates: Tensor | None = None  # (out, in) complex


def convolution(
    axes: Sequence[GridAxis], depth: Depth, *, active: Sequence[Tensor] | None = None
) -> Maps:
    """Convolution with the axes' own stride, dilation and padding.

    active: per axis a boolean (kernel,); L starts blind to the other taps.
    """
    k = tuple(_fourier_first(axis.n, depth[0]) for axis in axes)
    l_blocks = tuple(_fourier_last(axis.n, depth[1], unitary=False) for axis in axes)
    m = tuple(_fourier_last(axis.n, depth[2], unitary=True) for axis in axes)
    if active is not None:
        l_blocks = tuple(
            _only(b, axis, a) for b, axis, a in zip(l_blocks, axes, active, strict=True)
        )
    return Maps(k, l_blocks, m)


def dilated_convolution(axes: Sequence[GridAxis], depth: Depth, dilation: int) -> Maps:
    """Convolution whose undilated taps are spread by L, centred as padding="same" centres them."""
    moved = []
    for axis in axes:
        span = dilation * (axis.kernel - 1)
        left, right = span // 2, span - span // 2
        if axis.wraps or (not axis.circular and axis.size + max(left, right) > axis.n):
            raise ValueError(
                f"dilation {dilation} reaches beyond the {axis.n} points of the axis; "
                "use XD(dilation=…), a circular power-of-two size or more padding"
            )
        targets = (left - dilation * torch.arange(axis.kernel)) % axis.n
        moved.append(_permutation(axis.n, targets, axis.taps()))
    return replace(convolution(axes, depth), l=_permuted(axes, depth[1], moved, unitary=False))


def transposed_convolution(axes: Sequence[GridAxis], depth: Depth, stride: int) -> Maps:
    """Transposed convolution: M spreads the input by `stride`, L reverses the taps.

    The axes' padding decides the length: left = d(k−1) − p, right = (size−1)(stride−1) + d(k−1) −
    p.
    """
    flips, spreads = [], []
    for axis in axes:
        span = axis.dilation * (axis.kernel - 1)
        if axis.circular or axis.left + axis.right < (axis.size - 1) * (stride - 1):
            raise ValueError(
                "a transposed convolution needs padding_mode='zeros' and (left, right) padding of "
                f"({span} − p, {(axis.size - 1) * (stride - 1) + span} − p), its own p ≤ {span}"
            )
        targets = axis.left - span + axis.dilation * torch.arange(axis.kernel)
        flips.append(_permutation(axis.n, targets % axis.n, axis.taps()))
        points = torch.arange(axis.size)
        spreads.append(_permutation(axis.n, stride * points, points))
    flipped = _permuted(axes, depth[1], flips, unitary=False)
    spread = _permuted(axes, depth[2], spreads, unitary=True)
    return replace(convolution(axes, depth), l=flipped, m=spread)


def permuted_convolution(
    axes: Sequence[GridAxis], depth: Depth, permutations: Sequence[Tensor]
) -> Maps:
    """Convolution of `x[permutation]`, one permutation of the points per axis."""
    moved = []
    for axis, v in zip(axes, permutations, strict=True):
        if axis.wraps:
            raise ValueError(
                f"a circular axis of {axis.size} points is wrapped, which no permutation survives; "
                "use a power-of-two size or padding_mode='zeros'"
            )
        moved.append(_permutation(axis.n, torch.arange(axis.size), torch.as_tensor(v)))
    return replace(convolution(axes, depth), m=_permuted(axes, depth[2], moved, unitary=True))


def average_pooling(axes: Sequence[GridAxis], depth: Depth, channels: tuple[int, int]) -> Maps:
    """The mean over the kernel's window, channel by channel; padding counts as zeros."""
    box = [torch.full((axis.kernel,), 1 / axis.kernel, dtype=torch.float64) for axis in axes]
    return replace(
        zero(axes, depth), arch_bias=_spectrum(axes, box), gates=_channel_identity(channels)
    )


def identity(axes: Sequence[GridAxis], depth: Depth, channels: tuple[int, int]) -> Maps:
    """x itself, whatever the weights."""
    same = zero(axes, depth)
    k, m = (
        tuple(identity_blocks(axis.n, d, dtype=EXACT) for axis in axes)
        for d in (depth[0], depth[2])
    )
    ones = torch.ones([axis.n for axis in axes], dtype=EXACT)
    return replace(same, k=k, m=m, arch_bias=ones, gates=_channel_identity(channels))


def zero(axes: Sequence[GridAxis], depth: Depth) -> Maps:
    """Nothing, whatever the weights; L can learn to see them."""
    # L is a product over the axes: were it zero on more than one, so would be its gradient.
    seen = [torch.full((axis.kernel,), a > 0) for a, axis in enumerate(axes)]
    return convolution(axes, depth, active=seen)


def fourier_layer(modes: tuple[int, ...], depth: Depth) -> Maps:
    """The band frame's start: K = L = M = id on `layer.frame.modes`."""
    orders = [1 << (m - 1).bit_length() for m in modes]
    k, l_blocks, m = (tuple(identity_blocks(n, d) for n in orders) if d else () for d in depth)
    return Maps(k, l_blocks, m)


def install(layer, maps: Maps):
    """Write `maps` into the parameters of a grid- or band-frame layer; errors say what it lacks."""
    for name in ("arch_bias", "gates"):
        if getattr(maps, name) is not None and getattr(layer, name) is None:
            raise ValueError(
                f"this operation needs {name}: build the layer with XD(…, {name}=True)"
            )
    parts = [
        pair
        for part in ("k", "l", "m")
        for pair in zip(getattr(layer.frame, part), getattr(maps, part), strict=True)
    ]
    for k, blocks in parts:
        if k.values.shape[:-1] != blocks.shape:
            raise ValueError(
                f"maps of another size or depth: the layer has {tuple(k.values.shape[:-1])}, "
                f"they have {tuple(blocks.shape)}"
            )
    for k, blocks in parts:
        k.restart(blocks)
    for name, rest in (("arch_bias", 0), ("gates", 1)):
        target, value = getattr(layer, name), getattr(maps, name)
        if target is not None:
            value = torch.full(target.shape[:-1], rest, dtype=EXACT) if value is None else value
            with torch.no_grad():
                target.copy_(torch.view_as_real(value))
    return layer


def _fourier_first(n: int, depth: int) -> Tensor:
    inverse = dft_twiddle(n, inverse=True, dtype=EXACT)[None]
    return torch.cat([inverse, identity_blocks(n, depth - 1, dtype=EXACT)])


def _fourier_last(
    n: int, depth: int, *, unitary: bool, permutation: Tensor | None = None
) -> Tensor:
    fourier = dft_twiddle(n, unitary=unitary, decreasing=True, dtype=EXACT)[None]
    moves = [] if permutation is None else [permutation_blocks(permutation, dtype=EXACT)]
    rest = depth - 1 - 2 * len(moves)
    if rest < 0:
        raise ValueError(f"a permutation and a Fourier transform need depth ≥ 3, got depth {depth}")
    return torch.cat([identity_blocks(n, rest, dtype=EXACT), *moves, fourier])


def _permuted(axes, depth: int, permutations, *, unitary: bool) -> tuple[Tensor, ...]:
    return tuple(
        _fourier_last(axis.n, depth, unitary=unitary, permutation=v)
        for axis, v in zip(axes, permutations, strict=True)
    )


def _permutation(n: int, targets: Tensor, sources: Tensor) -> Tensor:
    """A permutation v of n points with v[targets] = sources; the others keep their order."""
    v = torch.empty(n, dtype=torch.long)
    v[targets] = sources
    free = torch.ones(2, n, dtype=torch.bool)
    free[0, targets], free[1, sources] = False, False
    v[free[0]] = torch.arange(n)[free[1]]
    return v


def _only(blocks: Tensor, axis: GridAxis, active: Tensor) -> Tensor:
    """L diag(mask): the taps that are not active do not enter."""
    mask = torch.ones(axis.n)
    mask[axis.taps()] = active.float()
    decreasing = bool(len(blocks) % 2)  # the order of the first block, the last being decreasing
    first = scale_input(blocks[0], mask, decreasing=decreasing)
    return torch.cat([first[None], blocks[1:]])


def _spectrum(axes, filters) -> Tensor:
    """F of a separable filter placed on the taps, in the (bit-reversed) order of the modes."""
    product = torch.ones((), dtype=EXACT)
    for axis, taps in zip(axes, filters, strict=True):
        placed = torch.zeros(axis.n, dtype=torch.float64).index_add(0, axis.taps(), taps)
        spectrum = torch.fft.fft(placed)[bit_reversal(axis.n)]
        product = product[..., None] * spectrum
    return product


def _channel_identity(channels: tuple[int, int]) -> Tensor:
    out_channels, in_channels = channels
    return torch.eye(out_channels, in_channels, dtype=EXACT)
