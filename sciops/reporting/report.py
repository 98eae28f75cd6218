"""One HTML page about a run: what was trained, how good it is, how it looks, how to do it again.

The page is a single file that needs no network and no script.  Two pages of the same run are the
same bytes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sciops.atomic import read_json, write_text
from sciops.evaluation.grids import evenly_spaced, geometry
from sciops.operators.learned_maps import drift
from sciops.plots.style import label_of, short
from sciops.task import Field
from sciops.version import __version__

from .command import command_of
from .page import (
    code,
    counted,
    details,
    duration,
    heading,
    page,
    pair,
    paragraph,
    section,
    table,
    tiles,
)
from .sections import (
    learning_section,
    maps_section,
    rollout_section,
    samples_section,
    scores_section,
    spectra_section,
    transfer_section,
)

if TYPE_CHECKING:
    import xarray as xr

    from sciops.runs.run import Run

NETWORKS = {
    "conv": "A convolutional network",
    "fno": "A Fourier neural operator",
    "neuralop": "neuraloperator's Fourier neural operator",
    "unet": "A U-Net",
    "xd": "A network of XD operations",
    "xd-grid": "A network of XD operations on a fixed grid",
}


def write_report(run: "Run", path: str | Path, *, transfer: "xr.Dataset | None" = None) -> Path:
    """Write the page of a run to the file `path`, whole or not at all.

    transfer: to be shown too; None is the last that the run made
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of the file, {path / 'report.html'}")
    text = report_text(run, run.transferred if transfer is None else transfer)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    return path


def report_text(run: "Run", transfer: "xr.Dataset | None" = None) -> str:
    """The page."""
    test, scores = run.data["test"].to_dataset(), run.evaluate()
    title = f"{run.config['op']} on {test.attrs.get('title') or run.config['name']}"
    return page(title, list(_parts(run, title, test, scores, transfer)))


def _parts(run: "Run", title: str, test, scores, transfer) -> Iterator[str]:
    yield heading(title)
    yield paragraph(_what_was_trained(run, test), "lead")
    if equation := test.attrs.get("equation"):
        yield paragraph(str(equation), "note")
    yield tiles(_headline(run, scores))
    yield scores_section(scores)
    yield samples_section(run.model, test, run.task, scores)
    curves = [learning_section(run.history)]
    if evenly_spaced(geometry(run.task, test)):
        curves.append(spectra_section(run.model, test, run.task))
    yield pair(*curves)
    if run.config["model"].get("forecast") is not None:
        yield rollout_section(run.rollout())
    if transfer is not None:
        yield transfer_section(transfer)
    if len(moved := drift(run.model)):
        yield maps_section(run.model, moved)
    yield _again(run, test)
    yield f"<footer>Written by sciops {__version__}.</footer>"


# --- what was trained -----------------------------------------------------------------------------


def _what_was_trained(run: "Run", test: "xr.Dataset") -> str:
    op, epochs = run.config["op"], len(run.history)
    network = NETWORKS.get(op, f"A network with the operator {op}")
    inputs, targets = (_names(side, test) for side in (run.task.inputs, run.task.targets))
    samples = run.data["train"].sizes["sample"]
    return (
        f"{network} learned to predict {targets} from {inputs}. It had "
        f"{counted(samples, 'training sample')} on {_grids(run)}, and "
        f"{counted(epochs, 'epoch')} ({duration(run.metrics['train_seconds'])})."
    )


def _grids(run: "Run") -> str:
    size = " × ".join(str(axis.size) for axis in run.task.axes)
    others = [str(points) for points in run.config["grids"][:-1]]
    also = f" and coarser or finer ones of {', '.join(others)} along an axis" if others else ""
    return f"a grid of {size} points{also}"


def _names(side: tuple[Field, ...], ds: "xr.Dataset") -> str:
    """The fields of one side of a task in words.

    >>> import xarray as xr
    >>> _names((Field("w", (0, 10)), Field("a")), xr.Dataset({"w": 0, "a": 0}))
    '10 frames of w and a'
    """
    names = [
        ("" if f.frames is None else f"{counted(f.channels, 'frame')} of ")
        + label_of(f.variable, ds[f.variable].attrs)
        for f in side
    ]
    return " and ".join(names)


def _headline(run: "Run", scores: "xr.Dataset") -> dict[str, str]:
    numbers = {"relative L2 error, test": short(float(scores["relative_l2"].mean(skipna=False)))}
    if "val_relative_l2" in run.metrics:
        numbers["relative L2 error, validation"] = short(run.metrics["val_relative_l2"])
    parameters = sum(p.numel() for p in run.model.parameters())
    numbers["time of training"] = duration(run.metrics["train_seconds"])
    numbers["parameters"] = f"{parameters:,}".replace(",", " ")
    return numbers


# --- how to do it again ---------------------------------------------------------------------------


def _again(run: "Run", test: "xr.Dataset") -> str:
    config, parameters = run.config, test.attrs.get("parameters") or {}
    facts = {
        "problem": test.attrs.get("title") or config["name"],
        "samples": ", ".join(f"{run.data[s].sizes['sample']} {s}" for s in run.data.children),
        "parameters": ", ".join(f"{name} = {value}" for name, value in parameters.items()),
        "source": test.attrs.get("source", ""),
        "licence": test.attrs.get("license", ""),
        "fingerprint": config["data"].get("fingerprint", ""),
        **_machine(run.path),
    }
    return section(
        "Data, versions, and how to do it again",
        code(command_of(config)),
        table([], [[name, str(value)] for name, value in facts.items() if value != ""], "text"),
        details("Configuration", code(json.dumps(config, indent=2, ensure_ascii=False))),
    )


def _machine(folder: Path) -> dict[str, str]:
    """What the run was trained with, as its model.json has it."""
    file = folder / "model.json"
    notes = read_json(file)["notes"] if file.exists() else {}
    kinds = {name: notes.get(name, {}) for name in ("versions", "machine")}
    return {name: ", ".join(f"{k} {v}" for k, v in kind.items()) for name, kind in kinds.items()}
