"""The command that trains a run again, from its configuration alone.

Every setting is written out, so that it does not depend on what a recipe will be one day.
"""

import json
import shlex
from typing import Any

from sciops.config import OPTIMISATION

COUNTS = ("n_train", "n_val", "n_test")


def command_of(config: dict[str, Any]) -> str:
    """`sciops train …` with the settings of a run's config.json, but for the folder of the run.

    >>> rates = {"weights": {"rate": 0.001}, "architecture": {"rate": 0.01}}
    >>> training = {"epochs": 5, "batch_size": 10, "symmetries": [], **rates}
    >>> data = {"n_train": 40, "n_val": 5, "n_test": 5, "seed": 0, "parameters": {"low": 4}}
    >>> model = {"op": "xd", "forecast": None, "width": 8}
    >>> config = {"name": "darcy", "op": "xd", "recipe": "quick", "grids": [43], "seed": 1}
    >>> print(command_of({**config, "training": training, "model": model, "data": data}))
    sciops train darcy --op xd --recipe quick --resolution 43 --n-train 40 --n-val 5 --n-test 5 \\
        --epochs 5 --batch-size 10 --seed 1 --no-augment \\
        --set rate=0.001 --set arch_rate=0.01 --set low=4 --set width=8
    """
    data, training, model = config["data"], config["training"], config["model"]
    source = {"recipe": config["recipe"], **_source(config)}
    counts = {name: data[name] for name in COUNTS}
    how = {name: training[name] for name in ("epochs", "batch_size")} | {"seed": config["seed"]}
    for name in ("coarse", "h1"):
        if training.get(name) is not None:  # older runs have none
            how[name] = training[name]
    if model["forecast"] is not None:
        how["forecast"] = model["forecast"]
    others = {
        **_optimisers(training),
        **data.get("parameters", {}),
        **{name: value for name, value in model.items() if name not in ("op", "forecast")},
    }
    first = f"sciops train {shlex.quote(config['name'])} --op {shlex.quote(config['op'])}"
    given = " ".join(f"--set {shlex.quote(f'{k}={_text(v)}')}" for k, v in others.items())
    augment = "--augment" if training["symmetries"] else "--no-augment"
    lines = f"{first} {_options(source | counts)}", f"{_options(how)} {augment}", given
    return " \\\n    ".join(lines)


def _optimisers(training: dict[str, Any]) -> dict[str, Any]:
    """What can be set of them; what is not used is left out, unless a recipe has it."""
    groups = {"": training["weights"], "arch_": training["architecture"]}
    return {
        f"{prefix}{name}": group[name]
        for prefix, group in groups.items()
        for name in OPTIMISATION
        if group.get(name) is not None
    }


def _source(config: dict[str, Any]) -> dict[str, str]:
    """Data that were given have their grid; those that were in memory have no name."""
    data = config["data"]
    if "fingerprint" in data:
        return {"data": data["given"] or "YOUR-DATA.zarr"}
    return {"resolution": ",".join(str(points) for points in config["grids"])}


def _options(values: dict[str, Any]) -> str:
    return " ".join(f"--{k.replace('_', '-')} {shlex.quote(str(v))}" for k, v in values.items())


def _text(value: Any) -> str:
    """Text as it is, the rest as JSON, which is what --set reads."""
    return value if isinstance(value, str) else json.dumps(value)


def search_command(asked: dict[str, Any]) -> str:
    """`sciops search …` as it was asked for, but for the folder.

    >>> asked = {"task": "digits", "space": "xd", "strategy": "joint", "budget": 5, "seed": 0}
    >>> print(search_command({**asked, "network": "lenet", "options": {"depth": 3}}))
    sciops search digits --space xd --strategy joint --budget 5 --seed 0 --network lenet \\
        --set depth=3
    """
    asked = dict(asked)
    options, task = asked.pop("options"), shlex.quote(asked.pop("task"))
    flags = [f" --no-{name}" for name in ("offline", "controls") if not asked.pop(name, True)]
    values = _options({k: v for k, v in asked.items() if v is not None})
    line = f"sciops search {task} {values}{''.join(flags)}"
    given = [f"--set {shlex.quote(f'{k}={_text(v)}')}" for k, v in options.items()]
    return " \\\n    ".join([line, *([" ".join(given)] if given else [])])
