"""Torch's own layers as XD operations that start as the same function.

    conv(x) = Re( K diag(L w) M x ) + bias       K = F⁻¹, L = F, M = F       grid frame, every pixel
    mean(x) = Re( K diag(b) M x )                L = 0, b = F box, C = id    average pooling

A larger kernel ("max kernel size" of Roberts et al. 2021, arXiv:2103.15798) holds the layer's own taps
in its middle.  In the grid frame the others are drawn at random and L is blind to them until it
learns to see them; in the band frame, where L acts on modes, they start at zero.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrizations, parametrize
from torch.nn.utils.weight_norm import WeightNorm

from . import special
from .axes import GridAxis, padding_pairs
from .butterfly import bit_reversal, dft_twiddle
from .operator import as_tuple
from .xd import XD, band_grid, band_period

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
AVERAGE_POOLS = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
DTYPES = (torch.float32, torch.float64)


def xd_from_conv(conv: nn.Module, size, *, kernel_size=None, frame: str = "grid", **options) -> XD:
    """The XD operation that starts as `conv` (nn.Conv1d, Conv2d or Conv3d) on inputs of this `size`.

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
    shared |= dict(frame=frame, weights="taps", bias=conv.bias is not None)
    with torch.random.fork_rng(devices=[]):  # these random weights are not used
        layer = XD(conv.in_channels, conv.out_channels, kernel, **shared, **options)
    if frame == "grid" and kernel != conv.kernel_size:
        active = [torch.zeros(n, dtype=torch.bool) for n in kernel]
        for mask, first, axis in zip(active, offset, axes, strict=True):
            mask[first : first + axis.kernel] = True
        layer.set_maps(special.convolution(layer.frame.axes, _depth(options), active=active))
    weight = effective_weight(conv)
    _refine(layer.to(weight.dtype))
    _fill(layer.to(weight.device), weight, offset)
    _keep_parameters(layer, conv)
    return layer.train(conv.training)


def xd_from_avg_pool(
    pool: nn.Module, size, channels: int, *, frame="grid", dtype=None, device=None, **options
) -> XD:
    """The grid-frame XD operation that starts as `pool` (nn.AvgPool1d, AvgPool2d or AvgPool3d).

    Its weights are drawn as those of a convolution of all channels; L starts blind to them.
    """
    if not isinstance(pool, AVERAGE_POOLS):
        raise TypeError(f"expected {_names(AVERAGE_POOLS)}, got {type(pool).__name__}")
    _check_plain(pool, AVERAGE_POOLS)
    if frame != "grid":
        raise ValueError(f"average pooling is an XD of frame 'grid' only, got {frame!r}")
    ndim = AVERAGE_POOLS.index(_kind(pool, AVERAGE_POOLS)) + 1
    kernel = as_tuple(pool.kernel_size, ndim, "kernel_size")
    options = dict(arch_bias=True, gates=True, padding_mode="zeros") | options
    layer = XD(
        channels, channels, kernel, frame=frame, size=size, stride=pool.stride, padding=pool.padding, **options
    )
    axes = layer.frame.axes
    _check_windows(pool, axes)
    maps = special.average_pooling(axes, _depth(options), (channels, channels))
    spectrum = _box_spectrum(axes) * (math.prod(kernel) / _divisor(pool, kernel))
    layer.to(dtype).set_maps(replace(maps, arch_bias=spectrum))
    _refine(layer)
    return layer.to(device).train(pool.training)


# --- what can be converted ------------------------------------------------------------------------


def check_convolution(conv: nn.Module) -> None:
    """Raise a TypeError or ValueError that says why `conv` cannot become an XD operation."""
    if not isinstance(conv, CONVOLUTIONS):
        raise TypeError(f"expected {_names(CONVOLUTIONS)}, got {type(conv).__name__}")
    _check_plain(conv, CONVOLUTIONS)
    if conv.padding_mode not in ("zeros", "circular"):
        raise ValueError(
            f"padding_mode={conv.padding_mode!r} is no convolution; use 'zeros' or 'circular', "
            "or pad the input before a conv with padding=0"
        )
    if parametrize.is_parametrized(conv):
        for name, steps in conv.parametrizations.items():
            kinds = [type(step) for step in steps]
            if name != "weight" or kinds != [parametrizations._WeightNorm]:
                raise ValueError(
                    f"{name} is parametrized by {', '.join(k.__name__ for k in kinds)}, but XD keeps only "
                    "a weight norm of weight; use parametrize.remove_parametrizations first"
                )
    weight = effective_weight(conv)
    if is_lazy(weight):
        raise ValueError("the conv is lazy and has no weights yet; run the model once first")
    if weight.dtype not in DTYPES:
        raise ValueError(f"XD computes in float32 or float64, got {weight.dtype}; use conv.float()")


