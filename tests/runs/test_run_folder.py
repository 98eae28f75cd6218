"""The folder of a run is claimed once, whole at its end, and never half written."""

import json
import math
import os

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from torch import nn

import sciops.atomic
import sciops.claims
import sciops.runs.folder
from sciops.atomic import write_text, writing
from sciops.checkpoint import save_model
from sciops.data.samples import task_of
from sciops.runs.folder import as_json, claim, finish, only_process, versions
from sciops.runs.run import Run
from tests.grid_toy import Power
from tests.run_toy import files, lines

CONFIG = {
    "name": "toy",
    "op": "xd",
    "model": {"op": "xd", "taps": 3},
    "data": {"fingerprint": "1f2e"},
}


def test_a_new_folder_is_claimed_and_taken_up_again(tmp_path):
    path, finished = claim(tmp_path / "a" / "run", CONFIG)
    assert path == tmp_path / "a" / "run" and not finished
    assert json.loads((path / "config.json").read_text()) == CONFIG
    assert claim(path, CONFIG) == (path, False)
    (path / "model.json").touch()
    assert claim(path, CONFIG) == (path, True)


def test_a_model_that_was_published_by_a_killed_process_is_brought_to_its_place(tmp_path):
    path, _ = claim(tmp_path / "run", CONFIG)
    save_model(path, {"a": torch.ones(3)}, {})
    whole = files(path)
    (path / ".model.ready").mkdir()
    (path / "model.safetensors").rename(path / ".model.ready" / "model.safetensors")
    assert claim(path, CONFIG) == (path, True)
    assert files(path) == whole


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"op": "fno"}, "op: xd there, fno asked for"),
        ({"model": {"op": "xd", "taps": 5}}, "model.taps: 3 there, 5 asked for"),
        ({"later": 1}, "later: nothing there, 1 asked for"),
        ({"later": None}, "later: nothing there, None asked for"),
        ({"op": "fno", "later": 1}, "op: xd .*; later: nothing there, 1 asked for"),
    ],
)
def test_a_folder_of_another_run_is_refused(change, difference, tmp_path):
    claim(tmp_path / "run", CONFIG)
    before = files(tmp_path)
    with pytest.raises(ValueError, match=rf"holds another run \({difference}\)"):
        claim(tmp_path / "run", {**CONFIG, **change})
    assert files(tmp_path) == before


def test_an_option_that_is_no_longer_there_is_a_difference(tmp_path):
    claim(tmp_path / "run", {**CONFIG, "earlier": 1})
    with pytest.raises(ValueError, match=r"\(earlier: 1 there, nothing asked for\)"):
        claim(tmp_path / "run", CONFIG)


def test_what_is_not_a_run_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(ValueError, match="exists and is not a run; choose another folder"):
            claim(place, CONFIG)
    assert files(tmp_path) == {"notes.txt": b"mine"}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null"])
def test_a_damaged_configuration_is_said_to_be(content, tmp_path):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"config\.json is damaged; remove .* or choose another"):
        claim(tmp_path, CONFIG)
    assert files(tmp_path) == {"config.json": content}


def test_what_a_process_killed_while_claiming_leaves_is_no_obstacle(tmp_path):
    (tmp_path / ".config.json.123.partial").write_text('{"na')
    assert claim(tmp_path, CONFIG) == (tmp_path, False)
    assert list(files(tmp_path)) == ["config.json"]


def test_of_two_that_claim_at_once_the_second_is_refused(tmp_path, monkeypatch):
    def after_another(path):
        with writing(path):
            (path / "config.json").write_text(json.dumps({**CONFIG, "op": "fno"}))
        return writing(path)

    monkeypatch.setattr(sciops.claims, "writing", after_another)
    with pytest.raises(ValueError, match="op: fno there, xd asked for"):
        claim(tmp_path / "run", CONFIG)


def test_two_processes_may_write_one_file(tmp_path, monkeypatch):
    def while_another_writes(path):
        monkeypatch.setattr(sciops.atomic, "flush", flush)
        monkeypatch.setattr(os, "getpid", lambda: -1)
        write_text(tmp_path / "a", "other")

    flush = sciops.atomic.flush
    monkeypatch.setattr(sciops.atomic, "flush", while_another_writes)
    write_text(tmp_path / "a", "own")
    assert files(tmp_path) == {"a": b"own"}


