"""The operator contract: what a layer of this package promises to the rest of the house.

An operator maps `(batch, channel, *space)` to `(batch, channel, *space)`, linearly up to its bias,
and states for which grids: `layer.resolution` is `"any"`, or `Fixed(size)` and then any other size
is a ValueError.  Its parameters are of two kinds: *weights*, and the *architecture* that a search
learns (`arch_parameters`).
"""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Fixed(NamedTuple):
    """Resolution contract of a layer built for one grid size."""

    size: tuple[int, ...]


class AbstractSearchable(nn.Module):
    """A module of which some parameters are architecture; operators are, and supernets."""

    def arch_parameters(self) -> Iterator[nn.Parameter]:
        """The parameters that say *which* operation this is; none by default."""
        yield from ()

    def penalty(self) -> Tensor | None:
        """What the architecture itself adds to the loss, such as its cost; nothing by default."""
        return None

    def project(self) -> None:
        """Bring the architecture back to where it may be, after every step; anywhere by default."""

    def notes(self) -> dict[str, float]:
        """What the history of a training says of the architecture after each epoch."""
        return {}


class AbstractOperator(AbstractSearchable):
    """Base of all operators: architecture parameters, resolution contract, dense matrix."""

    resolution: str | Fixed = "any"
    in_channels: int

    def as_matrix(self, size: tuple[int, ...] | None = None) -> Tensor:
        """The linear part as a dense matrix, (out_channels · n_out, in_channels · n_in)."""
        if size is None:
            if not isinstance(self.resolution, Fixed):
                raise ValueError("this layer works on any grid: say which with as_matrix(size)")
            size = self.resolution.size
        reference = next(self.parameters())
        n = self.in_channels * math.prod(size)
        units = torch.eye(n, dtype=reference.dtype, device=reference.device)
        units = units.view(n, self.in_channels, *size)
        image = self(units) - self(torch.zeros_like(units[:1]))
        return image.flatten(1).mT


def searchables(model: nn.Module) -> list[AbstractSearchable]:
    """The modules of a model that may have an architecture."""
    return [module for module in model.modules() if isinstance(module, AbstractSearchable)]


def notes_of(model: nn.Module) -> dict[str, float]:
    """`notes` of all its modules."""
    return {name: value for module in searchables(model) for name, value in module.notes().items()}


def arch_parameters(model: nn.Module) -> list[nn.Parameter]:
    """The architecture parameters of any model, each once, in the order of its modules."""
    found: dict[int, nn.Parameter] = {}
    for module in searchables(model):
        found.update((id(p), p) for p in module.arch_parameters())
    return list(found.values())


def weight_parameters(model: nn.Module) -> list[nn.Parameter]:
    """All other parameters of the model, each once."""
    architecture = {id(p) for p in arch_parameters(model)}
    return [p for p in model.parameters() if id(p) not in architecture]


def as_tuple(value, ndim: int, name: str) -> tuple:
    """One value for every axis, or one value per axis.

    >>> as_tuple(3, 2, "stride"), as_tuple((1, 2), 2, "stride")
    ((3, 3), (1, 2))
    """
    if not isinstance(value, tuple | list):
        return (value,) * ndim
    if len(value) != ndim:
        raise ValueError(f"{name}={value} has {len(value)} entries, expected {ndim}, one per axis")
    return tuple(value)


def whole_numbers(value, ndim: int, name: str) -> tuple[int, ...]:
    """`as_tuple` of whole numbers ≥ 1."""
    numbers = as_tuple(value, ndim, name)
    if not numbers or any(not isinstance(n, int) or n < 1 for n in numbers):
        raise ValueError(f"{name}={numbers} must be whole numbers ≥ 1, one per axis")
    return numbers


def full_precision(x: Tensor) -> AbstractContextManager:
    """No autocasting inside: transforms in half precision lose what they are made for."""
    kind = x.device.type
    return (
        torch.autocast(kind, enabled=False)
        if torch.amp.is_autocast_available(kind)
        else nullcontext()
    )


def check_input(x: Tensor, in_channels: int, ndim: int, dtype: torch.dtype) -> None:
    """Raise unless x is a real `(batch, in_channels, *space)` that a layer of this dtype takes."""
    if x.ndim != ndim + 2 or x.shape[1] != in_channels:
        axes = ", ".join(f"n{a}" for a in range(ndim))
        raise ValueError(
            f"expected x of shape (batch, {in_channels}, {axes}), got {tuple(x.shape)}"
        )
    if 0 in x.shape[2:]:
        raise ValueError(f"expected at least one point on every axis, got x {tuple(x.shape)}")
    if not x.is_floating_point() or x.dtype.itemsize > dtype.itemsize:
        raise ValueError(
            f"expected a real x no wider than the layer's {dtype}, got {x.dtype}; "
            "use x.to(layer.weight.dtype) or layer.to(x.dtype)"
        )
