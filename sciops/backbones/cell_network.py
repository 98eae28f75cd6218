"""Networks of heterogeneous cells: a stem, cells one after another, a head.

The cells at 1/3 and 2/3 of the depth halve the grid and double the channels, as in DARTS and Neural
Operator Search; a field may also keep its grid throughout.  What enters these two cells, and what
leaves the last one, are the three stages that attention guidance compares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from torch import Tensor, nn

from sciops.operators.boundaries import SameConvolution, batch_norm
from sciops.task import Task

from .genotype import Genotype
from .heads import FieldHead, GlobalHead
from .heterogeneous_cell import Candidates, Cell, Layout, chosen_candidates
from .normalized import Normalized
from .positioned import Positioned
from .positions import position_channels
from .staged import AbstractStaged

STEM_FACTOR = 3  # channels of the stem to those of the first cell, as in DARTS


@dataclass(frozen=True, kw_only=True)
class CellPlan:
    """The size of a network of cells, whatever operations they have.

    dense:    one answer at each point instead of one a sample
    halving:  whether the cells at 1/3 and 2/3 halve the grid
    periodic: whether each axis is; None: no axis
    """

    in_channels: int
    out_channels: int
    n_axes: int = 2
    width: int = 16
    n_cells: int = 8
    n_nodes: int = 4
    dense: bool = False
    halving: bool = True
    periodic: tuple[bool, ...] | None = None
    drop_path: float = 0.0

    def __post_init__(self):
        for name in ("in_channels", "out_channels", "n_axes", "width", "n_cells", "n_nodes"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number ≥ 1")
        if self.n_axes > 3:
            raise ValueError(f"n_axes={self.n_axes}; there are networks for 1, 2 and 3")
        periodic = (False,) * self.n_axes if self.periodic is None else tuple(self.periodic)
        if len(periodic) != self.n_axes:
            raise ValueError(f"periodic={periodic} must have {self.n_axes} entries, one per axis")
        object.__setattr__(self, "periodic", periodic)  # a list when it comes from JSON
        if not 0 <= self.drop_path < 1:
            raise ValueError(f"drop_path={self.drop_path} must be at least 0 and less than 1")

    @property
    def marks(self) -> tuple[int, ...]:
        """The cells at 1/3 and 2/3 of the depth."""
        return tuple(sorted({self.n_cells // 3, 2 * self.n_cells // 3}))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of each cell, "normal" or "reduction"."""
        reduces = self.marks if self.halving else ()
        return tuple("reduction" if i in reduces else "normal" for i in range(self.n_cells))

    @property
    def halvings(self) -> tuple[int, ...]:
        """How often the grid has been halved behind each cell."""
        return tuple(accumulate(int(kind == "reduction") for kind in self.kinds))


def plan_for_fields(task: Task, **options) -> CellPlan:
    """A dense plan for the fields of a task, with positions as inputs (see `Positioned`)."""
    return CellPlan(
        in_channels=task.in_channels + position_channels(task),
        out_channels=task.out_channels,
        n_axes=len(task.axes),
        periodic=tuple(axis.periodic for axis in task.axes),
        dense=True,
        **options,
    )


class CellNetwork(AbstractStaged):
    """(batch, in_channels, *n) -> (batch, out_channels), or (batch, out_channels, *n) if dense.

    cells:  the operations of the "normal" and the "reduction" cell
    affine: whether batch norms scale and shift; not while operations are compared
    """

    def __init__(
        self, plan: CellPlan, cells: Mapping[str, Sequence[Candidates]], *, affine: bool = True
    ):
        super().__init__()
        self.plan = plan
        stem = STEM_FACTOR * plan.width
        self.stem = nn.Sequential(
            SameConvolution(plan.in_channels, stem, 3, periodic=plan.periodic),
            batch_norm(stem, plan.n_axes, affine=True),
        )
        self.cells = nn.ModuleList()
        outputs = [stem, stem]  # channels of the stem, twice, and of every cell
        for index, kind in enumerate(plan.kinds):
            width = plan.width * 2 ** plan.halvings[index]
            layout = Layout(width, plan.periodic, affine, plan.drop_path)
            uneven = index > 0 and plan.kinds[index - 1] == "reduction"
            inputs = outputs[-2], outputs[-1]
            shape = dict(reduction=kind == "reduction", uneven=uneven)
            self.cells.append(Cell(cells[kind], inputs, layout, **shape))
            outputs.append(plan.n_nodes * width)
        self.head = _head(plan, outputs[1:])

    def forward_stages(
        self, x: Tensor, weights: Mapping[str, Tensor] | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """weights: of the operations of each kind of cell, (edges, 11); None: all are 1"""
        _check_input(x, self.plan)
        before = last = self.stem(x)
        stages = []
        for index, (cell, kind) in enumerate(zip(self.cells, self.plan.kinds, strict=True)):
            if index in self.plan.marks:
                stages.append(last)
            before, last = last, cell(before, last, None if weights is None else weights[kind])
        stages.append(last)
        return self.head(stages, tuple(x.shape[2:])), stages


def _head(plan: CellPlan, outputs: list[int]) -> nn.Module:
    """outputs: channels of the stem and of every cell"""
    ends = *plan.marks, plan.n_cells  # a stage is what enters a mark, or leaves the last cell
    channels = [outputs[end] for end in ends]
    if not plan.dense:
        return GlobalHead(channels, plan.out_channels)
    factors = [2 ** (0, *plan.halvings)[end] for end in ends]
    return FieldHead(channels, factors, STEM_FACTOR * plan.width, plan.out_channels, plan.periodic)


def _check_input(x: Tensor, plan: CellPlan) -> None:
    if x.ndim != plan.n_axes + 2 or x.shape[1] != plan.in_channels or 0 in x.shape[2:]:
        axes = ", ".join(f"n{axis}" for axis in range(plan.n_axes))
        raise ValueError(
            f"expected x of shape (batch, {plan.in_channels}, {axes}), got {tuple(x.shape)}"
        )


def derived_network(plan: CellPlan, genotype: Genotype) -> CellNetwork:
    """The network of a genotype: plain layers, to be trained from scratch."""
    cells = {}
    for kind in sorted(set(plan.kinds)):
        nodes = genotype.cell(kind)
        if len(nodes) != plan.n_nodes:
            raise ValueError(
                f"the plan needs a {kind} cell of {plan.n_nodes} nodes, the genotype has "
                f"{len(nodes) or 'none'}; change n_nodes, or halving where a kind is missing"
            )
        cells[kind] = chosen_candidates(nodes)
    return CellNetwork(plan, cells)


def field_network(task: Task, *, genotype: Mapping[str, Any], **options) -> Normalized:
    """The network of a genotype, as JSON holds it, for the fields of a task.

    options: of `CellPlan`
    """
    plan = plan_for_fields(task, **options)
    network = derived_network(plan, Genotype.from_dict(genotype))
    return Normalized(Positioned(network, task), task.in_channels, task.out_channels)
