"""Runs of every version that there was open, and predict what they predicted then.

A failure here means that people's runs no longer open, or give other numbers.  Make the change such
that the old folder is still understood (a default for what it lacks, a new name for what was
renamed).  New operators and networks get a golden run by `python -m tests.golden_runs`, which adds
what is missing; what is there is never made anew.
"""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

import sciops
from sciops.checkpoint import CheckpointError
from sciops.runs.grammar_result import read_grammar_search
from sciops.runs.trimming import open_trimmed
from sciops.searching.result import load_search
from tests.golden_runs import GOLDEN, golden, makers, output_of, values_of
from tests.search_toy import LeNet

RUNS = sorted(file.parent.relative_to(GOLDEN).as_posix() for file in GOLDEN.glob("*/*/model.json"))
SEARCHES = sorted(path.relative_to(GOLDEN).as_posix() for path in GOLDEN.glob("*/search"))
GRAMMARS = sorted(path.relative_to(GOLDEN).as_posix() for path in GOLDEN.glob("*/grammar-search"))
TRIMMED = sorted(path.relative_to(GOLDEN).as_posix() for path in GOLDEN.glob("*/trimmed"))
STORES = sorted(path.relative_to(GOLDEN).as_posix() for path in GOLDEN.glob("*/store-*"))
REMEDY = "see the head of tests/test_golden_runs.py for what to do"


def assert_same(found: torch.Tensor, expected: torch.Tensor, name: str) -> None:
    scale = expected.abs().max()
    error = float((found - expected).abs().max() / scale)
    assert found.shape == expected.shape and error <= 1e-5, (
        f"{name} predicts other numbers, by {error:.2g} of the largest; {REMEDY}"
    )


@pytest.mark.parametrize("name", RUNS)
def test_a_run_predicts_what_it_did(name):
    run = sciops.open_run(GOLDEN / name)
    x, y = golden(GOLDEN / name)
    assert_same(output_of(run.model, x), y, name)
    assert {key for key in run.metrics if key.startswith("test_")}, REMEDY
    assert len(run.history) == 1


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_what_it_was(name):
    result = load_search(GOLDEN / name / "kept", LeNet)
    x, y = golden(GOLDEN / name)
    assert_same(output_of(result.model, x), y, name)
    assert torch.equal(result.sample, x) and list(result.trials["trial"]) == ["supernet", "offline"]


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_search_in_a_grammar_is_what_it_was(name):
    result = read_grammar_search(GOLDEN / name / "kept")
    x, y = golden(GOLDEN / name)
    assert_same(output_of(result.model, x), y, name)
    assert list(result.trials["state"]) == ["finished"] * 2
    assert result.best["val"] == result.trials["val"].min()


@pytest.mark.parametrize("name", TRIMMED)
def test_a_trimmed_network_predicts_what_it_did(name):
    x, y = golden(GOLDEN / name)
    assert_same(output_of(open_trimmed(GOLDEN / name), x), y, name)


@pytest.mark.parametrize("name", STORES)
def test_a_store_has_the_values_it_had(name):
    found, expected = values_of(GOLDEN / name), load_file(GOLDEN / name / "golden.safetensors")
    assert found.keys() == expected.keys(), REMEDY
    assert all(torch.equal(found[key], expected[key]) for key in found), REMEDY


def test_every_operator_and_network_has_a_golden_run():
    there = {name.partition("/")[2] for name in RUNS}
    missing = sorted({name for name, _ in makers()} - there)
    assert not missing, f"{', '.join(missing)} have none; run `python -m tests.golden_runs`"
    assert SEARCHES and TRIMMED and len(STORES) == 2


def test_other_numbers_and_another_format_are_noticed(tmp_path):
    name = "0.1.0/pde-conv"
    shutil.copytree(GOLDEN / name, tmp_path / "run")
    run, (x, y) = sciops.open_run(tmp_path / "run"), golden(tmp_path / "run")
    with torch.no_grad():
        next(run.model.parameters()).mul_(1.001)
    with pytest.raises(AssertionError, match="predicts other numbers"):
        assert_same(output_of(run.model, x), y, name)
    file = tmp_path / "run" / "model.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "sciops_schema": 2}))
    with pytest.raises(CheckpointError, match="upgrade sciops"):
        sciops.open_run(tmp_path / "run")


def test_they_stay_small():
    assert sum(file.stat().st_size for file in GOLDEN.rglob("*") if file.is_file()) < 1.7e6
