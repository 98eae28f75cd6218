"""`search`: from the name of a problem to the operation that suits it, beside controls."""

import dataclasses
from pathlib import Path
from typing import Any

from sciops.config import CHANGES, Training
from sciops.data.schema import canonical, digest
from sciops.searching.engine import run_search
from sciops.searching.result import SearchResult
from sciops.searching.space import AbstractSpace
from sciops.searching.spaces import SPACES, make_space
from sciops.searching.strategies import STRATEGIES, AbstractStrategy, make_strategy
from sciops.studies.proposers import AbstractProposer
from sciops.suggestions import did_you_mean

from .data import whole
from .folder import RUNS, as_json
from .frame import asked_training, expect_known, of_optimisers
from .grammar_result import GrammarResult
from .grammar_search import search_grammar
from .problems import PROBLEMS, option_names

BUDGET = 20  # epochs


def search(
    task_name: str,
    space: str | AbstractSpace = "xd",
    strategy: str | AbstractStrategy | AbstractProposer | None = None,
    budget: int = BUDGET,
    *,
    seed: int = 0,
    data=None,
    network: str | None = None,
    batch_size: int | None = None,
    rate: float | None = None,
    arch_rate: float | None = None,
    retrain_epochs: int | None = None,
    offline: bool = True,
    controls: bool = True,
    out: str | Path | None = None,
    progress: bool = True,
    **options,
) -> SearchResult | GrammarResult:
    """Search for the operation that suits a problem, and compare it with what was there before.

    Besides what is found, with the weights of the search and with new ones, the table `.trials` has
    the network as it is and a random member of the space; all have the same number of epochs.

    Args:
        task_name: "digits" or "vision" (images), "darcy" or "burgers".
        space: "xd", "kop", "discrete", "nos", "dnarch"; "klayer" and "linear" are controls with
            nothing to search; or a member of `sciops.searching.spaces`.  "grammar" has whole
            networks, each a run of its own: see `sciops.runs.grammar_search`.
        strategy: "joint" (None), "restarts", "bilevel", "random", or one with its options; of
            grammars "bayes" (None), "evolution" or "random".
        budget: epochs of the search; of grammars, of each trial.
        seed: of weights, starts, draws and the order of samples.
        data: as of `train_vision` and `train_pde`; None are the digits, or solutions that are made.
        network: that the search begins with; of images as in `train_vision`, of fields "fno-cnn".
        retrain_epochs: of controls and of the network found; None is as many as the search has.
        offline: whether to train what was found from scratch.
        controls: whether to train the network as it is and a random member.
        out: folder of the search; None is one in runs/ that is named after the settings.  A search
            that is there already goes on, or is read.
        options: of the space (depth=, start=, guidance=, …), of the strategy (order=, cycles=,
            members=), of the data (variant=, resolution=, n_train=, viscosity=, …), of the
            optimisers (decay=, arch_warmup=, …), of the network (width=, taps=, …); a name that
            several have is of the first.  Of grammars: grammar=, trials=, workers=,
            early_stopping=, kernel=, …
    """
    expect_known(task_name=(task_name, PROBLEMS))
    numbers = dict(batch_size=batch_size, rate=rate, arch_rate=arch_rate)
    numbers["retrain_epochs"] = retrain_epochs
    asked = {name: value for name, value in numbers.items() if value is not None} | options
    if space == "grammar":
        known = dict(seed=seed, data=data, controls=controls, out=out, progress=progress)
        if network is not None or retrain_epochs is not None:
            raise ValueError("terms are whole networks, trained once: no network=, retrain_epochs=")
        strategy = "bayes" if strategy is None else strategy
        return search_grammar(task_name, strategy, budget, **known, **asked)
    if isinstance(space, str):
        expect_known(space=(space, (*SPACES, "grammar")))
    strategy = "joint" if strategy is None else strategy
    asked |= _changed(space, make_space) | _changed(strategy, make_strategy)
    rates, others = of_optimisers({"rate": rate, "arch_rate": arch_rate, **options})
    space, others = _made(space, make_space, SPACES, others)
    strategy, others = _made(strategy, make_strategy, STRATEGIES, others)
    _expect_options(task_name, space, strategy, network, others)
    problem = PROBLEMS[task_name](task_name, space.name, data, network, others, progress)
    if problem.layers is not None and space.layers is None and not space.whole:
        space = dataclasses.replace(space, layers=problem.layers)
    numbers = dict(epochs=budget, batch_size=batch_size, seed=seed)
    training = asked_training(problem.training, **numbers, **rates)
    about = as_json(
        dict(
            task=task_name,
            title=problem.title,
            network=problem.network,
            data=problem.data,
            asked=dict(
                task=task_name,
                space=space.name,
                strategy=strategy.name,
                budget=training.epochs,
                seed=seed,
                network=network,
                data=problem.data.get("given") or (None if data is None else "YOUR-DATA"),
                offline=offline,
                controls=controls,
                options=asked,
            ),
        )
    )
    return run_search(
        problem.make,
        *(problem.train, problem.val, problem.test, problem.loss),
        training=training,
        space=space,
        strategy=strategy,
        metric=problem.metric,
        retrain_epochs=whole(retrain_epochs, "retrain_epochs"),
        offline=offline,
        controls=controls,
        folder=_folder(about, space, strategy, training) if out is None else out,
        notes=about,
        progress=progress,
    )


def _made(kind, make, known: dict, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A space or strategy by name with its own options, and the options of others."""
    if not isinstance(kind, str):
        return kind, options
    if kind not in known:
        return make(kind), options  # says which there are
    names = {field.name for field in dataclasses.fields(known[kind])}
    own = {name: value for name, value in options.items() if name in names}
    return make(kind, **own), {n: v for n, v in options.items() if n not in names}


def _expect_options(
    task_name: str,
    space: AbstractSpace,
    strategy: AbstractStrategy,
    network: str | None,
    options: dict[str, Any],
) -> None:
    """ValueError for an option that nothing takes."""
    owners = {
        f"space {space.name!r}": [field.name for field in dataclasses.fields(space)],
        f"strategy {strategy.name!r}": [field.name for field in dataclasses.fields(strategy)],
        task_name: option_names(task_name, network),
        "the training": CHANGES,
    }
    every = [name for names in owners.values() for name in names]
    for option in options:
        if option not in every:
            said = "; ".join(f"{o} has {', '.join(names) or 'none'}" for o, names in owners.items())
            raise ValueError(f"there is no option {option!r}: {said}{did_you_mean(option, every)}")


def _changed(kind, make) -> dict[str, Any]:
    """Options of a space or strategy that was given as such, where they are not the usual ones.

    >>> _changed(make_space("xd", depth=3), make_space), _changed("xd", make_space)
    ({'depth': 3}, {})
    """
    if isinstance(kind, str):
        return {}
    usual = make(kind.name).as_dict()
    return {name: value for name, value in kind.as_dict().items() if value != usual[name]}


def _folder(
    about: dict, space: AbstractSpace, strategy: AbstractStrategy, training: Training
) -> Path:
    whole_of = [about, space.as_dict(), strategy.as_dict(), training.as_dict()]
    mark = digest(canonical(as_json({"search": whole_of})))[:8]
    return RUNS / f"search-{about['task']}-{space.name}-{strategy.name}-{mark}"
