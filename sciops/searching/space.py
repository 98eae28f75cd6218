"""The contract of a search space: networks around a given one, told apart by their architecture.

    supernet = space.supernet(model, sample)            begins where the space begins
    arch_parameters(supernet)                           where a search moves
    architecture_of(supernet)                           where it is, as {name: tensor}
    space.member(model, sample, architecture)           the network found, its architecture frozen

Weights are all other parameters of the supernet.  A space is a frozen dataclass of options that
JSON can hold.  Its supernet may be the model with other layers, as in all spaces of layers, or
another network altogether, of which a member is *derived*: a smaller network that keeps its
architecture with it.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sciops.operators.operator import AbstractSearchable, arch_parameters

Architecture = dict[str, Tensor]  # name of an architecture parameter in the supernet → its value
Places = dict[str, Tensor]  # name of a layer → where it is in its space, as one vector
Guide = Callable[[Tensor], tuple[Tensor, Tensor]]  # of a batch of inputs: answers, what to add


@dataclass(frozen=True)
class AbstractSpace:
    """A search space around any CNN; concrete ones are in the table SPACES.

    layers: names or patterns ("block1.*") of the layers that are searched; None is all that can be
    """

    layers: tuple[str, ...] | None = None

    name: ClassVar[str]
    learns: ClassVar[bool] = True  # whether it has architecture parameters
    whole: ClassVar[bool] = False  # whether supernets replace the network, not layers of it
    derives: ClassVar[bool] = False  # whether members are other networks than the supernet
    guidance: ClassVar[float] = 0.0  # weight of what a teacher adds to the loss

    def supernet(self, model: nn.Module, sample: Tensor, *, seed: int = 0) -> nn.Module:
        """A new network at the start of the space; the model is left as it is.

        sample: an input of the model, (batch, channel, *space)
        seed: of starts that are drawn at random
        """
        raise TypeError(f"{type(self).__name__} must define supernet()")

    def randomise(self, supernet: nn.Module, *, seed: int) -> nn.Module:
        """Move a supernet to a random member of the space; weights stay."""
        raise TypeError(f"{type(self).__name__} must define randomise()")

    def member(self, model: nn.Module, sample: Tensor, architecture: Architecture) -> nn.Module:
        """A new network with this architecture, frozen; its weights come from the model."""
        return freeze(install(self.supernet(model, sample), architecture))

    def place(self, layer: AbstractSearchable) -> Tensor:
        """Where a layer is in its space, as one vector: all its architecture parameters."""
        return torch.cat([p.detach().flatten() for p in layer.arch_parameters()])

    def describe(self, layer: AbstractSearchable) -> str:
        """What a layer has become, in a few words."""
        return repr(layer)

    def places(self, model: nn.Module) -> Places:
        """Where each layer of a network is in its space."""
        return {name: self.place(layer) for name, layer in searched_layers(model).items()}

    def described(self, model: nn.Module) -> dict[str, str]:
        """What each layer has become, by the names of `places`."""
        return {name: self.describe(layer) for name, layer in searched_layers(model).items()}

    def teacher(self, model: nn.Module, sample: Tensor) -> nn.Module | None:
        """A network to be trained before the search, if one guides it."""
        return None

    def guide(self, model: nn.Module, teacher: nn.Module) -> Guide | None:
        """How a trained teacher guides a network; None if it does not."""
        return None

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"space": self.name, **_plain(dataclasses.asdict(self))}


def architecture_of(model: nn.Module) -> Architecture:
    """A copy of the architecture parameters by name; those that layers share come once."""
    return {name: p.detach().clone() for name, p in _named(model).items()}


def install(model: nn.Module, architecture: Mapping[str, Tensor]) -> nn.Module:
    """Give a supernet this architecture: by name, or in order if all its names are others."""
    targets = _named(model)
    if set(targets).isdisjoint(architecture) and len(targets) == len(architecture):
        pairs = dict(zip(targets, architecture.values(), strict=True))
    else:
        pairs = dict(architecture)
    missing, unknown = sorted(set(targets) - set(pairs)), sorted(set(pairs) - set(targets))
    if missing or unknown:
        raise ValueError(
            f"the architecture is of another network: {len(unknown)} of its parts are not there "
            f"({', '.join(unknown[:2]) or 'none'}), {len(missing)} parts have none "
            f"({', '.join(missing[:2]) or 'none'}); give a network with the same layers"
        )
    for name, value in pairs.items():
        if value.shape != targets[name].shape:
            raise ValueError(
                f"{name} has shape {tuple(targets[name].shape)}, the architecture has "
                f"{tuple(value.shape)}: it was found on another grid, or with other channels; "
                "resample the data to the grid of the search"
            )
    with torch.no_grad():
        for name, value in pairs.items():
            targets[name].copy_(value)
    return model


def freeze(model: nn.Module) -> nn.Module:
    """Let the architecture stay as it is; weights go on learning."""
    for parameter in arch_parameters(model):
        parameter.requires_grad_(False)
    return model


def searched_layers(model: nn.Module) -> dict[str, AbstractSearchable]:
    """The layers that have an architecture, by name."""
    found = ((n, m) for n, m in model.named_modules() if isinstance(m, AbstractSearchable))
    return {name: layer for name, layer in found if any(True for _ in layer.arch_parameters())}


def distances(now: Places, start: Places) -> dict[str, float]:
    """‖a − a₀‖ / ‖a₀‖ of each layer, the novelty of Roberts et al. 2021 (arXiv:2103.15798).

    Layers that are not in both, as in a network derived from a supernet, are left out.

    >>> distances({"a": torch.tensor([3.0, 5.0])}, {"a": torch.tensor([3.0, 4.0])})
    {'a': 0.2}
    """
    return {
        name: float((now[name].double() - a0.double()).norm() / a0.double().norm())
        for name, a0 in start.items()
        if name in now and now[name].shape == a0.shape
    }


def _named(model: nn.Module) -> dict[str, nn.Parameter]:
    wanted = {id(p) for p in arch_parameters(model)}
    return {name: p for name, p in model.named_parameters() if id(p) in wanted}


def _plain(value: Any) -> Any:
    """Tuples as the lists that JSON gives back."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
