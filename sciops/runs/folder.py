"""The folder of a run: claimed before training, filled by it, whole at its end."""

import contextlib
import json
import math
import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.utilities import rank_zero_only

from sciops import claims
from sciops.atomic import write_text
from sciops.checkpoint import save_model, settle_model
from sciops.data.schema import canonical, digest
from sciops.operators import arch_parameters
from sciops.operators.operator import notes_of
from sciops.task import task_as_dict
from sciops.version import __version__

from .run import AbstractRun
from .trimming import write_trimmed

RUN = claims.Kind("config.json", "run", "trains")
RUNS = Path("runs")  # below the working directory, where no folder is given
PACKAGES = ("torch", "neuraloperator", "pytorch-lightning", "numpy", "xarray")


def as_json(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration as it comes back from its file.

    >>> as_json({"model": {"taps": 5, "spacing": (0.1, 0.2)}})
    {'model': {'spacing': [0.1, 0.2], 'taps': 5}}
    """
    try:
        return json.loads(canonical(config))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"an option cannot be written to config.json ({error}); give finite numbers, text, and "
            "lists of them"
        ) from None


def claim(out: str | Path | None, config: dict[str, Any]) -> tuple[Path, bool]:
    """The folder of a run with its config.json, and whether the run is finished.

    A folder of the same run is taken up again; one of anything else is refused.

    config: of `as_json`
    """
    name = f"{config['name']}-{config['op']}-{digest(canonical(config))[:8]}"
    path = (RUNS / name if out is None else Path(out)).resolve()
    claims.claim(path, RUN, config)
    finished = (path / "model.json").exists()
    if finished and is_first_process():
        settle_model(path)
    return path, finished


@contextlib.contextmanager
def only_process(path: Path) -> Iterator[None]:
    """Be the only process, or group of processes, that trains in the folder of a run."""
    with contextlib.ExitStack() as held:
        if is_first_process():
            held.enter_context(claims.only_process(path, RUN))
        yield


def is_first_process() -> bool:
    """Of those that train together, which all do the same; only one has to write and say it."""
    return rank_zero_only.rank == 0


def write_history(path: Path, rows: Sequence[dict[str, float]]) -> None:
    """metrics.csv, one row an epoch."""
    import pandas as pd

    write_text(path / "metrics.csv", pd.DataFrame(rows).to_csv(index=False))


def finish(run: AbstractRun, *, progress: bool = True) -> AbstractRun:
    """Judge a trained model and keep it; of several processes only the first writes."""
    run.data_marks = run.marks()
    run.metrics.update(_judgement(run, progress))
    together = torch.distributed.is_available() and torch.distributed.is_initialized()
    if not together or torch.distributed.get_rank() == 0:
        _write(run)
    if together:  # nobody goes on before the run is whole
        torch.distributed.barrier()
    return run


def _write(run: AbstractRun) -> None:
    write_history(run.path, run.history.to_dict("records"))
    metrics = {name: n if math.isfinite(n) else None for name, n in run.metrics.items()}
    description = {
        "task": task_as_dict(run.task),
        "config": run.config,
        "data": run.data_marks,
        "metrics": metrics,  # JSON has no NaN
        "versions": versions(),
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
        },
    }
    tensors = {name: tensor.contiguous() for name, tensor in run.model.state_dict().items()}
    write_trimmed(run.path, run.model, run.task, run.config["model"])
    save_model(run.path, tensors, description)


def _judgement(run: AbstractRun, progress: bool) -> dict[str, float]:
    """Scores of the test data, the last errors of training, and what it took."""
    last, parameters = run.history.iloc[-1], list(run.model.parameters())
    scores = run.test_scores(progress=progress)
    learned = {n: float(last[n]) for n in last.index if n.startswith(("train_", "val_"))}
    return {
        **{f"test_{name}": value for name, value in scores.items()},
        **learned,
        "train_seconds": float(run.history["seconds"].sum()),
        "parameters": sum(p.numel() for p in parameters),
        "arch_parameters": sum(p.numel() for p in arch_parameters(run.model)),
        **notes_of(run.model),
    }


def versions() -> dict[str, str]:
    known = {"python": platform.python_version(), "sciops": __version__}
    return known | {name: version(name) for name in PACKAGES}
