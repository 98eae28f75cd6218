"""The commands about runs: train, evaluate, transfer, report."""

from pathlib import Path
from typing import Annotated, Any

import typer

import sciops
from sciops.runs import OPERATORS, TASKS

from .names import complete_operator, expect_data_set, listed
from .options import (
    Augment,
    BatchSize,
    Coarse,
    Csv,
    Epochs,
    Folder,
    Forecast,
    Json,
    Name,
    Recipe,
    Report,
    Resolution,
    Resolutions,
    Seed,
    Setting,
    Slopes,
    Store,
    TestCount,
    TrainCount,
    ValCount,
)
from .tables import (
    by_resolution,
    by_sample,
    of_matrix,
    of_run,
    of_run_as_json,
    on_grids,
    over_samples,
    pooled,
    save_csv,
    show,
    with_pooled,
)
from .text import grids_of, only_the_first_process_goes_on, or_exit, settings, whole_numbers


def train(
    ctx: typer.Context,
    name: Name,
    op: Annotated[
        str | None,
        typer.Option(
            help=f"the first if not given: {listed(OPERATORS)}; "
            + "; ".join(f"of {task} {listed(ops)}" for task, ops in TASKS.items()),
            autocompletion=complete_operator,
        ),
    ] = None,
    resolution: Resolution = None,
    n_train: TrainCount = None,
    n_val: ValCount = None,
    n_test: TestCount = None,
    epochs: Epochs = None,
    batch_size: BatchSize = None,
    seed: Seed = 0,
    data: Store = None,
    recipe: Recipe = "quick",
    forecast: Forecast = None,
    augment: Augment = None,
    coarse: Coarse = None,
    h1: Slopes = None,
    out: Annotated[Path | None, typer.Option(help="folder of the run")] = None,
    devices: Annotated[int, typer.Option(help="processes or GPUs, as Lightning takes them")] = 1,
    num_nodes: Annotated[int, typer.Option(help="machines")] = 1,
    strategy: Annotated[str, typer.Option(help="auto, ddp, …")] = "auto",
    accelerator: Annotated[str, typer.Option(help="cpu, gpu, …")] = "cpu",
    setting: Setting = None,
    report: Report = False,
    as_json: Json = False,
) -> None:
    """Train a network; the same call again finishes a run that was interrupted.

    Data that are not given are made on first use and kept.  Prints the scores and the folder of the
    run, which evaluate, transfer and report take.
    """
    given = dict(
        op=op,
        resolution=grids_of(resolution),
        n_train=n_train,
        n_val=n_val,
        n_test=n_test,
        epochs=epochs,
        batch_size=batch_size,
        seed=seed,
        data=data,
        recipe=recipe,
        forecast=forecast,
        augment=augment,
        coarse=coarse,
        h1=h1,
        out=out,
        devices=devices,
        num_nodes=num_nodes,
        strategy=strategy,
        accelerator=accelerator,
        **settings(setting, taken=ctx.params),
    )
    given = {key: value for key, value in given.items() if value is not None}
    expect_data_set(name)
    if name in TASKS:
        run = or_exit(getattr(sciops, f"train_{name}"), **_named(given))
    else:
        run = or_exit(sciops.train_pde, name, **given)
    only_the_first_process_goes_on()
    page = or_exit(run.report) if report else None
    if as_json:
        typer.echo(of_run_as_json(run.path, run.metrics, page))
        return
    show(of_run(run.metrics))
    typer.echo(f"run: {run.path}")
    if page is not None:
        typer.echo(f"report: {page}")


def evaluate(
    run: Folder,
    data: Annotated[Path | None, typer.Option(help="zarr store; if not given, the run's")] = None,
    split: Annotated[str, typer.Option(help="train, val or test")] = "test",
    csv: Annotated[Path | None, typer.Option(help="file for the scores of every sample")] = None,
    costs: Annotated[
        bool, typer.Option("--costs", help="instead, its time beside the classical solver's")
    ] = False,
    symmetrised: Annotated[
        bool,
        typer.Option("--symmetrised", help="with means over the symmetries of the equation"),
    ] = False,
    as_json: Json = False,
) -> None:
    """Score a trained network on its own data or on others.

    Prints mean, median, least and largest of every score over the samples.
    """
    opened = _opened(run)
    if symmetrised:
        opened = or_exit(opened.symmetrised)
    if costs:
        table = or_exit(opened.costs).reset_index(names="solver")
        if csv is not None:
            or_exit(save_csv, table, csv)
        show(table, as_json=as_json)
        return
    scores = or_exit(opened.evaluate, data, split=split)
    table = by_sample(scores)
    if csv is not None:
        or_exit(save_csv, table, csv)
    if as_json:
        show(with_pooled(over_samples(table), scores), as_json=True)
    else:
        show(over_samples(table))
        if words := pooled(scores):
            typer.echo(words)
    if count := scores.attrs.get("nonfinite_predictions"):
        typer.echo(f"{count} of {len(table)} predictions are not finite", err=True)


def transfer(
    runs: Annotated[
        list[Path], typer.Argument(help="folder of a run; of several, each trained on another grid")
    ],
    resolutions: Resolutions,
    csv: Csv = None,
    as_json: Json = False,
) -> None:
    """Errors on other grids of the same test samples, beside those of interpolation.

    control_upsample predicts on the training grid and interpolates; control_downsample also has
    to interpolate the input to it; growth is over the error on the training grid.  Of several runs
    the matrix is shown, trained on × judged on.
    """
    wanted = whole_numbers([resolutions], "--resolutions")
    errors = or_exit(sciops.transfer, runs if len(runs) > 1 else runs[0], wanted)
    table = by_resolution(errors)
    if csv is not None:
        or_exit(save_csv, table, csv)
    is_matrix = len(runs) > 1 and not as_json
    show(on_grids(of_matrix(table)) if is_matrix else table, as_json=as_json)
    if errors.attrs["refused"]:
        typer.echo(f"did not run on {errors.attrs['refused']}", err=True)


def report(
    run: Folder,
    resolutions: Annotated[str | None, typer.Option(help="to show too, as in 43,64,85")] = None,
    out: Annotated[Path | None, typer.Option(help="if not given, report.html of the run")] = None,
) -> None:
    """Write one page about a run: what was trained, how good it is, how it looks."""
    opened = _opened(run)
    if resolutions is not None:
        or_exit(opened.transfer, whole_numbers([resolutions], "--resolutions"))
    typer.echo(or_exit(opened.report, out))


# --- words to values ------------------------------------------------------------------------------


def _named(given: dict[str, Any]) -> dict[str, Any]:
    """Of verbs that take a name, --set collection=nottingham is that name.

    >>> _named({"collection": "nottingham", "seed": 1})
    {'name': 'nottingham', 'seed': 1}
    """
    return {"name" if key == "collection" else key: value for key, value in given.items()}


def _opened(run: Path):
    return or_exit(sciops.open_run, run)
