"""One search, whatever the space and the strategy: found, judged, compared, kept.

    backbone        control: the network as it is
    random-member   control: a random architecture of the space, weights trained
    supernet        the network the strategy ends with, weights found with the architecture
    offline         the architecture found, frozen, with weights trained from scratch
    teacher         of a guided search, the network that guides it; neither search nor control

All have the same training data, number of epochs and first weights.  Validation data choose; test
data are looked at once for each network and choose nothing.
"""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn
from torch.utils.data import Dataset

from sciops.config import Training
from sciops.training import Error, Units, samples_in

from .result import SearchResult
from .search_bar import SearchBar
from .search_folder import claimed
from .space import AbstractSpace, architecture_of, freeze
from .spaces import make_space
from .strategies import AbstractStrategy, make_strategy
from .work import Data, Work


def run_search(
    model_factory: Callable[[], nn.Module],
    train_set: Dataset,
    val_set: Dataset,
    test_set: Dataset | None,
    loss: Error,
    *,
    training: Training,
    space: str | AbstractSpace = "xd",
    strategy: str | AbstractStrategy = "joint",
    metric: Error | None = None,
    units: Units = samples_in,
    retrain_epochs: int | None = None,
    offline: bool = True,
    controls: bool = True,
    folder: str | Path | None = None,
    notes: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> SearchResult:
    """Search a space around a network for the architecture that suits the data.

    Args:
        model_factory: makes the network anew, its weights drawn from the global random numbers.
        train_set, val_set, test_set: data sets of batches, such as MemorySamples.
        loss: of predictions and targets, (batch,), with a `__name__`; what is made small.
        training: epochs (of the search), batch size, seed, optimisers of weights and architecture.
        space, strategy: names, or members of `SPACES` and `STRATEGIES` with their options.
        metric: as `loss`; what is reported and chosen by, the less the better. None is the loss.
        units: of targets, (batch,), such as the frames of a sequence; metrics are per unit.
        retrain_epochs: of controls and offline training; None is as many as the search has.
        offline: whether to train the architecture found from scratch.
        controls: whether to train the backbone and a random member, to compare with.
        folder: where states and the result are kept; a search that is there already goes on.
        notes: of what else is to be kept with the result, as JSON holds it.
        progress: show a bar, if there is a terminal.
    """
    space = make_space(space) if isinstance(space, str) else space
    strategy = make_strategy(strategy) if isinstance(strategy, str) else strategy
    _check(space, strategy, val_set, loss)
    data = Data(train_set, val_set, test_set, loss, metric or loss, units)
    again = training.epochs if retrain_epochs is None else retrain_epochs
    trainings = controls + (controls + offline) * space.learns
    taught = (space.guidance > 0 and strategy.guided) * training.epochs
    bar = SearchBar(training.epochs + taught + trainings * again, shown=progress)
    folder = None if folder is None else Path(folder).resolve()
    work = Work(model_factory, data, space, training, folder, bar)
    config = {
        "space": space.as_dict(),
        "strategy": strategy.as_dict(),
        "training": training.as_dict(),
        "retrain_epochs": again,
        "offline": offline,
        "controls": controls,
        "loss": loss.__name__,
        "metric": getattr(data.metric, "__name__", "metric"),
        "data": _marks(work),
    }
    try:
        with claimed(folder, config):
            result = _search(work, strategy, again, offline=offline, controls=controls)
            result.notes |= notes or {}
            if folder is not None:
                result.save(folder)
    finally:
        bar.stop()
    return result


def _search(work: Work, strategy: AbstractStrategy, again: int, *, offline: bool, controls: bool):
    space = work.space
    if controls:
        work.judge(
            "backbone",
            work.train("backbone", work.backbone(), again),
            role="control",
            evaluation="fixed",
        )
    if controls and space.learns:
        member = freeze(work.random_member())
        work.train("random-member", member, again, may_fail=True)
        work.judge("random-member", member, role="control", evaluation="member")
    if strategy.guided:
        work.train_teacher(work.training.epochs)
    before = set(work.histories)
    model = strategy.search(work, work.training.epochs)
    searched = [name for name in work.histories if name not in before]
    if not any(kept is model for kept in work.models.values()):  # `random` has judged it
        evaluation = "supernet" if space.learns else "fixed"
        work.judge("supernet", model, role="search", evaluation=evaluation, of=searched)
    architecture = architecture_of(model)
    if offline and space.learns:
        final = work.member(architecture)
        work.train("offline", final, again)
        work.judge("offline", final, role="search", evaluation="offline")
    return _result(work, strategy, architecture, searched)


def _result(work: Work, strategy: AbstractStrategy, architecture, searched: list[str]):
    import pandas as pd

    notes = {"training": work.training.as_dict(), "loss": work.data.loss.__name__}
    notes |= {"metric": getattr(work.data.metric, "__name__", "metric"), "left": work.left}
    result = SearchResult(
        work.space,
        strategy,
        architecture,
        work.sample,
        trials=pd.DataFrame(work.rows),
        history=pd.DataFrame(work.history()),
        distances=pd.DataFrame(
            work.distance_rows(searched), columns=["epoch", "layer", "distance"]
        ),
        notes=notes,
    )
    result.model = work.models[result.best["trial"]]
    return result


def _check(space: AbstractSpace, strategy: AbstractStrategy, val_set, loss: Error) -> None:
    if not space.learns and strategy.name != "joint":
        raise ValueError(
            f"space {space.name!r} has one member, with nothing to search by {strategy.name!r}; "
            "use strategy='joint', which trains its weights"
        )
    if val_set is None or len(val_set) == 0:
        raise ValueError("validation data choose between architectures: give val_set")
    if not hasattr(loss, "__name__"):
        raise ValueError(f"loss={loss!r} has no name; give a function made with def")


def _marks(work: Work) -> dict[str, Any]:
    """What tells networks and data from others: sizes, and hashes of the first of both."""
    counts = {name: len(getattr(work.data, name) or ()) for name in ("train", "val", "test")}
    first = hashlib.sha256(work.sample.contiguous().numpy().tobytes())
    state = work.backbone().state_dict().values()
    weights = hashlib.sha256(b"".join(t.contiguous().numpy().tobytes() for t in state))
    return counts | {"sample": first.hexdigest()[:16], "weights": weights.hexdigest()[:16]}
