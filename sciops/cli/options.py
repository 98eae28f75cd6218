"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from .names import (
    DATA_SETS,
    FORECASTS,
    ONLY_READ,
    RECIPES,
    complete,
    listed,
)

Name = Annotated[
    str, typer.Argument(help=f"data set: {listed(DATA_SETS)}", autocompletion=complete(DATA_SETS))
]
ReadName = Annotated[
    str,
    typer.Argument(
        help=f"data set: {listed([*DATA_SETS, *ONLY_READ])}",
        autocompletion=complete([*DATA_SETS, *ONLY_READ]),
    ),
]
Folder = Annotated[Path, typer.Argument(help="folder of a run")]
Resolution = Annotated[
    list[str] | None, typer.Option(help="points on an axis; several, as in 43,64, for many grids")
]
Resolutions = Annotated[str, typer.Option(help="points on an axis, as in 43,64,85")]
TrainCount = Annotated[
    int | None, typer.Option(help="samples to train with; if not given, the recipe's")
]
ValCount = Annotated[
    int | None, typer.Option(help="samples to validate with; if not given, the recipe's")
]
TestCount = Annotated[
    int | None, typer.Option(help="samples to test with; if not given, the recipe's")
]
Epochs = Annotated[int | None, typer.Option(help="if not given, the recipe's")]
BatchSize = Annotated[int | None, typer.Option(help="samples a step; if not given, the recipe's")]
Seed = Annotated[int, typer.Option(help="of weights, draws and the order of samples")]
Store = Annotated[Path | None, typer.Option(help="zarr store with train and test, or files")]
Recipe = Annotated[str, typer.Option(help=listed(RECIPES), autocompletion=complete(RECIPES))]
Forecast = Annotated[
    str | None,
    typer.Option(
        help=f"of fields in time: {listed(FORECASTS)}", autocompletion=complete(FORECASTS)
    ),
]
Augment = Annotated[
    bool | None, typer.Option(help="training samples by symmetries; if not given, as the recipe")
]
Coarse = Annotated[
    float | None, typer.Option(help="of several grids: share of the epochs before the last one")
]
Slopes = Annotated[
    float | None,
    typer.Option(help="weight of slopes, the relative H¹ error, in what is made small"),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="name=value of anything else: viscosity, rate, arch_rate, width, taps, …; may be "
        "given several times",
    ),
]
OwnSetting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="name=value of anything else: viscosity, rate, width, …; op.name=value is for one "
        "operator, as in xd.taps=13",
    ),
]
Parameter = Annotated[
    list[str] | None, typer.Option("--set", help="name=value, a parameter of the equation")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="replace what is there")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for scripts")]
Csv = Annotated[Path | None, typer.Option(help="file to write the table to")]
Report = Annotated[bool, typer.Option("--report", help="also write report.html")]
