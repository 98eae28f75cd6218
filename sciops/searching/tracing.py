"""Run other people's models to see what their layers see, and leave no trace in them.

The model runs in eval mode, without gradients, as a copy, and the random numbers it draws are given
back.
"""

import copy
import math
from collections.abc import Iterator, Set
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Seen(NamedTuple):
    """What a layer was called with."""

    input: Tensor  # the first one
    sizes: set[tuple[int, ...]]  # of the grids of all of them
    keywords: set[str]


def copy_model(model: nn.Module, replaced: dict[int, Any] | None = None) -> nn.Module:
    """A deep copy of `model`, in which the things of these ids are the given ones instead.

    The older weight norm keeps a computed tensor in the module, which torch refuses to copy.
    """
    computed = {
        id(value): value.detach().clone()
        for module in model.modules()
        for value in vars(module).values()
        if isinstance(value, Tensor) and not value.is_leaf
    }
    return copy.deepcopy(model, computed | (replaced or {}))


def trace(model: nn.Module, layers: Set[int], inputs: tuple) -> tuple[dict[int, Seen], Any]:
    """What the layers of these ids were called with, and the output of the model."""
    probe = copy_model(model)
    seen: dict[int, Seen] = {}
    for original, twin in zip(model.modules(), probe.modules(), strict=True):
        if id(original) in layers:
            hook = partial(_record, seen, id(original))
            twin.register_forward_pre_hook(hook, with_kwargs=True)
    return seen, run(probe, inputs)


def run(model: nn.Module, inputs: tuple) -> Any:
    """The output of `model`, which is left in eval mode."""
    inputs = [x.clone() if isinstance(x, Tensor) else x for x in inputs]
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        return model.eval()(*inputs)


def distance(new: Any, old: Any) -> float:
    """‖new − old‖ / ‖old‖ over all tensors in two outputs; ‖new‖ if the old ones are zero.

    >>> distance((torch.ones(4), {"a": torch.ones(1)}), (torch.ones(4), {"a": torch.zeros(1)}))
    0.5
    """
    error = size = 0.0
    for a, b in zip(_tensors(new), _tensors(old), strict=True):
        a, b = a.detach().to(torch.complex128), b.detach().to(torch.complex128)
        error += float((a - b).abs().square().sum())
        size += float(b.abs().square().sum())
    return math.sqrt(error / size) if size else math.sqrt(error)


def _record(seen: dict[int, Seen], key: int, module: nn.Module, args: tuple, kwargs: dict) -> None:
    x = args[0] if args else kwargs["input"]
    if key not in seen:
        seen[key] = Seen(x.detach().clone(), set(), set())
    seen[key].sizes.add(tuple(x.shape[2:]))
    seen[key].keywords.update(kwargs)


def _tensors(output: Any) -> Iterator[Tensor]:
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, dict | list | tuple):
        for part in output.values() if isinstance(output, dict) else output:
            yield from _tensors(part)
