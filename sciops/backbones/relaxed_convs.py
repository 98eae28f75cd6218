"""Convolutions of a network on images or maps, as they are or relaxed into XD operations.

conv, dilated   as it is
xd-grid         XD as published, of one grid only; starts as the convolution
xd-hybrid       the convolution with a band-limited XD beside it, which starts at zero
"""

from collections.abc import Callable

from torch import Tensor, nn

from sciops.operators import XD, AbstractOperator
from sciops.operators.hybrid import Hybrid
from sciops.suggestions import meant_option

Size = tuple[int, ...]


def _as_it_is(conv: nn.Conv2d, size: Size) -> nn.Module:
    return conv


def _xd_grid(conv: nn.Conv2d, size: Size, *, k_depth=1) -> AbstractOperator:
    return XD.from_conv(conv, size, depth=k_depth)


def _xd_hybrid(conv: nn.Conv2d, size: Size, *, k_depth=1, **options) -> AbstractOperator:
    whole = conv.padding_mode == "circular"
    return Hybrid(conv, length=None if whole else size, depth=k_depth, **options)


RELAXED: dict[str, Callable[..., nn.Module]] = {
    "conv": _as_it_is,
    "dilated": _as_it_is,
    "xd-grid": _xd_grid,
    "xd-hybrid": _xd_hybrid,
}


def relaxed(op: str, conv: nn.Conv2d, size: Size, options: dict, *owners: Callable) -> nn.Module:
    """The layer that `op` makes of a convolution on windows of this size.

    options: of the XD operations: `k_depth`, the depth of their K-matrices; those of `Hybrid`
    owners:  what has options too, the network that it is in
    """
    try:
        return RELAXED[op](conv, size, **options)
    except TypeError as error:
        hint = meant_option(error, *owners, RELAXED[op], Hybrid)
        raise ValueError(f"op={op!r} does not take these options: {error}{hint}") from None


def applied(layer: nn.Module, h: Tensor, coords: tuple[Tensor, ...] | None) -> Tensor:
    """What the layer makes of h; the points are for those that know of points."""
    return layer(h, coords) if isinstance(layer, Hybrid) else layer(h)
