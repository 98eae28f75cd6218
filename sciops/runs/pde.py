"""`train_pde`: from the name of an equation, or your own data, to a trained and judged model."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.utils.data import Dataset

from sciops.config import changed
from sciops.data.samples import MemorySamples, memory_bytes, task_of, variables_of
from sciops.data.several_grids import SeveralGrids
from sciops.data.store import open_store
from sciops.data.stored_samples import StoredSamples
from sciops.data.symmetries import fitting
from sciops.data.windows import WindowSamples
from sciops.domains import domain_named
from sciops.evaluation.grids import coords_of, trained_grid
from sciops.memory import memory_there
from sciops.metrics.field import relative_h1, relative_l2
from sciops.task import Task

from .frame import AtEpochEnd, carried_out
from .plan import Plan, planned
from .run import Run

if TYPE_CHECKING:
    import xarray as xr

NOT_PLANNED = ("out", "at_epoch_end")
MEMORY_SHARE = 0.5  # of the memory there is; samples that need more are read when asked for
OF_ONE_GRID = ("neuralop", "xd-grid")  # know of no points but those of the usual grid


def train_pde(
    name: str,
    op: str = "xd",
    *,
    resolution: int | Sequence[int] | None = None,
    n_train: int | None = None,
    n_val: int | None = None,
    n_test: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    data=None,
    recipe: str = "quick",
    forecast: str | None = None,
    augment: bool | None = None,
    coarse: float | None = None,
    h1: float | None = None,
    out: str | Path | None = None,
    at_epoch_end: AtEpochEnd | None = None,
    progress: bool = True,
    devices: int = 1,
    num_nodes: int = 1,
    strategy: str = "auto",
    accelerator: str = "cpu",
    **options,
) -> Run:
    """Train a network with the operator `op` on the solutions of a PDE and judge it on unseen ones.

    resolution: points on an axis; several train the network on all of these grids, and the last is
                the one it is judged on
    n_train, n_val, n_test, epochs, batch_size: None leaves them to the recipe
    seed:       of the network and the order of samples; the data are the same for all seeds
    data:       a zarr store, or a tree with train and test (sciops.read, sciops.from_arrays); None
                generates them on first use; of a store that does not fit in memory the training
                samples are read when they are asked for
    recipe:     "quick" (minutes on two cores) or "paper" (the published settings)
    forecast:   of fields in time, "3d" (all frames at once; the default) or "steps" (one by one)
    augment:    whether training sees the samples transformed by symmetries of the equation; None
                leaves it to the recipe
    coarse:     of several resolutions, the share of the epochs that all but the last have, each in
                its turn, before the last; None draws one of them for each batch
    h1:         weight of the relative H¹ error, that is of slopes, beside the relative L2 error in
                what is made small; None leaves it to the recipe
    out:        folder of the run; None is one in runs/ that is named after the settings.  A run
                that is there already is finished, if need be, and returned
    at_epoch_end: is given the rows of the history after every epoch; what it raises ends training,
                and the same call goes on from there
    devices, num_nodes, strategy, accelerator: as Lightning takes them
    options:    parameters of the equation (viscosity=…, see sciops.datasets()); rate=, decay=,
                warmup= (epochs at rate 0) and clip= of the optimiser of the weights, with arch_
                before them of the architecture; options of the network (width=, taps=, depth=, …);
                of op="term", term="Linear2(lift16, …)", the text of a term, and frame=
    """
    plan = planned(**{key: value for key, value in locals().items() if key not in NOT_PLANNED})
    trees, described = plan.data()
    task = task_of(trees[-1]["train"].to_dataset())
    symmetries = _symmetries(name, op, trees[-1]["train"].attrs, task) if plan.augment else ()
    training = changed(plan.training, symmetries=symmetries)
    config = {
        **dict(name=name, op=op, recipe=recipe, model=plan.model, data=described),
        "grids": [tree["train"].sizes[task.axes[0].name] for tree in trees],
    }

    def fed(network: nn.Module) -> tuple[Dataset, Dataset]:
        val = MemorySamples(trees[-1]["val"].to_dataset(), task)
        where = data if isinstance(data, str | Path) else None
        if where is not None and _stays_on_disk(trees[-1]["train"].to_dataset(), where, plan):
            stored = StoredSamples(where, "train", task, trees[-1]["train"].sizes["sample"])
            network.fit(*stored.spread())
            return stored, val
        samples = [MemorySamples(tree["train"].to_dataset()) for tree in trees]
        network.fit(samples[-1].x, samples[-1].y)
        return _training_samples(samples, plan.model["forecast"]), val

    return carried_out(
        *(Run, task, config, training, trees[-1], fed),
        error=relative_l2,
        slopes=_slopes(task),
        coords=coords_of(task, trained_grid(task)),  # None on the grids of our solvers
        out=out,
        at_epoch_end=at_epoch_end,
        progress=progress,
        machine=plan.machine,
    )


def _stays_on_disk(train: "xr.Dataset", path: str | Path, plan: Plan) -> bool:
    """Whether a store is larger than the share of the memory that samples may have."""
    free = memory_there()
    if free is None or memory_bytes(train, task_of(train)) <= MEMORY_SHARE * free:
        return False
    there = open_store(path)["train"]
    as_stored = all(there[name].dims == train[name].dims for name in variables_of(task_of(train)))
    return as_stored and plan.model["forecast"] != "steps"


def rehearse(*arguments, **options) -> None:
    """Refuse what `train_pde` would refuse with these arguments; nothing is made."""
    bound = inspect.signature(train_pde).bind(*arguments, **options)
    bound.apply_defaults()
    planned(**{key: v for key, v in bound.arguments.items() if key not in NOT_PLANNED})


def _symmetries(name: str, op: str, attrs: dict[str, Any], task: Task) -> tuple[str, ...]:
    """Those that equation, boundary, grid and network have in common.

    Of other boundaries than the usual ones only the order of the axes may not matter.
    """
    known, boundary = domain_named(name), attrs.get("boundary_conditions", {})
    allowed = known.symmetries
    if boundary != dict(known.boundary_conditions):
        alike = len(set(boundary.values())) == 1
        allowed = [s for s in allowed if s == "swap" and alike]
    return fitting(allowed, task.axes, movable=op not in OF_ONE_GRID)


def _slopes(task: Task) -> Callable[[Tensor, Tensor], Tensor]:
    """The relative H¹ error, lengths being 1, as if the points were evenly spaced."""
    periodic = tuple(axis.periodic for axis in task.axes)
    return partial(relative_h1, periodic=periodic, lengths=(1.0,) * len(periodic))


def _training_samples(samples: list[MemorySamples], forecast: str | None):
    if forecast == "steps":
        return WindowSamples(samples[0])
    return samples[0] if len(samples) == 1 else SeveralGrids(samples)
