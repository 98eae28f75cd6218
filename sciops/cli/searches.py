"""`sciops search`: which operation suits a problem."""

from pathlib import Path
from typing import Annotated

import typer

import sciops

from .names import NETWORKS, PROBLEMS, PROPOSERS, SPACES, STRATEGIES, complete, listed
from .options import Csv, Json, Report, Seed
from .tables import save_csv, show
from .text import or_exit, settings


def search(
    ctx: typer.Context,
    task: Annotated[str, typer.Argument(help=listed(PROBLEMS), autocompletion=complete(PROBLEMS))],
    space: Annotated[
        str,
        typer.Option(
            help=f"what layers may become: {listed(SPACES)}", autocompletion=complete(SPACES)
        ),
    ] = "xd",
    strategy: Annotated[
        str | None,
        typer.Option(
            help=f"how it is searched, the first if not given: {listed(STRATEGIES)}; of a grammar "
            f"{listed(PROPOSERS)}",
            autocompletion=complete(dict.fromkeys((*STRATEGIES, *PROPOSERS))),
        ),
    ] = None,
    budget: Annotated[
        int, typer.Option(help="epochs of the search; of a grammar, of every trial")
    ] = 20,
    seed: Seed = 0,
    data: Annotated[
        Path | None, typer.Option(help="store or files; if not given, made or scikit-learn's")
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            help=f"that it begins with: {listed(NETWORKS)}", autocompletion=complete(NETWORKS)
        ),
    ] = None,
    offline: Annotated[bool, typer.Option(help="train what was found from scratch")] = True,
    controls: Annotated[bool, typer.Option(help="train what it is compared with")] = True,
    out: Annotated[Path | None, typer.Option(help="folder of the search")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="name=value of anything else: depth, variant, rate, trials, …"),
    ] = None,
    report: Report = False,
    csv: Csv = None,
    as_json: Json = False,
) -> None:
    """Search for an operation; the same call again finishes a search that was interrupted.

    Prints a row for each network, controls included; val chooses, the less the better.
    """
    result = or_exit(
        sciops.search,
        task,
        space,
        strategy,
        budget,
        seed=seed,
        data=data,
        network=network,
        offline=offline,
        controls=controls,
        out=out,
        **settings(setting, taken=ctx.params),
    )
    page = or_exit(result.report) if report else None
    if csv is not None:
        or_exit(save_csv, result.trials, csv)
    if as_json:
        show(result.trials, as_json=True)
        return
    show(result.trials.drop(columns=["term", "reason"], errors="ignore"))
    words = "better" if result.won else "not better"
    if (result.trials["role"] == "control").any():
        typer.echo(f"best: {result.best['trial']}, {words} than the controls")
    if "term" in result.best:
        typer.echo(f"term: {result.best['term']}")
    typer.echo(f"search: {result.path}")
    if page is not None:
        typer.echo(f"report: {page}")
