"""The `sciops` command.  Every command is a call of a public verb."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import sciops

from .cleaning import clean
from .comparing import compare
from .examples import examples
from .options import Json, Name, Overwrite, Parameter, ReadName, Seed
from .runs import evaluate, report, train, transfer
from .searches import search
from .tables import findings_as_json, show
from .text import or_exit, pair, settings

ABOUT = """Neural operators for scientists.

Every command is a verb of the Python package: `sciops train darcy --op xd` is
`sciops.train_pde("darcy", op="xd")`.  Each has a --help with examples.
"""


def doctor(as_json: Json = False) -> None:
    """Look at versions and machine and try the main parts; exit code 1 if something is wrong."""
    health = sciops.doctor()
    typer.echo(findings_as_json(health) if as_json else str(health))
    raise typer.Exit(0 if health.ok else 1)


app = typer.Typer(
    help=ABOUT,
    no_args_is_help=True,
    epilog="First `sciops doctor`, then `sciops train darcy`.",
    rich_markup_mode="markdown",
)
data = typer.Typer(help="Make, read and check data.", no_args_is_help=True)
app.add_typer(data, name="data")
for command in (train, compare, search, evaluate, transfer, report, clean, doctor):
    app.command(epilog=examples(command.__name__))(command)

Out = Annotated[Path, typer.Option(help="zarr store to write")]


@data.command("list", epilog=examples("data list"))
def list_datasets(as_json: Json = False) -> None:
    """What can be generated, loaded and read, with the parameters that it has."""
    if as_json:
        return show(sciops.datasets().reset_index(), as_json=True)
    for name, known in sciops.datasets().iterrows():
        typer.secho(f"{name}: {known['title']}", bold=True)
        for column in known.index.drop("title"):
            typer.echo(f"    {column:10}  {known[column]}")


@data.command(epilog=examples("data generate"))
def generate(
    name: Name,
    out: Out,
    n: Annotated[int, typer.Option(help="samples to train with")] = 64,
    n_val: Annotated[int, typer.Option(help="samples to validate with")] = 0,
    n_test: Annotated[int, typer.Option(help="samples to test with")] = 0,
    resolution: Annotated[int | None, typer.Option(help="points on each axis")] = None,
    seed: Seed = 0,
    workers: Annotated[int | None, typer.Option(help="threads; one a core if not given")] = None,
    scheduler: Annotated[str | None, typer.Option(help="address of a Dask scheduler")] = None,
    overwrite: Overwrite = False,
    parameter: Parameter = None,
) -> None:
    """Solve an equation for random samples; an interrupted call goes on where it stopped."""
    tree = or_exit(
        sciops.generate,
        name,
        n,
        n_val=n_val,
        n_test=n_test,
        resolution=resolution,
        seed=seed,
        out=out,
        workers=workers,
        scheduler=scheduler,
        overwrite=overwrite,
        **settings(parameter),
    )
    typer.echo(_summary(out, tree))


@data.command(epilog=examples("data read"))
def read(
    name: ReadName,
    paths: Annotated[list[Path], typer.Argument(help="files to read")],
    out: Out,
    field: Annotated[
        list[str] | None, typer.Option(help="our variable = the file's, as in a=coeff")
    ] = None,
    layout: Annotated[str | None, typer.Option(help="of the file, if not recognised")] = None,
    coord: Annotated[
        list[str] | None, typer.Option(help="dimension = the file's variable, as in time=t")
    ] = None,
    val: Annotated[int | None, typer.Option(help="samples of train to validate with")] = None,
    resolution: Annotated[int | None, typer.Option(help="points to keep on each axis")] = None,
    overwrite: Overwrite = False,
    parameter: Parameter = None,
) -> None:
    """Turn a file of the field (FNO .mat, neuraloperator .pt, PDEBench HDF5, …) into a store.

    Of protein, a folder: PDNET's, or one with alignments/ and structures/.  Of music, a .mat file
    of piano rolls.  Of cosmic, deepCR's folder or FITS files of one field.  Of vision, a folder of
    images, of MNIST's or of CIFAR's files, or a table, and --set variant=permuted.
    """
    given = dict(
        fields=dict(pair(text, "--field") for text in field or []) or None,
        coords=dict(pair(text, "--coord") for text in coord or []) or None,
        val=val,
        layout=layout,
        resolution=resolution,
        parameters=settings(parameter) or None,
    )
    given = {key: value for key, value in given.items() if value is not None}
    if name in ("cosmic", "vision"):
        given |= given.pop("parameters", {})  # --set size=64, --set variant=permuted
    folders = ("protein", "music", "cosmic", "vision")
    what = paths[0] if name in folders and len(paths) == 1 else paths
    tree = or_exit(sciops.read, name, what, out=out, overwrite=overwrite, **given)
    typer.echo(_summary(out, tree))


@data.command(epilog=examples("data check"))
def check(store: Annotated[Path, typer.Argument(help="zarr store")], as_json: Json = False) -> None:
    """Verify files, labels, values, splits and the equation; exit code 1 if something is wrong."""
    report = or_exit(sciops.check, store)
    typer.echo(findings_as_json(report) if as_json else str(report))
    raise typer.Exit(0 if report.ok else 1)


def _summary(out: Path, tree) -> str:
    sizes = [f"{name} {dict(child.sizes)}" for name, child in tree.children.items()]
    return f"{out}: " + "; ".join(sizes)


def main() -> None:
    app(prog_name="sciops")


if __name__ == "__main__":
    sys.exit(main())
