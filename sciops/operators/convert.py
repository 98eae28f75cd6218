"""Torch's own layers as XD operations that start as the same function.

    conv(x) = Re( K diag(L w) M x ) + bias       K = F⁻¹, L = F, M = F       grid frame, every pixel
    mean(x) = Re( K diag(b) M x )                L = 0, b = F box, C = id    average pooling

A larger kernel ("max kernel size" of Roberts et al. 2021, arXiv:2103.15798) holds the layer's own
taps in its middle.  In the grid frame the others are drawn at random and L is blind to them until
it learns to see them; in the band frame, where L acts on modes, they start at zero.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from . import special
from .axes import GridAxis, padding_pairs
from .band_options import band_grid, band_period
from .operator import as_tuple
from .torch_layers import (
    check_average_pool,
    check_convolution,
    copy_weight_norm,
    effective_weight,
    weight_norm_of,
)
from .xd import XD


def xd_from_conv(conv: nn.Module, size, *, kernel_size=None, frame: str = "grid", **options) -> XD:
    """The XD operation that starts as `conv` (nn.Conv1d, Conv2d or Conv3d) on grids of this `size`.

    frame="grid" is the same function at every pixel, "band" its band-limited version.  Weight norm
    is kept.  `kernel_size` may be larger than the conv's; the other options are those of XD.

    >>> conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
    >>> x = torch.randn(2, 3, 9, 12)
    >>> torch.allclose(xd_from_conv(conv, (9, 12))(x), conv(x), atol=1e-5)
    True
    """
    check_convolution(conv)
    kernel = _enlarged(conv.kernel_size, kernel_size)
    axes = _axes(conv, as_tuple(size, len(kernel), "size"))
    if frame not in PLACES:
        raise ValueError(f"a convolution becomes an XD of frame 'grid' or 'band', got {frame!r}")
    offset, options = PLACES[frame](axes, kernel, options)
    shared = {n: getattr(conv, n) for n in ("stride", "dilation", "groups", "padding_mode")}
    shared |= {"frame": frame, "weights": "taps", "bias": conv.bias is not None}
    with torch.random.fork_rng(devices=[]):  # these random weights are not used
        layer = XD(conv.in_channels, conv.out_channels, kernel, **shared, **options)
    if frame == "grid":
        _start_blind(layer, offset, conv.kernel_size, _depth(options))
    weight = effective_weight(conv).detach()
    _fill(layer.to(weight.device, weight.dtype), weight, offset)
    keep_parameters(layer, conv)
    return layer.train(conv.training)


def xd_from_avg_pool(
    pool: nn.Module, size, channels: int, *, frame="grid", dtype=None, device=None, **options
) -> XD:
    """The grid-frame XD operation that starts as `pool` (nn.AvgPool1d, AvgPool2d or AvgPool3d).

    It has weights, for all pairs of channels, which L starts blind to.

    >>> x = torch.randn(2, 3, 8, 10)
    >>> layer = xd_from_avg_pool(nn.AvgPool2d(2), (8, 10), channels=3)
    >>> torch.allclose(layer(x), nn.functional.avg_pool2d(x, 2), atol=1e-5)
    True
    """
    ndim = check_average_pool(pool)
    if frame != "grid":
        raise ValueError(f"average pooling is an XD of frame='grid' only, got {frame!r}")
    kernel = as_tuple(pool.kernel_size, ndim, "kernel_size")
    options = {"arch_bias": True, "gates": True} | options
    shared = {"frame": frame, "size": size, "stride": pool.stride, "padding": pool.padding}
    layer = XD(channels, channels, kernel, padding_mode="zeros", **shared, **options)
    axes = layer.frame.axes
    _check_windows(pool, axes)
    maps = special.average_pooling(axes, _depth(options), (channels, channels))
    divisor = None if ndim == 1 else pool.divisor_override
    if divisor:
        maps = replace(maps, arch_bias=maps.arch_bias * (math.prod(kernel) / divisor))
    return layer.to(device, dtype).set_maps(maps).train(pool.training)


# --- where the taps lie ---------------------------------------------------------------------------


def _axes(conv: nn.Module, size: tuple[int, ...]) -> tuple[GridAxis, ...]:
    pairs = padding_pairs(conv.padding, conv.kernel_size, conv.dilation)
    per_axis = zip(size, conv.kernel_size, conv.stride, conv.dilation, pairs, strict=True)
    circular = conv.padding_mode == "circular"
    return tuple(GridAxis(n, k, s, d, *pair, circular) for n, k, s, d, pair in per_axis)


def _enlarged(kernel: tuple[int, ...], wanted) -> tuple[int, ...]:
    wanted = kernel if wanted is None else as_tuple(wanted, len(kernel), "kernel_size")
    if any(w < k for w, k in zip(wanted, kernel, strict=True)):
        raise ValueError(
            f"kernel_size={wanted} is smaller than the conv's own {kernel}; "
            "taps can be added, not removed"
        )
    return wanted


def _grid_place(axes: Sequence[GridAxis], kernel: tuple[int, ...], options: dict):
    """Where in `kernel` the conv's taps go, and the options of XD that keep them in place."""
    offset = tuple((k - axis.kernel) // 2 for k, axis in zip(kernel, axes, strict=True))
    padding = tuple(
        (axis.left + axis.dilation * o, axis.right + axis.dilation * (k - axis.kernel - o))
        for axis, k, o in zip(axes, kernel, offset, strict=True)
    )
    return offset, dict(size=tuple(axis.size for axis in axes), padding=padding, **options)


def _band_place(axes: Sequence[GridAxis], kernel: tuple[int, ...], options: dict):
    for a, axis in enumerate(axes):
        centred = axis.left == axis.dilation * (axis.kernel - 1) // 2
        if not centred or axis.n_out != -(-axis.size // axis.stride):
            raise ValueError(
                f"the band frame keeps the grid, but axis {a} has padding "
                f"({axis.left}, {axis.right}) for {axis.kernel} taps of dilation {axis.dilation}; "
                "use padding='same' or frame='grid'"
            )
    offset = tuple(_band_offset(axis, k) for k, axis in zip(kernel, axes, strict=True))
    options = {"grid": "periodic" if axes[0].circular else "closed", "spacing": None} | options
    learn = isinstance(options["spacing"], str) and options["spacing"] == "learned"
    if learn or options["spacing"] is None:
        spacing = _point_distances(axes, options["grid"], options.get("period"))
        options["spacing"] = nn.Parameter(torch.tensor(spacing)) if learn else spacing
    return offset, options


def _band_offset(axis: GridAxis, kernel: int) -> int:
    """How many taps come before the conv's own, if the larger kernel is to be centred as well."""
    d = axis.dilation
    offset, between = divmod(d * (kernel - 1) // 2 - d * (axis.kernel - 1) // 2, d)
    if between:
        raise ValueError(
            f"{kernel} taps of dilation {d} do not hold the conv's {axis.kernel} in their middle; "
            "make the kernel sizes both odd or both even"
        )
    return offset


def _point_distances(axes: Sequence[GridAxis], grid, period) -> tuple[float, ...]:
    """The distance of neighbouring points of the band frame's grid."""
    if any(axis.size < 2 for axis in axes):
        sizes = tuple(axis.size for axis in axes)
        raise ValueError(f"the band frame needs two points or more on every axis, got size={sizes}")
    grid = band_grid(grid, len(axes))
    per_axis = zip(axes, grid, band_period(period, grid), strict=True)
    return tuple(p / a.size if g == "periodic" else 1 / (a.size - 1) for a, g, p in per_axis)


PLACES = {"grid": _grid_place, "band": _band_place}


# --- the start ------------------------------------------------------------------------------------


def _depth(options: dict) -> tuple[int, int, int]:
    return as_tuple(options.get("depth", 1), 3, "depth")


def _start_blind(layer: XD, offset, own: tuple[int, ...], depth: tuple[int, int, int]) -> None:
    """Make L blind to all taps but `own` ones from `offset` on."""
    if layer.kernel_size == own:
        return
    active = [torch.zeros(k, dtype=torch.bool) for k in layer.kernel_size]
    for mask, first, k in zip(active, offset, own, strict=True):
        mask[first : first + k] = True
    layer.set_maps(special.convolution(layer.frame.axes, depth, active=active))


def _fill(layer: XD, weight: Tensor, offset: tuple[int, ...]) -> None:
    """Put `weight` among the layer's taps; the others are random where L is blind, else zero."""
    if layer.weight.shape != weight.shape:
        blind = layer.resolution != "any"
        nn.init.kaiming_normal_(layer.weight) if blind else nn.init.zeros_(layer.weight)
    middle = [slice(o, o + k) for o, k in zip(offset, weight.shape[2:], strict=True)]
    with torch.no_grad():
        layer.weight[(slice(None), slice(None), *middle)] = weight


def keep_parameters(layer: nn.Module, conv: nn.Module) -> None:
    """Give `layer` the conv's bias, weight norm, and which of the weights are frozen."""
    if conv.bias is not None:
        with torch.no_grad():
            layer.bias.copy_(conv.bias)
        layer.bias.requires_grad_(conv.bias.requires_grad)
    normed = weight_norm_of(conv)
    if normed is None:
        layer.weight.requires_grad_(conv.weight.requires_grad)
    else:
        copy_weight_norm(normed, layer)


def _check_windows(pool: nn.Module, axes: Sequence[GridAxis]) -> None:
    if not pool.count_include_pad and any(axis.left for axis in axes):
        raise ValueError(
            "with count_include_pad=False the mean at the border is over fewer points, which is no "
            "convolution; use count_include_pad=True or padding=0"
        )
    for axis in axes:
        windows = -(-(axis.size + 2 * axis.left - axis.kernel) // axis.stride) + 1
        windows -= (windows - 1) * axis.stride >= axis.size + axis.left
        if pool.ceil_mode and windows != axis.n_out:
            raise ValueError(
                f"with ceil_mode=True the last of {windows} windows leaves the grid of {axis.size} "
                "points, which is no convolution; use ceil_mode=False or pad the input"
            )