def test_what_a_killed_process_left_of_a_file_goes_when_it_is_written_again(tmp_path):
    (tmp_path / ".a.csv.12345.partial").write_text("draft")
    (tmp_path / ".b.csv.12345.partial").write_text("of another file")
    write_text(tmp_path / "a.csv", "whole")
    assert sorted(files(tmp_path)) == [".b.csv.12345.partial", "a.csv"]


def test_one_process_trains_in_a_folder(tmp_path, monkeypatch):
    path, _ = claim(tmp_path / "run", CONFIG)
    (path / ".metrics.csv.123.partial").touch()
    with only_process(path):
        assert list(files(path)) == ["config.json"]
        with pytest.raises(ValueError, match="another process trains in this folder; wait"):
            only_process(path).__enter__()
        monkeypatch.setattr(sciops.runs.folder.rank_zero_only, "rank", 1)
        with only_process(path):  # a process of the same group
            pass
        monkeypatch.undo()
    with only_process(path):
        pass


def test_folders_without_a_name_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = {claim(None, {**CONFIG, "seed": seed})[0] for seed in (0, 1, 1)}
    assert len(paths) == 2 and all(path.parent == tmp_path / "runs" for path in paths)
    assert claim(None, dict(reversed({**CONFIG, "seed": 1}.items())))[0] in paths


def test_options_are_those_that_a_file_can_hold():
    plain = as_json({"a": np.float64(0.5), "b": np.int64(3), "c": (1, 2), "d": None})
    assert plain == {"a": 0.5, "b": 3, "c": [1, 2], "d": None}
    for value in (math.nan, object(), nn.ReLU, {1, 2}):
        with pytest.raises(ValueError, match=r"cannot be written to config\.json"):
            as_json({"a": value})


def test_versions_are_known():
    assert {"python", "sciops", "torch", "pytorch-lightning"} <= set(versions())


# --- the end --------------------------------------------------------------------------------------


def made_run(path, model: nn.Module, test: xr.Dataset | None = None) -> Run:
    data = lines() | ({} if test is None else {"test": test})
    rows = {"epoch": [1, 2], "train_relative_l2": [0.5, 0.25], "val_relative_l2": [0.6, 1 / 3]}
    history = pd.DataFrame({**rows, "seconds": [1.5, 2.0]})
    claim(path, CONFIG)
    return Run(
        model, task_of(data["train"]), CONFIG, {}, history, path, xr.DataTree.from_dict(data)
    )


def test_the_scores_of_a_run(tmp_path):
    run = finish(made_run(tmp_path / "run", Power(factor=1.25)), progress=False)
    assert run.metrics["test_relative_l2"] == pytest.approx(0.25, rel=1e-5)
    assert run.metrics["val_relative_l2"] == 1 / 3
    assert run.metrics["train_relative_l2"] == 0.25
    assert run.metrics["train_seconds"] == 3.5
    assert run.metrics["parameters"] == run.metrics["arch_parameters"] == 0
    description = json.loads((tmp_path / "run" / "model.json").read_text())["notes"]
    assert description["metrics"] == run.metrics and description["config"] == CONFIG
    assert pd.read_csv(tmp_path / "run" / "metrics.csv").equals(run.history)


class NotANumber(nn.Module):
    """The square, but NaN for samples that are larger than a limit."""

    def __init__(self, limit: float):
        super().__init__()
        self.limit = limit

    def forward(self, x, coords=None):
        high = x.amax((1, 2), keepdim=True) > self.limit
        return torch.where(high, torch.nan, 1.25 * x**2)


def test_a_mean_does_not_hide_predictions_that_are_not_finite(tmp_path):
    test = lines()["test"]
    test["a"][1] += 100
    run = finish(made_run(tmp_path / "run", NotANumber(50.0), test), progress=False)
    assert math.isnan(run.metrics["test_relative_l2"])
    description = json.loads((tmp_path / "run" / "model.json").read_text())["notes"]
    assert description["metrics"]["test_relative_l2"] is None
