"""Torch's convolutions and average pools as we meet them in other people's networks.

Checks that such a layer is the linear map its class promises (no forward of its own, no hooks, no
unknown parametrization), with errors that say what to do, and reads its weights through weight
norm, w = g v / ‖v‖, in both of torch's implementations.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrizations, parametrize
from torch.nn.utils.weight_norm import WeightNorm

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
AVERAGE_POOLS = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
DTYPES = (torch.float32, torch.float64)


class Normed(NamedTuple):
    """Weight norm with one norm for each index of axis `dim`, or one for all if it is −1."""

    dim: int
    g: nn.Parameter
    v: nn.Parameter

    def weight(self) -> Tensor:
        return torch._weight_norm(self.v, self.g, self.dim)


def weight_norm_of(layer: nn.Module) -> Normed | None:
    """The weight norm of a layer, be it torch's parametrization or the older hook."""
    if parametrize.is_parametrized(layer, "weight"):
        pair = layer.parametrizations.weight
        return Normed(pair[0].dim, pair.original0, pair.original1)
    for hook in layer._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm):
            return Normed(hook.dim, layer.weight_g, layer.weight_v)
    return None


def effective_weight(conv: nn.Module) -> Tensor:
    """The weights a layer computes with; the older weight norm leaves `conv.weight` outdated."""
    normed = weight_norm_of(conv)
    return conv.weight if normed is None else normed.weight()


def copy_weight_norm(normed: Normed, layer: nn.Module) -> None:
    """Give `layer` the same weight norm; g and v as well unless its weight has another shape."""
    parametrizations.weight_norm(layer, "weight", dim=normed.dim)
    own = weight_norm_of(layer)
    with torch.no_grad():
        for new, old in zip(own[1:], normed[1:], strict=True):
            new.requires_grad_(old.requires_grad)
            if own.v.shape == normed.v.shape:
                new.copy_(old)


def check_convolution(conv: nn.Module) -> None:
    """Raise a TypeError or ValueError that says why `conv` cannot become an XD operation."""
    _check_plain(conv, CONVOLUTIONS)
    if conv.padding_mode not in ("zeros", "circular"):
        raise ValueError(
            f"padding_mode={conv.padding_mode!r} is no convolution; use 'zeros' or 'circular', "
            "or pad the input before a conv with padding=0"
        )
    _check_parametrizations(conv)
    dtype = effective_weight(conv).dtype
    if dtype not in DTYPES:
        raise ValueError(
            f"XD computes in float32 or float64, the conv in {dtype}; use conv.float()"
        )


def check_average_pool(pool: nn.Module) -> int:
    """Raise a TypeError or ValueError if `pool` is none; returns its number of spatial axes."""
    kind = _check_plain(pool, AVERAGE_POOLS)
    return AVERAGE_POOLS.index(kind) + 1


def _check_plain(layer: nn.Module, kinds: tuple[type[nn.Module], ...]) -> type[nn.Module]:
    """The one of `kinds` that `layer` is; not with a forward of its own, nor with hooks."""
    kind = next((k for k in kinds if isinstance(layer, k)), None)
    if kind is None:
        known = ", ".join(f"nn.{k.__name__}" for k in kinds)
        raise TypeError(f"expected one of {known}, got {type(layer).__name__}")
    if any(is_lazy(p) for p in layer.parameters()):
        raise ValueError(f"{type(layer).__name__} has no weights yet; run the model once first")
    methods = ("forward", "_conv_forward") if kind in CONVOLUTIONS else ("forward",)
    inherited = all(getattr(type(layer), name) is getattr(kind, name) for name in methods)
    if not inherited or "forward" in vars(layer):
        raise ValueError(
            f"{type(layer).__name__} has a forward of its own, which may be any function; "
            f"use a plain nn.{kind.__name__} and do the rest in a module around it"
        )
    hooks = [*layer._forward_pre_hooks.values(), *layer._forward_hooks.values()]
    foreign = [h for h in hooks if not (isinstance(h, WeightNorm) and h.name == "weight")]
    if foreign:
        raise ValueError(
            f"the layer has a forward hook, {foreign[0]!r}, which may change what it computes; "
            "remove it first"
        )
    return kind


def _check_parametrizations(conv: nn.Module) -> None:
    if not parametrize.is_parametrized(conv):
        return
    for name, steps in conv.parametrizations.items():
        kinds = [type(step) for step in steps]
        if name != "weight" or kinds != [parametrizations._WeightNorm]:
            raise ValueError(
                f"{name!r} is parametrized by {', '.join(k.__name__ for k in kinds)}; XD keeps a "
                "weight norm of 'weight' and nothing else, so call "
                f"torch.nn.utils.parametrize.remove_parametrizations(conv, {name!r}) first"
            )
