"""One HTML page about a search in a grammar: the best term, beside what, at which cost."""

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sciops.grammars.graphs import level_graphs
from sciops.grammars.ready import NAMES, ready_space
from sciops.plots.study_curves import best_so_far, predicted_errors, strategies
from sciops.plots.style import short
from sciops.plots.term_drawing import MOST_NODES, architecture
from sciops.studies.proposers import make_proposer

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
    pair,
    paragraph,
    section,
    table,
    tiles,
)
from .search_report import METRICS

if TYPE_CHECKING:
    from sciops.runs.grammar_result import GrammarResult

SHOWN = 10  # trials of the first table
FEWEST = 10  # trials of which a surrogate can be judged
HEAD = ["network", "state", "validation", "test", "epochs", "time", "parameters"]


def write_grammar_report(
    result: "GrammarResult",
    path: str | Path | None = None,
    beside: "Mapping[str, GrammarResult]" = MappingProxyType({}),
) -> Path:
    """Write the page of a search to the file `path`; None is report.html in its folder.

    beside: other searches for the same by name, whose courses are drawn in one figure with it
    """
    path = result.path / "report.html" if path is None else Path(path)
    return write_page(path, lambda: grammar_text(result, beside), "result")


def grammar_text(
    result: "GrammarResult", beside: "Mapping[str, GrammarResult]" = MappingProxyType({})
) -> str:
    """The page."""
    strategy = result.settings["strategy"]["proposer"]
    title = f"A grammar searched by {strategy} on {result.settings['task']}"
    return page(title, [heading(title), *_parts(result, beside)])


def _parts(result: "GrammarResult", beside: "Mapping[str, GrammarResult]") -> Iterator[str]:
    yield paragraph(_what_was_searched(result), "lead")
    yield paragraph(_verdict(result), "note")
    yield tiles(_headline(result))
    caption = (
        "Validation errors of all trials; controls have the same number of epochs. A trial that "
        "was stopped early has the error it had then."
    )
    yield section("How the search went", drawing(best_so_far(result.trials), "course", caption))
    if beside:
        yield _beside_section(result, beside)
    yield _best_section(result)
    yield _trials_section(result)
    yield from _surrogate_section(result)
    yield section("How to do it again", *_again(result))
    yield footer()


def _what_was_searched(result: "GrammarResult") -> str:
    settings, cost = result.settings, result.cost
    states = result.trials[result.trials["role"] == "search"]["state"].value_counts()
    counts = ", ".join(f"{number} {state}" for state, number in states.items())
    return (
        f"{counted(int(states.sum()), 'term')} of the grammar became networks ({counts}), each "
        f"trained for at most {counted(settings['budget'], 'epoch')}; together they had "
        f"{counted(int(cost['search_epochs']), 'epoch')} ({duration(cost['search_seconds'])}). "
        f"Numbers are the {_metric(result)}: the less, the better. Validation data chose; test "
        "data are shown of the best network and of controls."
    )


def _metric(result: "GrammarResult") -> str:
    return METRICS.get(result.metric, result.metric.replace("_", " "))


def _verdict(result: "GrammarResult") -> str:
    if not (result.trials["role"] == "control").any():
        return "No controls were trained, so there is nothing to compare it with."
    words = "better" if result.won else "not better"
    return f"The best network is {words} than all controls, by the validation data."


def _headline(result: "GrammarResult") -> dict[str, str]:
    metric, best = _metric(result), result.best
    numbers = {f"{metric}, best, test": short(best["test"])}
    controls = result.trials[result.trials["role"] == "control"]
    if len(controls):
        first = controls.loc[controls["val"].idxmin()]
        numbers[f"{metric}, {first['trial']}, test"] = short(first["test"])
    numbers["parameters, best"] = f"{best['parameters']:,.0f}".replace(",", " ")
    return {**numbers, "time of all trainings": duration(result.trials["seconds"].sum())}


def _beside_section(result: "GrammarResult", beside: "Mapping[str, GrammarResult]") -> str:
    own = result.settings["strategy"]["proposer"]
    name = own if own not in beside else "this search"
    caption = "The least validation error so far of each search; only finished trials count."
    figure = strategies(**{name: result, **beside})
    return section("Beside other searches", drawing(figure, "beside", caption))


