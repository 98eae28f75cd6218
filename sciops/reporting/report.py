"""What the page about a network for an equation has to say."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sciops.atomic import read_json
from sciops.evaluation.grids import evenly_spaced, geometry
from sciops.plots.style import label_of, short
from sciops.task import Field

from .command import command_of
from .frame import Own
from .page import code, counted, duration, table
from .sections import (
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
    "dnarch": "A continuous CNN, its sizes learned (DNArch),",
    "fno": "A Fourier neural operator",
    "neuralop": "neuraloperator's Fourier neural operator",
    "unet": "A U-Net",
    "xd": "A network of XD operations",
    "xd-grid": "A network of XD operations on a fixed grid",
}


def own_parts(run: "Run") -> Own:
    """What the page of a run has to say; other grids are those of its last `transfer`."""
    test, scores = run.data["test"].to_dataset(), run.evaluate()
    even = evenly_spaced(geometry(run.task, test))
    return Own(
        title=f"{run.config['op']} on {test.attrs.get('title') or run.config['name']}",
        lead=_what_was_trained(run, test),
        note=str(test.attrs.get("equation", "")),
        numbers=_headline(run, scores),
        results=[scores_section(scores), samples_section(run.model, test, run.task, scores)],
        beside=[spectra_section(run.model, test, run.task)] if even else [],
        further=list(_further(run)),
        again=["Data, versions, and how to do it again", *_again(run, test)],
    )


def _further(run: "Run") -> Iterator[str]:
    if run.config["model"].get("forecast") is not None:
        yield rollout_section(run.rollout())
    if run.transferred is not None:
        yield transfer_section(run.transferred)


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
    return numbers


# --- how to do it again ---------------------------------------------------------------------------


def _again(run: "Run", test: "xr.Dataset") -> list[str]:
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
    rows = [[name, str(value)] for name, value in facts.items() if value != ""]
    return [code(command_of(config)), table([], rows, "text")]


def _machine(folder: Path) -> dict[str, str]:
    """What the run was trained with, as its model.json has it."""
    file = folder / "model.json"
    notes = read_json(file)["notes"] if file.exists() else {}
    kinds = {name: notes.get(name, {}) for name in ("versions", "machine")}
    return {name: ", ".join(f"{k} {v}" for k, v in kind.items()) for name, kind in kinds.items()}
