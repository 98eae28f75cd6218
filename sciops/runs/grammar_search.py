"""The search of a grammar: `search` with space="grammar"."""

import dataclasses
import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sciops.atomic import write_text
from sciops.backbones import TERM
from sciops.backbones.grammar_primitives import expect_primitives
from sciops.config import CHANGES
from sciops.data.schema import canonical, digest
from sciops.grammars.grammar import MAX_TEXT, Grammar, parse_grammar
from sciops.grammars.ready import NAMES, ready_space
from sciops.grammars.term import Term
from sciops.grammars.topology import TOPOLOGIES
from sciops.searching.search_folder import claimed
from sciops.searching.term_candidates import TermCandidates
from sciops.studies.acquisition import Evolution
from sciops.studies.early_stopping import EarlyStopping
from sciops.studies.proposers import PROPOSERS, AbstractProposer, make_proposer
from sciops.studies.study import run_study
from sciops.training_bar import bar_is_wanted

from .data import given, task_to_be, whole
from .folder import RUNS, as_json
from .frame import expect_known
from .grammar_result import CONTROLS, STUDY, GrammarResult, best_run, read_grammar_search
from .pde import rehearse
from .problems import FIELD_COUNTS, FIELD_GRIDS, PROBLEMS
from .term_trials import OF_IMAGES, TermTraining
from .vision import train_vision
from .vision_run import VISION

TRIALS = 50
OF_TERMS = ("frame", "hidden")  # options of `term_network`


