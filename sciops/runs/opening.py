"""Opening the folder of a run; what is in it is told in `run`."""

import math
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from sciops.checkpoint import CheckpointError, load_model
from sciops.task import task_from
from sciops.version import __version__

from . import TASKS
from .descriptions import WRONG, expect_sizes, expect_weights_of_term
from .networks import network_of
from .run import AbstractRun, Run

if TYPE_CHECKING:
    import pandas as pd


def open_run(path: str | Path) -> AbstractRun:
    """A run that was trained before.

    The model, its scores and its history are in the folder; its data are found or generated again
    when they are asked for.
    """
    path = Path(path).resolve()
    if not (path / "model.json").exists():
        unfinished = (path / "config.json").exists()
        raise ValueError(
            f"{path} is a run that was not finished; call the same training again to finish it"
            if unfinished
            else f"{path} is not a run: it has no model.json; give the folder that was out=… of one"
        )
    try:
        tensors, description = load_model(path)
    except CheckpointError as error:
        if not any(path.glob("checkpoints/save-*")):
            raise
        raise CheckpointError(
            f"{error}; or remove {path / 'model.json'} and call the same training again, which "
            "finishes it from checkpoints/"
        ) from error
    try:
        task, config = task_from(description["task"]), description["config"]
        expect_sizes(config["model"], tensors)
        expect_weights_of_term(task, config["model"], tensors)
        model = network_of(task, config["model"])
        model.load_state_dict(tensors)
        metrics = {k: math.nan if v is None else v for k, v in description["metrics"].items()}
        history = _history(path / "metrics.csv", config["training"]["epochs"])
        kind = _kind_of(config["name"])
    except WRONG as error:
        versions = description.get("versions")
        written = versions.get("sciops") if isinstance(versions, Mapping) else None
        raise CheckpointError(
            f"{path} is not a run that this version of sciops, {__version__}, can open ({error}); "
            f"it was written by {written or 'another program'}; copy the whole folder again, or "
            "train again"
        ) from error
    run = kind(model.eval(), task, config, metrics, history, path)
    run.data_marks = description.get("data", {})
    return run


def _history(file: Path, epochs: int) -> "pd.DataFrame":
    import pandas as pd

    history = pd.read_csv(file)
    if len(history) != epochs or not file.read_bytes().endswith(b"\n"):
        raise ValueError(f"{file.name} is cut short: {len(history)} of {epochs} epochs are whole")
    return history


def _kind_of(name: str) -> type[AbstractRun]:
    if name not in TASKS:
        return Run
    return getattr(import_module(f".{name}_run", __package__), f"{name.title()}Run")
