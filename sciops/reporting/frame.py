"""The frame of every report: what all pages about runs have in common, whatever was trained.

What a kind of run has to say of its own is an `Own`, of `own_parts(run)` in its module.  The page
is a single file that needs no network and no script.  Two pages of the same run are the same bytes.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sciops.atomic import clear_stages, locked, write_text
from sciops.operators import drift
from sciops.runs import TASKS
from sciops.version import __version__

from .page import code, details, duration, heading, page, pair, paragraph, section, tiles
from .sections import learning_section, maps_section
from .sizes_section import sizes_section

if TYPE_CHECKING:
    from sciops.runs.run import AbstractRun


class Own(NamedTuple):
    """What a page says that others do not.

    title:    of the page
    lead:     what was trained
    note:     a remark on the data, "" for none
    numbers:  the scores in large, {what: how much}
    results:  sections before the learning curve
    beside:   sections beside it
    further:  sections after it
    again:    the last section: its title, and what it has beside the configuration
    """

    title: str
    lead: str
    note: str
    numbers: dict[str, str]
    results: Sequence[str]
    beside: Sequence[str] = ()
    further: Sequence[str] = ()
    again: Sequence[str] = ("How to do it again",)


def write_report(run: "AbstractRun", path: str | Path | None = None) -> Path:
    """Write the page of a run to the file `path`, whole or not at all; None is report.html."""
    path = run.path / "report.html" if path is None else Path(path)
    return write_page(path, lambda: report_text(run), "run")


def write_page(path: Path, text: Callable[[], str], whose: str) -> Path:
    """Write a page whole or not at all; whose: the name that messages give to what has it."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of the file, {path / 'report.html'}")
    made = text()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent, wait=60):
            clear_stages(path.parent, f"{path.name}*")
            write_text(path, made)
    except OSError as error:
        raise OSError(
            f"cannot write {path} ({error}); write it elsewhere: {whose}.report('elsewhere.html')"
        ) from error
    return path


def report_text(run: "AbstractRun") -> str:
    """The page."""
    name = run.config["name"]
    module = f"{name}_report" if name in TASKS else "report"
    own = import_module(f".{module}", __package__).own_parts(run)
    return page(own.title, list(_parts(run, own)))


def _parts(run: "AbstractRun", own: Own) -> Iterator[str]:
    yield heading(own.title)
    yield paragraph(own.lead, "lead")
    if own.note:
        yield paragraph(own.note, "note")
    yield tiles(own.numbers | _costs(run))
    yield from own.results
    learned = learning_section(run.history)
    yield pair(learned, *own.beside) if own.beside else learned
    yield from own.further
    if len(moved := drift(run.model)):
        yield maps_section(run.model, moved)
    yield sizes_section(run)
    title, *before = own.again
    yield section(title, *before, details("Configuration", code(pretty(run.config))))
    yield footer()


def footer() -> str:
    """Who wrote the page."""
    return f"<footer>Written by sciops {__version__}.</footer>"


def _costs(run: "AbstractRun") -> dict[str, str]:
    parameters = sum(p.numel() for p in run.model.parameters())
    return {
        "time of training": duration(run.metrics["train_seconds"]),
        "parameters": f"{parameters:,}".replace(",", " "),
    }


def pretty(config: dict[str, Any]) -> str:
    """A configuration as people read it."""
    return json.dumps(config, indent=2, ensure_ascii=False)