def _check_plain(layer: nn.Module, kinds: tuple[type, ...]) -> None:
    """A subclass with its own forward, or a hook, makes it another function."""
    kind = _kind(layer, kinds)
    own = [n for n in ("forward", "_conv_forward") if getattr(type(layer), n, None) is not getattr(kind, n, None)]
    if own or "forward" in vars(layer):
        raise ValueError(
            f"{type(layer).__name__} has its own forward, which may be any function; "
            f"use a plain nn.{kind.__name__} and a module around it"
        )
    hooks = [*layer._forward_pre_hooks.values(), *layer._forward_hooks.values()]
    foreign = [h for h in hooks if not isinstance(h, WeightNorm)]
    if foreign:
        raise ValueError(
            f"the layer has the forward hook {foreign[0]!r}, which may change its function; remove it first"
        )


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
                f"with ceil_mode=True the last of {windows} windows leaves the grid of {axis.size} points, "
                "which is no convolution; use ceil_mode=False or pad the input"
            )


def _enlarged(kernel: tuple[int, ...], wanted) -> tuple[int, ...]:
    wanted = kernel if wanted is None else as_tuple(wanted, len(kernel), "kernel_size")
    if any(w < k for w, k in zip(wanted, kernel, strict=True)):
        raise ValueError(
            f"kernel_size={wanted} is smaller than the conv's own {kernel}; use at least that, or None"
        )
    return wanted


# --- where the taps lie ---------------------------------------------------------------------------


def _axes(conv: nn.Module, size: tuple[int, ...]) -> tuple[GridAxis, ...]:
    pairs = padding_pairs(conv.padding, conv.kernel_size, conv.dilation)
    per_axis = zip(size, conv.kernel_size, conv.stride, conv.dilation, pairs, strict=True)
    circular = conv.padding_mode == "circular"
    return tuple(GridAxis(n, k, s, d, *pair, circular) for n, k, s, d, pair in per_axis)


def _grid_place(axes: Sequence[GridAxis], kernel: tuple[int, ...], options: dict):
    """Offset of the conv's taps in `kernel`, and the options that leave them where they were."""
    offset = tuple((k - axis.kernel) // 2 for k, axis in zip(kernel, axes, strict=True))
    padding = tuple(
        (axis.left + axis.dilation * o, axis.right + axis.dilation * (k - axis.kernel - o))
        for axis, k, o in zip(axes, kernel, offset, strict=True)
    )
    return offset, options | dict(size=tuple(axis.size for axis in axes), padding=padding)


def _band_place(axes: Sequence[GridAxis], kernel: tuple[int, ...], options: dict):
    for a, axis in enumerate(axes):
        centred = axis.left == axis.dilation * ((axis.kernel - 1) // 2)
        if not centred or axis.n_out != -(-axis.size // axis.stride):
            raise ValueError(
                f"the band frame keeps the grid, but axis {a} has padding ({axis.left}, {axis.right}) for "
                f"{axis.kernel} taps of dilation {axis.dilation}; use padding='same' or frame='grid'"
            )
    offset = tuple((k - 1) // 2 - (axis.kernel - 1) // 2 for k, axis in zip(kernel, axes, strict=True))
    options = dict(grid="periodic" if axes[0].circular else "closed") | options
    if options.get("spacing") in (None, "learned"):
        spacing = _point_distances(axes, options)
        learn = options.get("spacing") == "learned"
        options["spacing"] = nn.Parameter(torch.tensor(spacing)) if learn else spacing
    return offset, options


def _point_distances(axes: Sequence[GridAxis], options: dict) -> tuple[float, ...]:
    grid = band_grid(options["grid"], len(axes))
    period = band_period(options.get("period"), grid)
    if any(axis.size < 2 for axis in axes):
        raise ValueError(f"the band frame needs ≥ 2 points per axis, got {[a.size for a in axes]}")
    per_axis = zip(axes, grid, period, strict=True)
    return tuple(p / a.size if g == "periodic" else 1 / (a.size - 1) for a, g, p in per_axis)


PLACES = {"grid": _grid_place, "band": _band_place}


# --- parameters -----------------------------------------------------------------------------------


class Normed(NamedTuple):
    """Weight norm: w = g v / ‖v‖, with one norm for each index of axis `dim` (−1: one for all)."""

    dim: int
    g: nn.Parameter
    v: nn.Parameter


def weight_norm_of(conv: nn.Module) -> Normed | None:
    """The weight norm of a layer, be it torch's parametrization or the older hook."""
    if parametrize.is_parametrized(conv, "weight"):
        pair = conv.parametrizations.weight
        return Normed(pair[0].dim, pair.original0, pair.original1)
    for hook in conv._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == "weight":
            return Normed(hook.dim, conv.weight_g, conv.weight_v)
    return None


def effective_weight(conv: nn.Module) -> Tensor:
    """The weights a layer computes with; the older weight norm leaves an outdated `conv.weight`."""
    normed = weight_norm_of(conv)
    return conv.weight if normed is None else torch._weight_norm(normed.v, normed.g, normed.dim)


def _fill(layer: XD, weight: Tensor, offset: tuple[int, ...]) -> None:
    """Put `weight` into the middle of the layer's; what is around it: see the module's docstring."""
    if layer.weight.shape != weight.shape:
        nn.init.kaiming_normal_(layer.weight) if layer.frame is None else nn.init.zeros_(layer.weight)
    middle = [slice(o, o + k) for o, k in zip(offset, weight.shape[2:], strict=True)]
    with torch.no_grad():
        layer.weight[(slice(None), slice(None), *middle)] = weight


def _kind(layer: nn.Module, kinds: tuple[type, ...]) -> type:
    return next(kind for kind in kinds if isinstance(layer, kind))
