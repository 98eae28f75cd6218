"""Any CNN as a search space: its convolutions become learnable operations, its function stays.

    relaxed = relax(model, sample_input)          relaxed(x) = model(x), up to rounding

One forward pass over the sample finds the grid each layer works on.  The new model is a copy in
which every reference to a chosen layer, wherever the model keeps it, leads to the layer's relaxed
version; parameters that layers share stay shared.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from torch import Tensor, nn

from sciops.operators.convert import xd_from_avg_pool, xd_from_conv
from sciops.operators.operator import AbstractOperator, as_tuple
from sciops.operators.torch_layers import AVERAGE_POOLS, CONVOLUTIONS
from sciops.suggestions import did_you_mean

from .relaxation import ATTRIBUTE, Relaxation, Row, relaxation_of
from .tracing import Seen, copy_model, distance, run, trace

TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
MAX_POOLS = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
ADAPTIVE_POOLS = (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)
LEFT_ALONE = {  # kinds of layers → why they are never changed
    (AbstractOperator,): "it is an operator of sciops already",
    TRANSPOSED: "transposed convolutions are not converted",
    MAX_POOLS: "max is not linear",
    ADAPTIVE_POOLS: "its windows depend on the grid; use an AvgPool of a fixed kernel_size",
}

Layers = Callable[[str, nn.Module], bool] | Sequence[str] | None


def relax(
    model: nn.Module,
    sample_input: Tensor | tuple,
    op: str = "xd",
    *,
    layers: Layers = None,
    pooling: bool = False,
    frame: str = "grid",
    depth: int | tuple[int, int, int] = 1,
    kernel_size: int | tuple[int, ...] | None = None,
    verbose: bool = True,
    **options,
) -> nn.Module:
    """Turn any CNN into a search space: a new model, same function, its convolutions learnable.

    The given model is left as it is.  Layers that cannot be changed are kept; which, and why, is
    printed, and kept as a table in `sciops.relaxation_report(relaxed)`.

    Args:
        sample_input: a typical input, or the tuple of arguments of the model.
        layers: which ones: names, patterns ("block1.*"), or a function (name, module) -> bool.
        pooling: change nn.AvgPool layers too.
        frame: "grid", for the grids of the sample only, or "band", for all of them (see XD).
        depth: of the K-matrices.
        kernel_size: smaller kernels grow to this; the new taps are not seen at the start.
        verbose: print what was changed and how far it moved.
        options: of the operation, such as `arch_bias=True, gates=True`.

    Returns:
        The relaxed model; `sciops.arch_parameters` gives what a search learns in it.

    Example:
        >>> import torch
        >>> lenet = nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.Conv2d(6, 16, 5))
        >>> relaxed = relax(lenet, torch.randn(1, 1, 28, 28), kernel_size=7, verbose=False)
        >>> type(relaxed[0]).__name__, type(lenet[0]).__name__
        ('XD', 'Conv2d')
    """
    _check(model, op, frame)
    make = partial(OPERATIONS[op], frame=frame, depth=depth, kernel_size=kernel_size, **options)
    relaxed = change_layers(
        model,
        sample_input,
        lambda name, layer, x: make(layer, x),
        op=op,
        layers=layers,
        kinds=(*CONVOLUTIONS, *AVERAGE_POOLS) if pooling else CONVOLUTIONS,
        one_grid=frame == "grid",
    )
    if verbose:
        print(relaxation_of(relaxed))
    return relaxed


Make = Callable[[str, nn.Module, Tensor], nn.Module]  # name of a layer, layer, its input


def change_layers(
    model: nn.Module,
    sample_input: Tensor | tuple,
    make: Make,
    *,
    op: str,
    layers: Layers = None,
    kinds: tuple[type[nn.Module], ...] = CONVOLUTIONS,
    one_grid: bool = True,
) -> nn.Module:
    """A copy of a model whose layers of these kinds are what `make` makes of them.

    What happened to each layer is in `relaxation_of(changed)`; a ValueError of `make` leaves the
    layer as it is and is the reason given there.

    op: name of what the layers become
    one_grid: leave layers that work on grids of several sizes
    """
    inputs = sample_input if isinstance(sample_input, tuple) else (sample_input,)
    places = _places(model, kinds)
    chosen = _chosen(places, layers)
    seen, output = trace(model, {id(layer) for _, layer in places}, inputs)
    replaced: dict[int, Any] = {}
    done: dict[int, Row] = {}
    for name, layer in places:
        if id(layer) not in done:
            check = partial(_check_convertible, chosen=chosen, kinds=kinds, one_grid=one_grid)
            named = partial(make, name)
            done[id(layer)] = _convert(layer, seen.get(id(layer)), check, named, replaced)
    rows = tuple(replace(done[id(layer)], name=name) for name, layer in places)
    _check_some_changed(rows)
    changed = copy_model(model, replaced)
    moved = distance(run(copy_model(changed), inputs), output)
    setattr(changed, ATTRIBUTE, Relaxation(op, rows, moved))
    return changed


def to_xd(layer: nn.Module, x: Tensor, *, frame: str, kernel_size, **options) -> nn.Module:
    """The XD operation of a convolution or average pool whose input is `x`."""
    size = tuple(x.shape[2:])
    if isinstance(layer, AVERAGE_POOLS):
        like = {"dtype": x.dtype, "device": x.device}
        return xd_from_avg_pool(layer, size, x.shape[1], frame=frame, **like, **options)
    if x.ndim != len(layer.kernel_size) + 2:
        raise ValueError(f"called without a batch axis, on {tuple(x.shape)}; add one with x[None]")
    if kernel_size is not None:
        wanted = as_tuple(kernel_size, len(layer.kernel_size), "kernel_size")
        kernel_size = tuple(map(max, wanted, layer.kernel_size))
    return xd_from_conv(layer, size, frame=frame, kernel_size=kernel_size, **options)


OPERATIONS = {"xd": to_xd}  # op → (layer, its input, **options) -> the relaxed layer


def _check(model: nn.Module, op: str, frame: str) -> None:
    if op not in OPERATIONS:
        raise ValueError(
            f"op={op!r} is not known; choose one of {', '.join(OPERATIONS)}"
            f"{did_you_mean(op, OPERATIONS)}"
        )
    if not isinstance(model, nn.Module):
        raise TypeError(f"expected an nn.Module, got {type(model).__name__}")
    if frame not in ("grid", "band"):
        raise ValueError(f"frame={frame!r} is not known; choose 'grid' or 'band'")


def _places(model: nn.Module, kinds: tuple) -> list[tuple[str, nn.Module]]:
    """Name and layer, for all layers that are or resemble what can be changed."""
    pools = any(kind in kinds for kind in (*AVERAGE_POOLS, *MAX_POOLS))
    kinds += (*TRANSPOSED, AbstractOperator)
    kinds += (*AVERAGE_POOLS, *MAX_POOLS, *ADAPTIVE_POOLS) if pools else ()
    every = model.named_modules(remove_duplicate=False)
    return [(name, layer) for name, layer in every if isinstance(layer, kinds)]


def _chosen(places: Sequence[tuple[str, nn.Module]], layers: Layers) -> Set[int]:
    """Ids of the layers asked for; one that has several names is asked for by any of them."""
    if layers is None:
        return {id(layer) for _, layer in places}
    if callable(layers):
        return {id(layer) for name, layer in places if layers(name, layer)}
    patterns = [layers] if isinstance(layers, str) else list(layers)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name, _ in places):
            known = ", ".join(repr(name) for name, _ in places) or "none"
            raise ValueError(f"layers={pattern!r} is no layer of this model; it has {known}")
    return {id(m) for name, m in places if any(fnmatchcase(name, p) for p in patterns)}


def _convert(layer: nn.Module, seen: Seen | None, check, make, replaced: dict) -> Row:
    """Add the relaxed version of a layer to `replaced`, or find out why there is none."""
    size = None if seen is None else tuple(seen.input.shape[2:])
    row = Row("", type(layer).__name__, size, changed=False, reason="", moved=0.0)
    try:
        check(layer, seen)
        new = make(layer, seen.input)
        moved = distance(run(new, (seen.input,)), run(copy_model(layer), (seen.input,)))
    except ValueError as error:
        return replace(row, reason=str(error))
    _share_parameters(layer, new, replaced)
    replaced[id(layer)] = new.train(layer.training)
    return replace(row, changed=True, moved=moved)


def _check_convertible(
    layer: nn.Module, seen: Seen | None, *, chosen: Set[int], kinds: tuple, one_grid: bool
) -> None:
    for others, reason in LEFT_ALONE.items():
        if isinstance(layer, others) and not isinstance(layer, kinds):
            raise ValueError(reason)
    if id(layer) not in chosen:
        raise ValueError("not chosen by layers=")
    if seen is None:
        raise ValueError("never called in the forward pass of the sample")
    if seen.keywords:
        raise ValueError(f"called with {min(seen.keywords)}= by name; write layer(x) in the model")
    if one_grid and len(seen.sizes) > 1:
        sizes = ", ".join(map(str, sorted(seen.sizes)))
        raise ValueError(f"called on grids of several sizes, {sizes}; frame='band' can do that")


def _share_parameters(layer: nn.Module, new: nn.Module, replaced: dict) -> None:
    """Use one new parameter for one old one, also where other layers hold it."""
    own = dict(layer.named_parameters())
    for name, parameter in list(new.named_parameters()):
        if name in own and own[name].shape == parameter.shape:
            holder, _, last = name.rpartition(".")
            shared = replaced.setdefault(id(own[name]), parameter)
            setattr(new.get_submodule(holder), last, shared)


def _check_some_changed(rows: Sequence[Row]) -> None:
    if not rows:
        known = ", ".join(f"nn.{kind.__name__}" for kind in CONVOLUTIONS)
        raise ValueError(f"nothing to change: the model has no {known}")
    if not any(row.changed for row in rows):
        reasons = [f"  {row.name or '(model)'} ({row.kind}): {row.reason}" for row in rows]
        raise ValueError("\n".join(["no layer could be changed:", *reasons]))