def _best_section(result: "GrammarResult") -> str:
    """The term as text, and as the finest of its graphs that can be read."""
    term, grammar = result.study.best.candidate, result.candidates.grammar
    graphs = level_graphs(term, grammar, levels=max(term.depth, 1))
    graph = next((g for g in reversed(graphs) if len(g.labels) <= MOST_NODES), None)
    parts = [code(textwrap.fill(str(term), 88, subsequent_indent="    "))]
    if graph is not None:
        parts.append(drawing(architecture(graph), "term", "What computes, from left to right."))
    return section("The best term", *parts)


def _trials_section(result: "GrammarResult") -> str:
    ranked = result.trials.sort_values("val", kind="stable")
    controls = ranked[ranked["role"] == "control"]
    others = ranked[(ranked["role"] == "search") & (ranked["state"] == "finished")]
    first = [_line(row) for part in (controls, others[:SHOWN]) for row in part.to_dict("records")]
    every = [
        [row["trial"], row["state"], short(row["val"]), row["term"], row["reason"]]
        for row in result.trials.to_dict("records")
        if row["role"] == "search"
    ]
    head = ["trial", "state", "validation", "term", ""]
    all_of_them = details("All trials", table(head, every, "text"))
    title = f"Controls and the best {counted(min(SHOWN, len(others)), 'trial')}"
    return section(title, table(HEAD, first), all_of_them)


def _line(row: dict[str, Any]) -> list[str]:
    return [
        *(row["trial"] if row["role"] == "control" else f"trial {row['trial']}", row["state"]),
        *(short(row["val"]), short(row["test"]), str(row["epochs"])),
        *(duration(row["seconds"]), f"{row['parameters']:.0f}"),
    ]


def _surrogate_section(result: "GrammarResult") -> Iterator[str]:
    """What a Gaussian process learned of the trials, if there are enough of them."""
    if len(result.scored()) < FEWEST:
        return
    levels = result.levels()
    rows = [
        [
            "whole graph" if row["level"] == len(levels) - 1 else f"level {row['level']:.0f}",
            f"{row['depth']:.0f}",
            f"{100 * row['weight']:.1f} %",
        ]
        for row in levels.to_dict("records")
    ]
    weights = table(["graph", "steps h", "weight"], rows, "text")
    yield pair(section("What counts in the kernel", weights), _calibration_section(result))


def _calibration_section(result: "GrammarResult") -> str:
    title = "How well errors are predicted"
    count = sum(record.state == "finished" for record in result.study.records)
    if count < FEWEST:
        words = f"{counted(count, 'trial')} ended by themselves; {FEWEST} are needed to judge it."
        return section(title, paragraph(words))
    calibration = result.calibration()
    tau = calibration.attrs["tau"]
    words = (
        f"A Gaussian process predicts each of the {count} trials that were finished from four "
        "fifths of the others, and from those that were stopped. Kendall's τ, which is 1 if the "
        f"order is right and 0 by chance, is {tau['hierarchical']:.2f} with all levels of the "
        f"terms and {tau['flat']:.2f} with whole graphs only."
    )
    caption = "Predictions with one standard deviation; on the dashed line they are right."
    return section(
        title, paragraph(words), drawing(predicted_errors(calibration), "calibration", caption)
    )


def _again(result: "GrammarResult") -> list[str]:
    config = details("Configuration", code(pretty(result.settings)))
    return [code(search_command(asked(result))), config]


def asked(result: "GrammarResult") -> dict[str, Any]:
    """What `search_command` needs; the grammar by its name, if it has one."""
    settings = result.settings
    text, rule = settings["grammar"], settings["early_stopping"]
    given = None if settings["data"] is None else settings["data"]["given"] or "YOUR-DATA"
    strategy = dict(settings["strategy"])
    usual = make_proposer(strategy["proposer"]).as_dict()
    axes = len(result.run.task.axes)
    names = [name for name in NAMES if axes == 2 or name != "activations"]
    return {
        **{name: settings[name] for name in ("task", "space", "budget", "seed", "controls")},
        "strategy": strategy["proposer"],
        "data": given,
        "options": {
            "grammar": next((n for n in names if str(ready_space(n, axes).grammar) == text), text),
            "trials": len(result.study.records),
            "early_stopping": rule["rule"] if rule else None,
            "connected": settings["connected"],
            **({} if settings["depth"] is None else {"depth": settings["depth"]}),
            **{name: value for name, value in strategy.items() if value != usual[name]},
            **{name: v for name, v in settings["network"].items() if name != "topologies"},
            **settings["options"],
        },
    }
