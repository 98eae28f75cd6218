"""Any CNN as a search space: its convolutions become learnable operations, its function stays.

    relaxed = relax(model, sample_input)          relaxed(x) = model(x), up to rounding

One forward pass over the sample finds the grid each layer works on.  The new model is a copy in
which every reference to a chosen layer, wherever the model keeps it, leads to the layer's relaxed
version.  `relaxation_report` tells which layers were changed, why others were not, and how far
each output moved.
"""

import copy
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from sciops.operators.convert import xd_from_avg_pool, xd_from_conv
from sciops.operators.operator import AbstractOperator, as_tuple
from sciops.operators.torch_layers import AVERAGE_POOLS, CONVOLUTIONS

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger("sciops")

TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
MAX_POOLS = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
ADAPTIVE_POOLS = (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)
LEFT_ALONE = {  # kinds of layers → why they are never changed
    AbstractOperator: "it is an operator of sciops already",
    TRANSPOSED: "transposed convolutions are not converted",
    MAX_POOLS: "max is not linear",
    ADAPTIVE_POOLS: "its windows depend on the grid; use an AvgPool of fixed kernel_size",
}


@dataclass(frozen=True)
class Row:
    """What became of one layer."""

    name: str
    kind: str
    size: tuple[int, ...] | None  # of the grid it was called on; None if it was not
    changed: bool
    reason: str  # why it was left as it is, or empty
    moved: float  # relative L2 distance of its output on the sample

    def __str__(self) -> str:
        size = "×".join(map(str, self.size or ()))
        result = f"changed, moved {self.moved:.1e}" if self.changed else f"left: {self.reason}"
        return f"{self.name or '(model)':<24} {self.kind:<18} {size:<11} {result}"


@dataclass(frozen=True)
class Relaxation:
    """What `relax` did to a model; `str` makes a table of it."""

    op: str
    rows: tuple[Row, ...]
    moved: float  # relative L2 distance of the model's output on the sample

    def __str__(self) -> str:
        changed = sum(row.changed for row in self.rows)
        total = f"{changed} of {len(self.rows)} layers → {self.op}; the output moved {self.moved:.1e}"
        return "\n".join([*map(str, self.rows), total])


def relax(
    model: nn.Module,
    sample_input: Tensor | tuple,
    op: str = "xd",
    *,
    layers: Callable[[str, nn.Module], bool] | Sequence[str] | None = None,
    pooling: bool = False,
    frame: str = "grid",
    depth: int | tuple[int, int, int] = 1,
    kernel_size: int | tuple[int, ...] | None = None,
    **options,
) -> nn.Module:
    """Turn any CNN into a search space: a new model, same function, its convolutions now learnable.

    The given model is left as it is.  Layers that cannot be changed are kept, with the reason in
    `relaxation_report(relaxed)`; each layer is also reported to the log "sciops".

    Args:
        sample_input: a typical input, or a tuple of the arguments of `model`.
        layers: which ones: names, patterns such as "block1.*", or a function (name, module) -> bool.
        pooling: change nn.AvgPool layers too.
        frame: "grid", for the grids of the sample only, or "band", for all (see XD).
        kernel_size: enlarge smaller kernels to this; the new taps are not seen at the start.
        options: of the operation, such as `arch_bias=True, gates=True`.

    Returns:
        The relaxed model; see `sciops.arch_parameters` for what a search learns in it.

    Example:
        >>> lenet = nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.Conv2d(6, 16, 5))
        >>> relaxed = relax(lenet, torch.randn(1, 1, 28, 28), kernel_size=7, depth=3)
        >>> type(relaxed[0]).__name__, type(lenet[0]).__name__
        ('XD', 'Conv2d')
    """
    if op not in OPERATIONS:
        raise ValueError(f"op={op!r} is not known; choose one of {', '.join(OPERATIONS)}")
    inputs = sample_input if isinstance(sample_input, tuple) else (sample_input,)
    places = _places(model, pooling)
    chosen = _chosen(places, layers)
    seen, output = _trace(model, {id(layer) for _, layer in places}, inputs)
    make = partial(OPERATIONS[op], frame=frame, depth=depth, kernel_size=kernel_size, **options)
    replaced: dict[int, Any] = {}
    rows: dict[int, Row] = {}
    for name, layer in places:
        key = id(layer)
        if key not in rows:
            rows[key] = _convert(layer, seen.get(key), key in chosen, make, replaced)
    table = tuple(dataclasses_replace(rows[id(layer)], name=name) for name, layer in places)
    if not any(row.changed for row in table):
        raise ValueError(...)
    relaxed = _copy(model, replaced)
    moved = _distance(_run(_copy(relaxed).eval(), inputs), output)
    return relaxed
