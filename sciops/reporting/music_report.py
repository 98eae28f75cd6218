"""One HTML page about a network that predicts music."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sciops.atomic import write_text
from sciops.operators.learned_maps import drift
from sciops.plots.style import short
from sciops.version import __version__

from .page import (
    code,
    counted,
    details,
    drawing,
    duration,
    heading,
    page,
    paragraph,
    section,
    table,
    tiles,
)
from .sections import learning_section, maps_section

if TYPE_CHECKING:
    from sciops.runs.music_run import MusicRun


def write_report(run: "MusicRun", path: str | Path) -> Path:
    """Write the page of a run to the file `path`, whole or not at all."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of the file, {path / 'report.html'}")
    title = f"{run.config['op']} on {run.data['test'].attrs.get('title', 'music')}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page(title, list(_parts(run, title))))
    return path


def _parts(run: "MusicRun", title: str) -> Iterator[str]:
    yield heading(title)
    yield paragraph(_what_was_trained(run), "lead")
    if run.data["test"].attrs.get("synthetic"):
        yield paragraph("These pieces are synthetic: nobody composed them.", "note")
    yield tiles(_headline(run))
    yield _scores_section(run)
    caption = "The first test pieces. Row t is predicted from the frames before t alone."
    yield section("What it expects", drawing(run.plot(), "piano-rolls", caption))
    yield learning_section(run.history)
    if len(moved := drift(run.model)):
        yield maps_section(run.model, moved)
    config = json.dumps(run.config, indent=2, ensure_ascii=False)
    yield section("How to do it again", details("Configuration", code(config)))
    yield f"<footer>Written by sciops {__version__}.</footer>"


def _what_was_trained(run: "MusicRun") -> str:
    best = int(run.history["val_nats"].idxmin()) + 1
    pieces = counted(run.data["train"].sizes["piece"], "piece")
    return (
        f"A temporal convolutional network ({run.config['op']}) learned to predict which of 88 "
        f"keys sound in the next frame. It had {pieces} "
        f"and {counted(len(run.history), 'epoch')} ({duration(run.metrics['train_seconds'])}); "
        f"kept is the model of epoch {best}, which has the least validation error."
    )


def _headline(run: "MusicRun") -> dict[str, str]:
    parameters = sum(p.numel() for p in run.model.parameters())
    return {
        "nats per frame, test": f"{run.metrics['test_nats']:.3f}",
        "nats per frame, validation": f"{run.history['val_nats'].min():.3f}",
        "time of training": duration(run.metrics["train_seconds"]),
        "parameters": f"{parameters:,}".replace(",", " "),
    }


def _scores_section(run: "MusicRun") -> str:
    """Over all frames, and over pieces, beside the marginals of the keys."""
    scores = run.evaluate()
    values = scores["nats"].to_series()
    rows = [
        ["this network, over all frames", f"{scores.attrs['nats']:.3f}"],
        ["each key by how often it sounds", f"{run.metrics['test_marginal_nats']:.3f}"],
        ["the median piece", short(float(values.median()))],
        ["the worst piece", f"{short(float(values.max()))} (piece {values.idxmax()})"],
    ]
    count = counted(scores.sizes["piece"], "test piece")
    return section(f"Nats per frame on {count}", table(["", "nats per frame"], rows))
