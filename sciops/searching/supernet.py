"""The supernet of heterogeneous cells: every operation on every edge, weighed by a softmax.

    ō(x) = Σ_o softmax(a)_o o(x)              a: the architecture, one row of 11 an edge (eq. 7)

All normal cells share one matrix of rows, all reduction cells another.  A weight multiplies what
its operation makes, a feature, an attention or a kernel; these meet as in the cell.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from sciops.backbones.cell_network import CellNetwork, CellPlan, derived_network
from sciops.backbones.genotype import OPERATIONS, Genotype
from sciops.backbones.heterogeneous_cell import all_candidates, rows_of_blocks
from sciops.backbones.staged import AbstractStaged
from sciops.operators.operator import AbstractSearchable

from .derivation import derive_cell

START = 1e-3  # deviation of the architecture at the start, as in DARTS


class Supernet(AbstractSearchable, AbstractStaged):
    """All networks of a plan in one.

    >>> supernet = Supernet(CellPlan(in_channels=1, out_channels=3, width=4, n_cells=2, n_nodes=1))
    >>> [tuple(a.shape) for a in supernet.arch_parameters()], len(supernet.derive().reduction)
    ([(3, 11)], 1)
    """

    def __init__(self, plan: CellPlan):
        super().__init__()
        self.plan = plan
        candidates = all_candidates(plan.n_nodes)
        kinds = sorted(set(plan.kinds))
        self.network = CellNetwork(plan, dict.fromkeys(kinds, candidates), affine=False)
        shape = sum(rows_of_blocks(plan.n_nodes)), len(OPERATIONS)
        self.architecture = nn.ParameterDict(
            {kind: nn.Parameter(START * torch.randn(shape)) for kind in kinds}
        )

    def arch_parameters(self) -> Iterator[nn.Parameter]:
        """a, of each kind of cell that there is."""
        return iter(self.architecture.values())

    def weights(self) -> dict[str, Tensor]:
        """softmax(a) of each kind of cell, (edges, 11)."""
        return {kind: a.softmax(1) for kind, a in self.architecture.items()}

    def derive(self) -> Genotype:
        """The strongest operations."""
        return Genotype(**{kind: derive_cell(w) for kind, w in self.weights().items()})

    def forward_stages(
        self, x: Tensor, weights: Mapping[str, Tensor] | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """weights: others than softmax(a), as those of one genotype"""
        return self.network.forward_stages(x, self.weights() if weights is None else weights)


class Derived(AbstractSearchable, AbstractStaged):
    """The network of the strongest operations alone: plain layers, to be trained from scratch.

    It keeps the architecture it was derived from, under the names that it has in the supernet, and
    frozen: nothing of it is computed with.

    architecture: a, of each kind of cell
    """

    def __init__(self, plan: CellPlan, architecture: Mapping[str, Tensor]):
        super().__init__()
        cells = {kind: derive_cell(a.softmax(1)) for kind, a in architecture.items()}
        self.plan, self.genotype = plan, Genotype(**cells)
        self.network = derived_network(plan, self.genotype)
        self.architecture = nn.ParameterDict(
            {kind: nn.Parameter(a.clone(), requires_grad=False) for kind, a in architecture.items()}
        )

    def arch_parameters(self) -> Iterator[nn.Parameter]:
        return iter(self.architecture.values())

    def derive(self) -> Genotype:
        """The operations that it has."""
        return self.genotype

    def forward_stages(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        return self.network.forward_stages(x)
