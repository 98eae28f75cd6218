"""What `train_pde` is going to do, or why it cannot.

What cannot work is refused first, before data are generated or a folder is touched.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from sciops.backbones import BASELINES, NETWORKS, TERM, FnoCnn, build_model
from sciops.backbones.choice import OPERATORS
from sciops.backbones.forecasting import WAYS
from sciops.backbones.term_network import TERM_OPTIONS
from sciops.config import CHANGES, Training
from sciops.data.samples import task_of
from sciops.domains import DOMAINS, domain_named
from sciops.evaluation.grids import coords_of, trained_grid
from sciops.suggestions import did_you_mean
from sciops.task import Task
from sciops.trainer import usable_machine

from . import TASKS
from .data import generated, given, task_to_be, whole
from .frame import asked_training, expect_known
from .recipes import Settings, settings

if TYPE_CHECKING:
    import xarray as xr


class Plan(NamedTuple):
    """What `train_pde` is going to do."""

    training: Training
    model: dict[str, Any]
    augment: bool
    machine: dict[str, Any]
    data: "Callable[[], tuple[list[xr.DataTree], dict[str, Any]]]"  # made when called


def planned(
    *,
    name: str,
    op: str,
    resolution: int | Sequence[int] | None,
    n_train: int | None,
    n_val: int | None,
    n_test: int | None,
    epochs: int | None,
    batch_size: int | None,
    seed: int,
    data,
    recipe: str,
    forecast: str | None,
    augment: bool | None,
    coarse: float | None,
    h1: float | None,
    progress: bool,
    options: Mapping[str, Any],
    **machine,
) -> Plan:
    """The plan of `train_pde`, of whose arguments it takes all but two, if it can work."""
    forecast = _forecast(name, forecast)
    counts = {"train": n_train, "val": n_val, "test": n_test}
    parameters, rates, network = _sorted_options(name, op, forecast, options)
    tree, described = (None, None) if data is None else given(data, counts)
    known = parameters if tree is None else tree["train"].attrs.get("parameters", {})
    usual = settings(name, op, recipe, forecast, known, network)
    numbers = dict(epochs=epochs, batch_size=batch_size, seed=seed, coarse=coarse, h1=h1)
    training = asked_training(usual.training, **numbers, **rates)
    model = {"op": op, "forecast": forecast, **usual.model, **network}
    if coarse is not None and np.size(resolution) == 1:
        raise ValueError(f"coarse={coarse} divides the epochs among several grids; there is one")
    usable_machine(**machine)
    if tree is None:
        parameters = {**usual.parameters, **parameters}
        grids, counts = _grids(resolution, usual.resolution, forecast), _counts(counts, usual)
        _rehearse([task_to_be(name, r, parameters) for r in grids], model)

        def made():
            pairs = [generated(name, r, counts, parameters, progress=progress) for r in grids]
            return [tree for tree, _ in pairs], pairs[-1][1]

    else:
        _expect_no_choice(name, resolution, parameters, tree)
        _rehearse([task_of(tree["train"].to_dataset())], model)

        def made():
            return [tree], described

    return Plan(training, model, usual.augment if augment is None else augment, machine, made)


def _sorted_options(
    name: str, op: str, forecast: str | None, options: Mapping[str, Any]
) -> tuple[dict, dict, dict]:
    """Parameters of the equation, changes of the optimisers, options of the network."""
    kinds = tuple(domain_named(name).parameters), CHANGES, network_options(op, forecast)
    unknown = [key for key in options if not any(key in kind for kind in kinds)]
    if unknown:
        raise ValueError(
            f"there is no option {', '.join(unknown)}; op={op!r} has {', '.join(kinds[2])}, "
            f"{name} has {', '.join(kinds[0])}, and both have {', '.join(CHANGES)}"
            f"{did_you_mean(unknown[0], sum(kinds, ()))}"
        )
    return tuple({k: v for k, v in options.items() if k in kind} for kind in kinds)


def network_options(op: str, forecast: str | None) -> tuple[str, ...]:
    expect_known(op=(op, NETWORKS))
    noise = ("noise",) if forecast == "steps" else ()
    if op == TERM:
        return TERM_OPTIONS + noise
    makers = [BASELINES[op]] if op in BASELINES else [FnoCnn, OPERATORS[op]]
    known = [p for maker in makers for p in inspect.signature(maker).parameters.values()]
    return tuple(p.name for p in known if p.kind is p.KEYWORD_ONLY) + noise


def _forecast(name: str, forecast: str | None) -> str | None:
    if name in list(TASKS):
        raise ValueError(f"{name} is no equation: it is trained by sciops.train_{name}(…)")
    in_time = any(field.frames for field in domain_named(name).inputs)
    if forecast is None:
        return WAYS[0] if in_time else None
    if not in_time:
        raise ValueError(
            f"{name} has no frames in time to forecast; leave forecast={forecast!r} out"
        )
    if forecast not in WAYS:
        raise ValueError(
            f"forecast={forecast!r} is not known; choose one of {', '.join(WAYS)}"
            f"{did_you_mean(forecast, WAYS)}"
        )
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
