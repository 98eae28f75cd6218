"""The folder of a run: claimed before training, filled by it, whole at its end."""

import contextlib
import json
import math
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.utilities import rank_zero_only

from sciops.atomic import clear_stages, locked, read_bytes, write_text, writing
from sciops.checkpoint import save_model
from sciops.data.schema import canonical, digest
from sciops.operators import arch_parameters
from sciops.operators.operator import notes_of
from sciops.task import task_as_dict
from sciops.version import __version__

from .run import AbstractRun
from .trimming import write_trimmed

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
    file = path / "config.json"
    if not path.exists() or _is_empty(path):
        with writing(path):
            clear_stages(path, "config.json*")
            if not file.exists():  # another process may have been faster
                write_text(file, json.dumps(config, indent=1))
    elif not file.exists():
        raise ValueError(f"{path} exists and is not a run; choose another folder with out=…")
    _expect_same(file, config)
    return path, (path / "model.json").exists()


def _is_empty(path: Path) -> bool:
    """Whether a folder has nothing but what processes that were killed left of config.json."""
    return path.is_dir() and all(p.match(".config.json*.partial") for p in path.iterdir())


@contextlib.contextmanager
def only_process(path: Path) -> Iterator[None]:
    """Be the only process, or group of processes, that trains in the folder of a run."""
    with contextlib.ExitStack() as held:
        if is_first_process():
            try:
                held.enter_context(locked(path / "config.json", wait=0))
            except TimeoutError:
                raise ValueError(
                    f"{path}: another process trains in this folder; wait until it has ended, or "
                    "choose another folder with out=…"
                ) from None
            clear_stages(path)
        yield


def is_first_process() -> bool:
    """Of those that train together, which all do the same; only one has to write and say it."""
    return rank_zero_only.rank == 0


def _expect_same(file: Path, config: dict[str, Any]) -> None:
    try:
        found = json.loads(read_bytes(file) or b"")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{file} is damaged; remove {file.parent} or choose another folder")
    if found != config:
        there, asked = _flat(found), _flat(config)
        pairs = {k: (there.get(k, "nothing"), asked.get(k, "nothing")) for k in asked | there}
        differences = [f"{k}: {a} there, {b} asked for" for k, (a, b) in pairs.items() if a != b]
        raise ValueError(
            f"{file.parent} holds another run ({'; '.join(differences)}); choose another folder "
            "with out=…, or remove it"
        )


def _flat(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """
    >>> _flat({"op": "xd", "training": {"epochs": 20}})
    {'op': 'xd', 'training.epochs': 20}
    """
    flat = {}
    for key, value in config.items():
        inner = isinstance(value, Mapping)
        flat |= _flat(value, f"{before}{key}.") if inner else {before + key: value}
    return flat


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
