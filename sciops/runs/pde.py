"""`train_pde`: from the name of an equation, or your own data, to a trained and judged model.

What cannot work is refused first, before data are generated or a folder is touched.
"""

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from sciops.backbones import BASELINES, FnoCnn, build_model
from sciops.backbones.choice import OPERATORS
from sciops.backbones.forecasting import WAYS
from sciops.checkpoint import rng_state, set_rng_state
from sciops.config import CHANGES, Training, changed
from sciops.data.samples import MemorySamples, task_of
from sciops.data.several_grids import SeveralGrids
from sciops.data.symmetries import fitting
from sciops.data.windows import WindowSamples
from sciops.domains import DOMAINS, domain_named
from sciops.evaluation.grids import coords_of, trained_grid
from sciops.metrics.field import relative_l2
from sciops.task import Task
from sciops.training import _quietly, fit

from .data import generated, given, task_to_be, whole
from .folder import as_json, claim, finish, only_process, write_history
from .recipes import Settings, settings
from .run import Run, open_run

if TYPE_CHECKING:
    import xarray as xr

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
    out: str | Path | None = None,
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
                generates them on first use
    recipe:     "quick" (minutes on two cores) or "paper" (the published settings)
    forecast:   of fields in time, "3d" (all frames at once; the default) or "steps" (one by one)
    augment:    whether training sees the samples transformed by symmetries of the equation; None
                leaves it to the recipe
    coarse:     of several resolutions, the share of the epochs that all but the last have, each in
                its turn, before the last; None draws one of them for each batch
    out:        folder of the run; None is one in runs/ that is named after the settings.  A run
                that is there already is finished, if need be, and returned
    devices, num_nodes, strategy, accelerator: as Lightning takes them
    options:    parameters of the equation (viscosity=…, see sciops.datasets()); rate=, decay=,
                warmup= (epochs at rate 0) and clip= of the optimiser of the weights, with arch_
                before them of the architecture; options of the network (width=, taps=, depth=, …)
    """
    plan = planned(
        name,
        op,
        resolution=resolution,
        n_train=n_train,
        n_val=n_val,
        n_test=n_test,
        epochs=epochs,
        batch_size=batch_size,
        seed=seed,
        data=data,
        recipe=recipe,
        forecast=forecast,
        augment=augment,
        coarse=coarse,
        progress=progress,
        devices=devices,
        num_nodes=num_nodes,
        strategy=strategy,
        accelerator=accelerator,
        **options,
    )
    trees, described = plan.data()
    task = task_of(trees[-1]["train"].to_dataset())
    symmetries = _symmetries(name, op, trees[-1]["train"].attrs, task) if plan.augment else ()
    training = changed(plan.training, symmetries=symmetries)
    config = as_json(
        {
            "name": name,
            "op": op,
            "recipe": recipe,
            "grids": [tree["train"].sizes[task.axes[0].name] for tree in trees],
            "seed": training.seed,
            "training": training.as_dict(),
            "model": plan.model,
            "data": described,
        }
    )
    path, is_finished = claim(out, config)
    if is_finished:
        run = open_run(path)
        run.data = trees[-1]
        return run

    with only_process(path), own_random_numbers(training.seed):
        samples = [MemorySamples(tree["train"].to_dataset()) for tree in trees]
        network = build_model(task, config["model"]).fit(samples[-1].x, samples[-1].y)
        history = fit(
            network,
            _training_samples(samples, plan.model["forecast"]),
            MemorySamples(trees[-1]["val"].to_dataset(), task),
            training,
            error=relative_l2,
            coords=coords_of(task, trained_grid(task)),  # None on the grids of our solvers
            folder=path / "checkpoints",
            at_epoch_end=lambda rows: write_history(path, rows),
            progress=progress,
            **plan.machine,
        )
        run = Run(network.eval(), task, config, {}, history, path, trees[-1])
        return finish(run, progress=progress)


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


def _training_samples(samples: list[MemorySamples], forecast: str | None):
    if forecast == "steps":
        return WindowSamples(samples[0])
    return samples[0] if len(samples) == 1 else SeveralGrids(samples)


@contextlib.contextmanager
def own_random_numbers(seed: int) -> Iterator[None]:
    """Random numbers of this seed; afterwards those of the caller go on where they were."""
    before = rng_state()
    torch.manual_seed(seed)
    try:
        yield
    finally:
        set_rng_state(before)


# --- refusing what cannot work --------------------------------------------------------------------


class Plan(NamedTuple):
    """What `train_pde` is going to do."""

    training: Training
    model: dict[str, Any]
    augment: bool
    machine: dict[str, Any]
    data: "Callable[[], tuple[list[xr.DataTree], dict[str, Any]]]"  # made when called


def planned(
    name: str,
    op: str,
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
    progress: bool = True,
    devices: int = 1,
    num_nodes: int = 1,
    strategy: str = "auto",
    accelerator: str = "cpu",
    **options,
) -> Plan:
    """The plan of `train_pde`, if it can work; nothing is generated and no folder is touched."""
    forecast = _forecast(name, forecast)
    parameters, rates, network = _sorted_options(name, op, forecast, options)
    usual = settings(name, op, recipe, forecast)
    numbers = dict(epochs=whole(epochs, "epochs"), batch_size=whole(batch_size, "batch_size"))
    numbers |= dict(seed=whole(seed, "seed", least=0), coarse=coarse)
    training = changed(usual.training, **numbers, **rates)
    model = {"op": op, "forecast": forecast, **usual.model, **network}
    counts = {"train": n_train, "val": n_val, "test": n_test}
    if coarse is not None and np.size(resolution) == 1:
        raise ValueError(f"coarse={coarse} divides the epochs among several grids; there is one")
    machine = dict(devices=devices, num_nodes=num_nodes, strategy=strategy, accelerator=accelerator)
    expect_machine(machine)
    if data is None:
        grids, counts = _grids(resolution, usual.resolution, forecast), _counts(counts, usual)
        _rehearse([task_to_be(name, r, parameters) for r in grids], model)

        def made():
            pairs = [generated(name, r, counts, parameters, progress=progress) for r in grids]
            return [tree for tree, _ in pairs], pairs[-1][1]

    else:
        tree, described = given(data, counts)
        _expect_no_choice(name, resolution, parameters, tree)
        _rehearse([task_of(tree["train"].to_dataset())], model)

        def made():
            return [tree], described

    return Plan(training, model, usual.augment if augment is None else augment, machine, made)


def expect_machine(machine: Mapping[str, Any]) -> None:
    """Have Lightning look for the processors; from now on it knows which process this one is."""
    quiet = ("logger", "enable_checkpointing", "enable_model_summary", "enable_progress_bar")
    try:
        with _quietly(), warnings.catch_warnings(action="ignore"):
            pl.Trainer(**machine, **dict.fromkeys(quiet, False))
    except (MisconfigurationException, TypeError, RuntimeError) as error:
        asked = ", ".join(f"{name}={value!r}" for name, value in machine.items())
        raise ValueError(f"this machine cannot train with {asked}: {error}") from error


def _sorted_options(
    name: str, op: str, forecast: str | None, options: Mapping[str, Any]
) -> tuple[dict, dict, dict]:
    """Parameters of the equation, changes of the optimisers, options of the network."""
    kinds = tuple(domain_named(name).parameters), CHANGES, _network_options(op, forecast)
    unknown = [key for key in options if not any(key in kind for kind in kinds)]
    if unknown:
        raise ValueError(
            f"there is no option {', '.join(unknown)}; op={op!r} has {', '.join(kinds[2])}, "
            f"{name} has {', '.join(kinds[0])}, and both have {', '.join(CHANGES)}"
        )
    return tuple({k: v for k, v in options.items() if k in kind} for kind in kinds)


def _network_options(op: str, forecast: str | None) -> tuple[str, ...]:
    known = [*OPERATORS, *BASELINES]
    if op not in known:
        raise ValueError(f"there is no op={op!r}; there are {', '.join(known)}")
    makers = [BASELINES[op]] if op in BASELINES else [FnoCnn, OPERATORS[op]]
    known = [p for maker in makers for p in inspect.signature(maker).parameters.values()]
    noise = ["noise"] if forecast == "steps" else []
    return tuple([p.name for p in known if p.kind is p.KEYWORD_ONLY] + noise)


def _forecast(name: str, forecast: str | None) -> str | None:
    if name in ("protein", "music"):
        raise ValueError(f"{name} is no equation: it is trained by sciops.train_{name}(…)")
    in_time = any(field.frames for field in domain_named(name).inputs)
    if forecast is None:
        return WAYS[0] if in_time else None
    if not in_time:
        raise ValueError(
            f"{name} has no frames in time to forecast; leave forecast={forecast!r} out"
        )
    if forecast not in WAYS:
        raise ValueError(f"forecast={forecast!r} is not known; choose one of {', '.join(WAYS)}")
    return forecast


def _counts(asked: Mapping[str, int | None], usual: Settings) -> dict[str, int]:
    counts = {s: getattr(usual, f"n_{s}") if n is None else n for s, n in asked.items()}
    return {split: whole(n, f"n_{split}") for split, n in counts.items()}


def _grids(resolution: int | Sequence[int] | None, usual: int, forecast: str | None) -> list[int]:
    asked = usual if resolution is None else resolution
    grids = [asked] if np.ndim(asked) == 0 else list(asked)
    if not grids:
        raise ValueError("resolution=[] is empty; give one or several numbers of points")
    if forecast == "steps" and len(grids) > 1:
        raise ValueError("forecast='steps' is trained on one grid; give one resolution")
    return [whole(points, "resolution") for points in grids]


def _rehearse(tasks: Sequence[Task], model: Mapping[str, Any]) -> None:
    """Build the network of the last task and run it once on the grid of each."""
    coords = coords_of(tasks[-1], trained_grid(tasks[-1]))
    where = () if coords is None else (coords,)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            network = build_model(tasks[-1], model)
            for task in reversed(tasks):
                size = [axis.size for axis in task.axes]
                x, y = (torch.zeros(1, c, *size) for c in (task.in_channels, task.out_channels))
                network.fit(x, y)(x, *where)
    except (TypeError, RuntimeError) as error:  # of torch, about a number that makes no sense
        raise ValueError(f"there is no network with {dict(model)}: {error}") from error


def _expect_no_choice(name: str, resolution, parameters: dict, tree: "xr.DataTree") -> None:
    """Given data have their grid and their equation already."""
    task = task_of(tree["train"].to_dataset())
    size = task.axes[0].size
    if resolution is not None and np.ravel(resolution).tolist() != [size]:
        raise ValueError(
            f"the data have {size} points on an axis, resolution={resolution} cannot be had; leave "
            "it out, or thin the data with sciops.read(…, resolution=…)"
        )
    if parameters:
        raise ValueError(
            f"{', '.join(parameters)} are parameters of data to be generated, but data are given; "
            "leave them out"
        )
    if task.name != name and task.name in DOMAINS:
        raise ValueError(f"these are data of {task.name!r}, not of {name!r}; say which you mean")
