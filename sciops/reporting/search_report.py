"""One HTML page about a search: what was found, beside what, at which cost."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciops import plots
from sciops.plots.search import distance_curves, filters
from sciops.plots.style import short

from .command import search_command
from .frame import footer, pretty, write_page
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

if TYPE_CHECKING:
    from sciops.searching.result import SearchResult

METRICS = {"error_rate": "share of wrong classes", "relative_l2": "relative L2 error"}
TRIALS = {
    "backbone": "the network as it is",
    "random-member": "a random member of the space",
    "teacher": "the teacher that guided the search",
    "supernet": "found, with the weights of the search",
    "offline": "found, its weights trained anew",
}
SHOWN_LAYERS = 4  # whose filters are drawn
FILTERS = (
    "How an output depends on the inputs around it, at several positions of the grid (marked), "
    "from the first input channel to the first output channel. A convolution has one filter "
    "everywhere."
)


def write_search_report(result: "SearchResult", path: str | Path | None = None) -> Path:
    """Write the page of a search to the file `path`; None is report.html in its folder."""
    if path is None and result.path is None:
        raise ValueError("this search has no folder; say where: result.report('search.html')")
    path = result.path / "report.html" if path is None else Path(path)
    return write_page(path, lambda: search_text(result), "result")


def search_text(result: "SearchResult") -> str:
    """The page."""
    title = f"{result.space.name} searched by {result.strategy.name}"
    if "title" in result.notes:
        title += f" on {result.notes['title']}"
    return page(title, [heading(title), *_parts(result)])


def _parts(result: "SearchResult") -> Iterator[str]:
    yield paragraph(_what_was_searched(result), "lead")
    yield paragraph(_verdict(result), "note")
    yield tiles(_headline(result))
    yield _trials_section(result)
    histories = dict(iter(result.history.groupby("training", sort=False)))
    caption = "Errors after each epoch, of every network that was trained."
    if result.space.guidance:
        caption += " Training errors of the guided search contain what the teacher adds."
    yield section("How they learned", drawing(plots.history(histories), "history", caption))
    if len(result.distances):
        yield _distances_section(result)
    if drawings := list(_filters(result)):
        yield section("What the operations do", paragraph(FILTERS), *drawings)
    yield section("How to do it again", *_again(result))
    yield footer()


def _what_was_searched(result: "SearchResult") -> str:
    notes, cost = result.notes, result.cost
    around = f" around the network {notes['network']['name']}" if "network" in notes else ""
    return (
        f"The space {result.space.name}{around} was searched by the strategy "
        f"{result.strategy.name} for {counted(int(cost['search_epochs']), 'epoch')} "
        f"({duration(cost['search_seconds'])}). Numbers are the {_metric(result)}: the less, the "
        "better. Validation data chose; test data were looked at once for each network."
    )


def _verdict(result: "SearchResult") -> str:
    best = result.best
    if not (result.trials["role"] == "control").any():
        return "No controls were trained, so there is nothing to compare it with."
    found = TRIALS.get(best["trial"], best["trial"])
    if result.won:
        return f"The best network ({found}) is better than all controls, by the validation data."
    return f"The best network ({found}) is not better than all controls, by the validation data."


def _metric(result: "SearchResult") -> str:
    name = result.notes.get("metric", "metric")
    return METRICS.get(name, name)


def _headline(result: "SearchResult") -> dict[str, str]:
    metric, best = _metric(result), result.best
    numbers = {f"{metric}, best, test": short(best["test"])}
    backbone = result.trials[result.trials["trial"] == "backbone"]
    if len(backbone):
        numbers[f"{metric}, the network as it is, test"] = short(backbone["test"].iloc[0])
    seconds = sum(v for name, v in result.cost.items() if name.endswith("_seconds"))
    return {**numbers, "time of all trainings": duration(seconds)}


def _trials_section(result: "SearchResult") -> str:
    """All networks with their cost, and the cost of the parts."""
    head = ["network", "", "validation", "test", "epochs", "time", "parameters", "architecture"]
    rows = [
        [
            *(row["trial"], TRIALS.get(row["trial"], row["role"])),
            *(short(row["val"]), short(row["test"]), str(row["epochs"])),
            *(duration(row["seconds"]), str(row["parameters"]), str(row["arch_parameters"])),
        ]
        for row in result.trials.to_dict("records")
    ]
    parts = {"search": "the search", "offline": "training what it found", "control": "controls"}
    cost = [
        f"{words} {counted(int(result.cost[f'{part}_epochs']), 'epoch')}, "
        f"{duration(result.cost[f'{part}_seconds'])}"
        for part, words in parts.items()
        if result.cost[f"{part}_epochs"]
    ]
    note = paragraph(f"What it cost: {'; '.join(cost)}.", "note")
    return section(f"Networks and their {_metric(result)}", table(head, rows), note)


def _distances_section(result: "SearchResult") -> str:
    """How far the layers moved, and what they became."""
    caption = "How far the operation of each layer is from where the search began."
    rows = [
        [row["layer"], f"{short(100 * row['distance'])} %", str(row["is"])]
        for row in result.layers().fillna("").to_dict("records")
    ]
    parts = [table(["layer", "moved", "is"], rows, "text")]
    if left := result.notes.get("left"):
        rows = [[name or "(network)", reason] for name, reason in left.items()]
        parts.append(details("Layers that were left as they are", table([], rows, "text")))
    figure = drawing(distance_curves(result.distances), "distances", caption)
    return section("What the search changed", figure, *parts)


def _filters(result: "SearchResult") -> Iterator[str]:
    """A figure for each size of grid, of some of the layers that were changed."""
    sizes: dict[tuple[int, ...], dict[str, Any]] = {}
    for name, (layer, size) in list(result.searched().items())[:SHOWN_LAYERS]:
        if len(size) in (1, 2):
            sizes.setdefault(size, {})[name] = layer
    for number, (size, layers) in enumerate(sizes.items()):
        points = " × ".join(map(str, size))
        yield drawing(filters(layers, size), f"filters-{number}", f"On a grid of {points} points.")


def _again(result: "SearchResult") -> list[str]:
    notes = result.notes
    kept = {"space": result.space.as_dict(), "strategy": result.strategy.as_dict(), **notes}
    config = details("Configuration", code(pretty(kept)))
    return [code(search_command(notes["asked"])), config] if "asked" in notes else [config]
