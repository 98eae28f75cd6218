"""Tables of the commands hide nothing: what failed is seen, and counts stay whole."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from sciops.cli.tables import (
    by_sample,
    mean_and_spread,
    of_run_as_json,
    over_samples,
    show,
    with_pooled,
)


def test_numbers_that_do_not_exist_are_null_in_json(capsys):
    text = of_run_as_json(Path("here"), {"test_relative_l2": float("nan"), "parameters": 7})
    assert json.loads(text) == {"path": "here", "test_relative_l2": None, "parameters": 7}
    text = of_run_as_json(Path("here"), {"parameters": 7}, Path("here/report.html"))
    assert json.loads(text)["report"] == "here/report.html"
    show(pd.DataFrame({"mean": [0.5, float("nan")]}), as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"mean": 0.5}, {"mean": None}]


def test_bands_are_columns():
    values = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    scores = xr.Dataset(
        {"max_error": ("sample", [7.0, 8.0, 9.0]), "band_error": (("sample", "band"), values)},
        {"sample": [10, 11, 12], "band": ["low", "high"]},
    )
    assert by_sample(scores).to_dict("list") == {
        "sample": [10, 11, 12],
        "max_error": [7.0, 8.0, 9.0],
        "band_error_low": [1.0, 3.0, 5.0],
        "band_error_high": [2.0, 4.0, 6.0],
    }


def test_a_prediction_that_failed_is_not_averaged_away():
    table = pd.DataFrame({"sample": [0, 1], "good": [1.0, 3.0], "bad": [1.0, float("nan")]})
    good, bad = over_samples(table).to_dict("records")
    assert good == {"score": "good", "mean": 2.0, "median": 2.0, "min": 1.0, "max": 3.0}
    assert all(np.isnan(bad[name]) for name in ("mean", "median", "min", "max"))


def test_one_seed_has_no_spread():
    names = ["min", "max", "val_mean", "epochs", "seconds_per_epoch", "parameters"]
    table = pd.DataFrame({"op": ["fno", "xd"], "mean": [0.25, 0.5], "std": [0.125, float("nan")]})
    shown = mean_and_spread(table.assign(**dict.fromkeys(names, 1)))
    assert shown["relative_l2"].tolist() == ["0.25 ± 0.12", "0.5"]
    assert list(shown) == ["op", "relative_l2", *names]


def test_text_has_few_digits_and_whole_counts(capsys):
    show(pd.DataFrame({"error": [0.0123456], "parameters": [1234567]}))
    assert capsys.readouterr().out.split() == ["error", "parameters", "0.01235", "1234567"]


def test_scores_over_all_pixels_are_rows_with_a_value():
    table = pd.DataFrame({"score": ["mean_error"], "mean": [0.5]})
    assert with_pooled(table, xr.Dataset()) is table
    rows = with_pooled(table, xr.Dataset(attrs={"auroc": 0.9, "pixels": 12})).to_dict("records")
    assert [(row["score"], row["value"]) for row in rows[1:]] == [
        ("pooled_auroc", 0.9),
        ("pooled_pixels", 12),
    ]
    assert rows[0]["mean"] == 0.5 and np.isnan(rows[1]["mean"])
