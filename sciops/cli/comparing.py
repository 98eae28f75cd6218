"""compare: operators on one problem, and on other grids of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sciops
from sciops.runs import OPERATORS

from .names import complete_operators, expect_data_set, listed
from .options import (
    Augment,
    BatchSize,
    Csv,
    Epochs,
    Forecast,
    Json,
    Name,
    OwnSetting,
    Recipe,
    Resolution,
    Store,
    TestCount,
    TrainCount,
    ValCount,
)
from .tables import mean_and_spread, on_grids, save_csv, show
from .text import (
    grids_of,
    only_the_first_process_goes_on,
    or_exit,
    settings,
    stop,
    whole_numbers,
)

if TYPE_CHECKING:
    import pandas as pd


def compare(
    ctx: typer.Context,
    name: Name,
    ops: Annotated[
        str, typer.Option(help=f"several of {listed(OPERATORS)}", autocompletion=complete_operators)
    ] = "conv,fno,xd",
    seeds: Annotated[int, typer.Option(help="how many, for each operator")] = 3,
    seconds: Annotated[float | None, typer.Option(help="of training, instead of epochs")] = None,
    resolution: Resolution = None,
    n_train: TrainCount = None,
    n_val: ValCount = None,
    n_test: TestCount = None,
    epochs: Epochs = None,
    batch_size: BatchSize = None,
    data: Store = None,
    recipe: Recipe = "quick",
    forecast: Forecast = None,
    augment: Augment = None,
    resolutions: Annotated[
        str | None, typer.Option(help="other grids to judge every run on, as in 32,64,85")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="folder of the runs")] = None,
    setting: OwnSetting = None,
    csv: Csv = None,
    as_json: Json = False,
) -> None:
    """Train operators under one budget, each from several seeds, and compare their test errors.

    Of equations only.  Runs that are in the folder already are taken as they are.  With
    --resolutions a second table has their errors on these grids of the same samples, beside those
    of interpolation; transfer.csv and transfer.png are written beside comparison.csv.
    """
    expect_data_set(name)
    own, shared = _divided(
        [op.strip() for op in ops.split(",")], settings(setting, taken=ctx.params)
    )
    table = or_exit(
        sciops.compare,
        name,
        own,
        seeds=seeds,
        seconds=seconds,
        resolution=grids_of(resolution),
        n_train=n_train,
        n_val=n_val,
        n_test=n_test,
        epochs=epochs,
        batch_size=batch_size,
        data=data,
        recipe=recipe,
        forecast=forecast,
        augment=augment,
        resolutions=None if resolutions is None else whole_numbers([resolutions], "--resolutions"),
        out=out,
        **shared,
    ).reset_index()
    only_the_first_process_goes_on()
    if csv is not None:
        or_exit(save_csv, table, csv)
    show(table if as_json else mean_and_spread(table), as_json=as_json)
    if resolutions is not None and not as_json:
        from sciops.runs.compared_grids import read_grids
        from sciops.runs.comparison import folder_of

        _show_grids(read_grids(folder_of(name, out)))


def _show_grids(table: "pd.DataFrame") -> None:
    """Errors of all operators on all grids, and what is to be said about them."""
    typer.echo("\nrelative L2 error by points along an axis:")
    show(on_grids(table))
    said = table[table["note"] != ""].groupby(["op", "note"], sort=False)["resolution"]
    for (op, note), grids in said:
        typer.echo(f"{op} on {', '.join(map(str, grids))}: {note}", err=True)


def _divided(ops: list[str], given: dict[str, Any]) -> tuple[dict[str, dict], dict[str, Any]]:
    """Options of single operators, op.name, and those of all.

    >>> _divided(["fno", "xd"], {"width": 8, "xd.taps": 5})
    ({'fno': {}, 'xd': {'taps': 5}}, {'width': 8})
    """
    own, shared = {op: {} for op in ops}, {}
    if len(own) < len(ops):
        stop(f"--ops {','.join(ops)} must be different operators")
    for name, value in given.items():
        op, dot, option = name.rpartition(".")
        if dot and op not in own:
            stop(f"--set {name}={value} is for {op!r}, but --ops are {', '.join(ops)}")
        (own[op] if dot else shared)[option] = value
    return own, shared