def search_grammar(
    task_name: str,
    strategy: str | AbstractProposer,
    budget: int,
    *,
    seed: int,
    data,
    controls: bool,
    out: str | Path | None,
    progress: bool,
    grammar: str | Path | Grammar | None = None,
    trials: int = TRIALS,
    workers: int = 1,
    early_stopping: str | EarlyStopping | None = "halving",
    depth: int | None = None,
    connected: bool | None = None,
    **options,
) -> GrammarResult:
    """Search a grammar for the term whose network suits a problem; every trial is a run.

    budget:   epochs of a trial
    grammar:  a ready space ("fields", "digits", "nasbench201-cell", …), a Grammar, its text or a
              file with it; None is "digits" for images and "fields" for the others
    trials:   how many; a search that is there goes on until it has as many
    workers:  processes that run trials; the threads are divided among them
    early_stopping: "halving", "hyperband", a rule with its options, or None: every trial ends
    depth:    of the deepest terms, of a grammar that is recursive
    connected: whether terms with disconnected parts are left out; None is as the space has it
    options:  of the strategy (kernel=, initial=; population=, tournament=), of the network of a
              term (frame=, hidden=), of the data and the optimisers, as `train_pde` and
              `train_vision` have them
    """
    expect_known(task_name=(task_name, PROBLEMS))
    epochs, trials = whole(budget, "budget"), whole(trials, "trials")
    workers = whole(workers, "workers")
    proposer, others = _proposer(strategy, options)
    rule = _rule(early_stopping, epochs)
    chosen, usual = _grammar(grammar, task_name)
    network = {name: others.pop(name) for name in OF_TERMS if name in others}
    network = {"frame": usual["frame"], **network, **_topologies(chosen)}
    expect_primitives(chosen, network["frame"])
    connected = usual["connected"] if connected is None else connected
    candidates = TermCandidates(chosen, depth, connected)
    sizes = {} if task_name in OF_IMAGES or data is not None else _sizes(task_name)
    settings = as_json(
        dict(
            task=task_name,
            space="grammar",
            grammar=str(chosen),
            depth=depth,
            connected=connected,
            network=network,
            strategy=proposer.as_dict(),
            early_stopping=rule.as_dict() if rule else None,
            budget=epochs,
            seed=seed,
            controls=controls,
            data=_marks(task_name, data),
            options={**sizes, **others},
        )
    )
    training = TermTraining(
        task_name,
        data,
        network,
        {**sizes, **others, "epochs": epochs, "seed": seed},
        threads=max(1, (os.cpu_count() or 1) // workers) if workers > 1 else None,
        told=bar_is_wanted(progress),
    )
    space = candidates.space()
    _rehearse(training, space.sample(np.random.default_rng(seed)))
    folder = (_folder(settings) if out is None else Path(out)).resolve()
    with claimed(folder, settings):
        how = dict(workers=workers, seed=seed, early_stopping=rule)
        study = run_study(training, space, proposer, trials, folder / STUDY, **how)
        if controls:
            training.train_controls(folder / CONTROLS, best_run(folder, study))
        result = read_grammar_search(folder)
        write_text(folder / "trials.csv", result.trials.to_csv(index=False))
    return result


def _proposer(
    strategy: str | AbstractProposer, options: dict[str, Any]
) -> tuple[AbstractProposer, dict[str, Any]]:
    """A strategy with its own options, and the options of others."""
    if isinstance(strategy, AbstractProposer):
        return strategy, dict(options)
    expect_known(strategy=(strategy, PROPOSERS))
    names = {field.name for field in dataclasses.fields(PROPOSERS[strategy])}
    own = {name: value for name, value in options.items() if name in names}
    if isinstance(own.get("evolution"), Mapping):
        own["evolution"] = Evolution(**own["evolution"])
    return make_proposer(strategy, **own), {n: v for n, v in options.items() if n not in names}


def _rule(rule: str | EarlyStopping | None, epochs: int) -> EarlyStopping | None:
    """Trials are judged first after a ninth of their epochs, then after thrice as many, …"""
    if not isinstance(rule, str):
        return rule
    return EarlyStopping(rule, first=max(1, epochs // 9), last=epochs)


def _grammar(grammar: str | Path | Grammar | None, task_name: str) -> tuple[Grammar, dict]:
    """A grammar, and the frame and constraint of its terms."""
    usual = {"frame": "fields", "connected": True}
    if isinstance(grammar, Grammar):
        return grammar, usual
    if grammar is None:
        grammar = "digits" if task_name in OF_IMAGES else "fields"
    if grammar in NAMES:
        ready = ready_space(grammar, _n_axes(task_name))
        return ready.grammar, {"frame": ready.frame, "connected": ready.connected}
    if "->" in str(grammar):
        return parse_grammar(str(grammar)), usual
    if not Path(grammar).is_file():
        raise ValueError(
            f"there is no grammar {str(grammar)!r}; give one of {', '.join(NAMES)}, a file, or a "
            "text such as 'NET -> Linear2(lift16, OP)'"
        )
    return _read_grammar(Path(grammar)), usual


def _read_grammar(file: Path) -> Grammar:
    try:
        with file.open(encoding="utf-8") as stream:
            text = stream.read(MAX_TEXT + 1)
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is no text in UTF-8 ({error}); save it as such") from error
    try:
        return parse_grammar(text)
    except ValueError as error:
        raise ValueError(f"{file}, {error}") from error


def _n_axes(task_name: str) -> int:
    if task_name in OF_IMAGES:
        return 2
    return len(task_to_be(task_name, FIELD_GRIDS[task_name], {}).axes)


def _topologies(grammar: Grammar) -> dict[str, Any]:
    """Those that only this grammar has, as JSON holds them."""
    own = {n: t.edges for n, t in grammar.topologies.items() if TOPOLOGIES.get(n) != t}
    return {"topologies": own} if own else {}


def _sizes(task_name: str) -> dict[str, int]:
    return {"resolution": FIELD_GRIDS[task_name], **FIELD_COUNTS}


def _marks(task_name: str, data) -> dict[str, Any] | None:
    """What tells data that are given from others."""
    if data is None:
        return None
    if task_name in OF_IMAGES:
        return VISION.chosen(data, {}, progress=False)[1]
    return given(data, {})[1]


def _rehearse(training: TermTraining, term: Term) -> None:
    """Refuse options that no trial could have."""
    options = training.options
    taken = sorted(set(options) & {"op", "term", "at_epoch_end", "topologies"})
    if taken:
        raise ValueError(f"{taken[0]}= is what a search chooses itself; leave it out")
    if training.task_name not in OF_IMAGES:
        own = {"data": training.data, "progress": False, "term": str(term)}
        return rehearse(training.task_name, TERM, **own, **training.network, **options)
    known = {*inspect.signature(train_vision).parameters, *CHANGES}
    if unknown := sorted(set(options) - known):
        raise ValueError(
            f"there is no option {', '.join(unknown)}; there are {', '.join(sorted(known))}"
        )


def _folder(settings: dict[str, Any]) -> Path:
    mark = digest(canonical({"search": settings}))[:8]
    return RUNS / f"search-{settings['task']}-grammar-{settings['strategy']['proposer']}-{mark}"
