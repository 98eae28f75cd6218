"""From convolutions and pools to mixtures of the eight operations that start near them."""

import torch
from torch import Tensor, nn

from .axes import padding_pairs
from .convert import keep_parameters
from .convolution import Convolution
from .discrete import TAPS, UNIFORM, Discrete
from .operator import as_tuple
from .torch_layers import (
    AVERAGE_POOLS,
    check_average_pool,
    check_convolution,
    effective_weight,
)

MAX_POOLS = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)


def discrete_from_layer(layer: nn.Module, x: Tensor, *, perturb: float = UNIFORM) -> Discrete:
    """The mixture that begins near a convolution, Convolution or pool whose input is `x`.

    It is near the operation of the eight that is nearest to the layer, which is the layer itself
    for convolutions of 3 or 5 taps an axis and dilation 1 or 2; longer kernels keep their 5 middle
    taps.

    >>> conv = nn.Conv2d(3, 8, 3, padding=1)
    >>> x = torch.randn(2, 3, 8, 8)
    >>> layer = discrete_from_layer(conv, x, perturb=0.1).choose("conv3")
    >>> torch.allclose(layer(x), conv(x), atol=1e-5)
    True
    """
    if isinstance(layer, (*MAX_POOLS, *AVERAGE_POOLS)):
        return _from_pool(layer, x, perturb)
    conv = layer.as_torch() if isinstance(layer, Convolution) else layer
    check_convolution(conv)
    start = _nearest(conv)
    pairs = padding_pairs(conv.padding, conv.kernel_size, conv.dilation)
    spans = [d * (k - 1) for k, d in zip(conv.kernel_size, conv.dilation, strict=True)]
    weight = effective_weight(conv).detach()
    new = Discrete(
        conv.in_channels,
        conv.out_channels,
        margins=_margins(pairs, spans),
        stride=conv.stride,
        circular=(conv.padding_mode == "circular",) * len(spans),
        groups=conv.groups,
        bias=conv.bias is not None,
        start=start,
        perturb=perturb,
    ).to(weight.device, weight.dtype)
    _put_taps(new, weight)
    keep_parameters(new, conv)
    return new.train(conv.training)


def _from_pool(pool: nn.Module, x: Tensor, perturb: float) -> Discrete:
    axes = x.ndim - 2
    if isinstance(pool, AVERAGE_POOLS):
        check_average_pool(pool)
    elif pool.return_indices or set(as_tuple(pool.dilation, axes, "dilation")) != {1}:
        raise ValueError("a max pool with dilation or return_indices=True is none of the eight")
    if pool.ceil_mode:
        raise ValueError("with ceil_mode=True windows leave the grid; use ceil_mode=False")
    facts = {name: getattr(pool, name) for name in ("kernel_size", "stride", "padding")}
    kernel, stride, padding = (as_tuple(value, axes, name) for name, value in facts.items())
    new = Discrete(
        x.shape[1],
        x.shape[1],
        margins=_margins([(p, p) for p in padding], [k - 1 for k in kernel]),
        stride=stride,
        start="max3" if isinstance(pool, MAX_POOLS) else "mean3",
        perturb=perturb,
    )
    return new.to(x.device, x.dtype).train(pool.training)


def _nearest(conv: nn.Module) -> str:
    """The operation that a convolution is, or is nearest to."""
    kernels, dilations = set(conv.kernel_size), set(conv.dilation)
    if len(kernels) > 1 or len(dilations) > 1 or dilations - {1, 2} or min(kernels) % 2 == 0:
        raise ValueError(
            f"kernel_size={conv.kernel_size}, dilation={conv.dilation} is far from all eight: "
            "they have an odd number of taps, the same on every axis, and dilation 1 or 2"
        )
    if kernels == {1}:
        raise ValueError("a point-wise convolution mixes channels only, which none of the eight is")
    return f"{'conv' if dilations == {1} else 'dilated'}{min(*kernels, TAPS)}"


def _margins(pairs, spans) -> tuple[tuple[int, int], ...]:
    """Padding (left, right) of windows of these spans, as that of their centres."""
    return tuple((a - s // 2, b - (s - s // 2)) for (a, b), s in zip(pairs, spans, strict=True))


def _put_taps(layer: Discrete, weight: Tensor) -> None:
    """The middle of `weight` into the middle of the layer's taps."""
    k = weight.shape[-1]
    cut, into = max(k - TAPS, 0) // 2, max(TAPS - k, 0) // 2
    middle = weight[(..., *[slice(cut, k - cut)] * layer.axes)]
    with torch.no_grad():
        layer.weight[(..., *[slice(into, TAPS - into)] * layer.axes)] = middle
