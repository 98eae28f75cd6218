"""Neural Operator Search as a space: networks of heterogeneous cells in the place of any network.

The supernet has every operation on every edge of its cells; a member is the plain network of the
strongest ones (see `cell`).  Of the network that is given only what goes in and comes out counts,
its normalisation, which is kept, and the task of fields, whose points become inputs.

A search may be guided: a residual network, trained by ourselves before the search, shows at which
points it looks (see `guidance`).  Random members and the network found are trained without.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sciops.backbones import FnoCnn, Normalized
from sciops.backbones.cell_network import CellPlan, plan_for_fields
from sciops.backbones.classifiers import Standardized
from sciops.backbones.positioned import Positioned
from sciops.backbones.pyramidnet import PyramidNet
from sciops.backbones.staged import Tapped

from .cell import one_hot_weights, random_genotype
from .guidance import guided
from .space import AbstractSpace, Architecture, Guide, Places
from .supernet import START, Derived, Supernet
from .tracing import copy_model, run

DECIDED = 10.0  # of a chosen operation in the architecture of a random member, others having 0


@dataclass(frozen=True)
class NosSpace(AbstractSpace):
    """Networks of heterogeneous cells.

    width:    channels of the first cell
    n_cells:  of the network; those at 1/3 and 2/3 halve the grid, if `halving`
    n_nodes:  inner nodes of a cell
    guidance: weight of attention guidance in the loss, 0 for none; published is 1000
    """

    width: int = 8
    n_cells: int = 3
    n_nodes: int = 2
    halving: bool = True
    drop_path: float = 0.0
    guidance: float = 0.0

    name: ClassVar[str] = "nos"
    whole: ClassVar[bool] = True
    derives: ClassVar[bool] = True

    def __post_init__(self):
        if self.layers is not None:
            raise ValueError("space 'nos' replaces the whole network; leave layers out")
        if not self.guidance >= 0:
            raise ValueError(f"guidance={self.guidance!r} must be 0 or more; published is 1000")
        if self.guidance and self.n_cells < 2:
            raise ValueError("guidance compares three stages; it needs n_cells ≥ 2")

    def supernet(self, model: nn.Module, sample: Tensor, *, seed: int = 0) -> nn.Module:
        network = self._in_place_of(model, sample, Supernet)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for a in _cells(network).arch_parameters():
                a.copy_(START * torch.randn(a.shape, generator=generator))
        return network

    def randomise(self, supernet: nn.Module, *, seed: int) -> nn.Module:
        """A genotype drawn from all, decided."""
        cells = _cells(supernet)
        chosen = one_hot_weights(random_genotype(cells.plan, seed))
        with torch.no_grad():
            for kind, a in cells.architecture.items():
                a.copy_(DECIDED * chosen[kind])
        return supernet

    def member(self, model: nn.Module, sample: Tensor, architecture: Architecture) -> nn.Module:
        """The derived network, with weights of its own."""
        by_kind = {name.rpartition(".")[2]: a for name, a in architecture.items()}
        return self._in_place_of(model, sample, lambda plan: Derived(plan, by_kind))

    def teacher(self, model: nn.Module, sample: Tensor) -> nn.Module | None:
        """A PyramidNet with as many stages as the networks of cells have."""
        if not self.guidance:
            return None

        def make(plan: CellPlan) -> PyramidNet:
            shape = dict(dense=plan.dense, halving=plan.halving)
            return PyramidNet(plan.in_channels, plan.out_channels, plan.periodic, **shape)

        return self._in_place_of(model, sample, make)

    def guide(self, model: nn.Module, teacher: nn.Module) -> Guide | None:
        name, cells = _found(model, Supernet)
        if cells is None:
            return None
        before = [mark - 1 for mark in cells.plan.marks] + [cells.plan.n_cells - 1]
        inside = f"{name}.network." if name else "network."
        seen = [f"{inside}cells.{k}" if k >= 0 else f"{inside}stem" for k in before]
        start, pyramid = _found(teacher, PyramidNet)
        stages = [f"{start}.stages.{k}".lstrip(".") for k in range(len(pyramid.stages))]
        student, shown = Tapped(model, seen), Tapped(teacher, stages).eval()

        def answers_and_more(x: Tensor) -> tuple[Tensor, Tensor]:
            answers, apart = guided(student, shown, x)
            return answers, self.guidance * apart

        return answers_and_more

    def places(self, model: nn.Module) -> Places:
        """Shares of the operations, of each kind of cell: logits say the same after a constant."""
        cells = _cells(model, missing_is_none=True)
        if cells is None:
            return {}
        return {k: a.detach().softmax(1).flatten() for k, a in cells.architecture.items()}

    def described(self, model: nn.Module) -> dict[str, str]:
        """The strongest operations of each kind of cell."""
        cells = _cells(model)
        genotype = cells.derive()
        return {
            kind: "; ".join(f"{i} = {node}" for i, node in enumerate(genotype.cell(kind), start=2))
            for kind in cells.architecture
        }

    def _options(self) -> dict[str, Any]:
        names = ("width", "n_cells", "n_nodes", "halving", "drop_path")
        return {name: getattr(self, name) for name in names}

    def _in_place_of(
        self, model: nn.Module, sample: Tensor, make: Callable[[CellPlan], nn.Module]
    ) -> nn.Module:
        """What `make` makes of a plan, with the normalisation and the points of a model."""
        if isinstance(model, Normalized | Standardized):
            inside = self._in_place_of(model.model, sample, make)
            return copy_model(model, {id(model.model): inside})
        if isinstance(model, FnoCnn | Positioned):
            plan = plan_for_fields(model.task, **self._options())
            return Positioned(make(plan), model.task)
        return make(_plan(model, sample, self._options()))


def _plan(model: nn.Module, sample: Tensor, options: dict[str, Any]) -> CellPlan:
    """Sized by what goes in and comes out."""
    output = run(copy_model(model), (sample,))
    dense = output.ndim > 2
    if output.ndim not in (2, sample.ndim) or (dense and output.shape[2:] != sample.shape[2:]):
        raise ValueError(
            f"space 'nos' makes classes (batch, classes) or fields on the grid of the input; the "
            f"network makes {tuple(output.shape)} of {tuple(sample.shape)}"
        )
    shape = dict(in_channels=sample.shape[1], out_channels=output.shape[1], dense=dense)
    return CellPlan(**shape, n_axes=sample.ndim - 2, **options)


def _found(model: nn.Module, *kinds: type[nn.Module]) -> tuple[str, Any]:
    """Name and module of the first of some kinds; ("", None) if there is none."""
    found = ((name, m) for name, m in model.named_modules() if isinstance(m, kinds))
    return next(found, ("", None))


def _cells(model: nn.Module, *, missing_is_none: bool = False) -> Supernet | Derived | None:
    """The network of cells inside its normalisation."""
    cells = _found(model, Supernet, Derived)[1]
    if cells is None and not missing_is_none:
        raise ValueError("this is no network of space 'nos'; space.supernet(model, sample) is one")
    return cells
