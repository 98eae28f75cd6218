"""What the commands about runs print: tables, for people or as JSON."""

import json
import math
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from sciops.findings import Findings

WAYS = {  # to predict on another grid than that of training: the model, and what it has to beat
    "relative_l2": "",
    "control_upsample": ", on {} and interpolated",
    "control_downsample": ", input brought to {}",
}


def show(table: "pd.DataFrame", *, as_json: bool = False) -> None:
    """Print a table, or a JSON list of its rows, in which NaN is null."""
    if as_json:
        typer.echo(table.to_json(orient="records", indent=1, double_precision=15))
    else:
        typer.echo(table.to_string(index=False, formatters=dict.fromkeys(table, short)))


def short(value: Any) -> str:
    """
    >>> short(0.0123456), short(1234567), short("0.012 ± 0.001")
    ('0.01235', '1234567', '0.012 ± 0.001')
    """
    return str(value) if isinstance(value, str | Integral) else f"{value:.4g}"


def save_csv(table: "pd.DataFrame", file: Path) -> None:
    """Write a table to a file, whole or not at all."""
    from sciops.atomic import write_text

    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, table.to_csv(index=False))


# --- tables ---------------------------------------------------------------------------------------


def of_run(metrics: Mapping[str, float]) -> "pd.DataFrame":
    """A row for each score."""
    import pandas as pd

    values = pd.Series(list(metrics.values()), dtype=object)  # counts stay whole
    return pd.DataFrame({"score": list(metrics), "value": values})


def of_run_as_json(path: Path, metrics: Mapping[str, float], page: Path | None = None) -> str:
    """One object, in which NaN is null; page: of the report, if there is one."""
    finite = {name: n if math.isfinite(n) else None for name, n in metrics.items()}
    shown = {} if page is None else {"report": str(page)}
    return json.dumps({"path": str(path), **shown, **finite}, indent=1)


def findings_as_json(report: "Findings") -> str:
    """One object: whether all is well, and what was looked at."""
    found = [vars(finding) for finding in report.findings]
    return json.dumps({"ok": report.ok, "findings": found}, indent=1, default=str)


def by_sample(scores: "xr.Dataset") -> "pd.DataFrame":
    """A row for each sample, protein, piece or stamp; errors of bands are columns of their own."""
    import pandas as pd

    (row,) = {"sample", "protein", "piece", "stamp"} & set(scores.dims)
    columns = {row: scores[row].values}
    for name, score in scores.data_vars.items():
        if score.dims == (row,):
            columns[name] = score.values
        else:
            score = score.dropna("band", how="all")  # beyond the grid
            columns |= {f"{name}_{b}": score.sel(band=b).values for b in score["band"].values}
    return pd.DataFrame(columns)


def over_samples(table: "pd.DataFrame") -> "pd.DataFrame":
    """A row for each score of `by_sample`.

    One NaN, a prediction that failed, makes it NaN; of proteins and of stamps it is a score that
    one cannot have.
    """
    import pandas as pd

    scores, skip = table.iloc[:, 1:], table.columns[0] in ("protein", "stamp")
    how = ("mean", "median", "min", "max")
    found = pd.DataFrame({name: getattr(scores, name)(skipna=skip) for name in how})
    return found.rename_axis("score").reset_index()


def pooled(scores: "xr.Dataset") -> str:
    """Scores that are no mean over samples, in words; "" where there is none."""
    if "nats" in scores.attrs:
        return f"over all frames: {scores.attrs['nats']:.4f} nats a frame"
    if "auroc" in scores.attrs:
        found = ", ".join(f"{name} {short(value)}" for name, value in scores.attrs.items())
        return f"over all pixels: {found}"
    return ""


def with_pooled(table: "pd.DataFrame", scores: "xr.Dataset") -> "pd.DataFrame":
    """The table of `over_samples` with rows for scores over all frames or pixels, which are values
    and no means over samples."""
    import pandas as pd

    if not {"nats", "auroc"} & set(scores.attrs):
        return table
    numbers = {k: v for k, v in scores.attrs.items() if isinstance(v, int | float)}
    rows = pd.DataFrame({"score": [f"pooled_{name}" for name in numbers]})
    return pd.concat([table, rows.assign(value=list(numbers.values()))], ignore_index=True)


def by_resolution(errors: "xr.Dataset") -> "pd.DataFrame":
    """A row for each resolution, with means over samples."""
    kept = errors.drop_dims("wavenumber").drop_vars("training_nyquist", errors="ignore")
    return kept.mean("sample", skipna=False).to_dataframe().reset_index()


def mean_and_spread(table: "pd.DataFrame") -> "pd.DataFrame":
    """The table of `compare` with mean ± standard deviation, where there are several seeds."""
    import pandas as pd

    spread = ["" if pd.isna(std) else f" ± {std:.2g}" for std in table["std"]]
    both = [f"{mean:.4g}{text}" for mean, text in zip(table["mean"], spread, strict=True)]
    kept = ["min", "max", "val_mean", "epochs", "seconds_per_epoch", "parameters"]
    return pd.concat([table[["op"]].assign(relative_l2=both), table[kept]], axis=1)


def of_matrix(table: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of `by_resolution` of several runs as `on_grids` takes them."""
    labels = [f"trained on {n}" for n in table["trained"]]
    spread = {f"{name}_std": float("nan") for name in WAYS}
    return table.assign(op=labels, trained_on=table["trained"], **spread)


def on_grids(table: "pd.DataFrame") -> "pd.DataFrame":
    """Of errors on other grids, an operator and a grid a row: a column for each grid, and three
    rows for each operator, which are the model and the two controls; "–" where there is none.
    """
    import pandas as pd

    rows = []
    for op, of_op in table.groupby("op", sort=False):
        for name, text in WAYS.items():
            cells = zip(of_op["resolution"], of_op[name], of_op[f"{name}_std"], strict=True)
            words = {str(n): _cell(mean, std) for n, mean, std in cells}
            rows.append({"op": f"{op}{text.format(of_op['trained_on'].iloc[0])}", **words})
    return pd.DataFrame(rows).fillna("–")


def _cell(mean: float, std: float) -> str:
    """
    >>> _cell(0.01234, 0.001), _cell(0.01234, math.nan), _cell(math.nan, math.nan)
    ('0.01234 ± 0.001', '0.01234', '–')
    """
    if math.isnan(mean):
        return "–"
    return f"{mean:.4g}" + ("" if math.isnan(std) else f" ± {std:.2g}")
