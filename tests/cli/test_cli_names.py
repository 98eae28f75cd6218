"""The names that help and completion show are those of the registries."""

import os
import subprocess
import sys
from inspect import signature

import pytest
from typer.testing import CliRunner

import sciops
from sciops.backbones import BASELINES, CLASSIFIERS, OPERATORS
from sciops.backbones.forecasting import WAYS
from sciops.cli import names
from sciops.cli.app import app
from sciops.domains import DOMAINS, ONLY_READ
from sciops.runs import OPERATORS as OF_EQUATIONS
from sciops.runs import TASKS
from sciops.runs.problems import PROBLEMS
from sciops.runs.recipes import RECIPES
from sciops.searching.spaces import SPACES
from sciops.searching.strategies import STRATEGIES


def test_names_are_those_of_the_registries():
    assert set(names.DATA_SETS) == set(sciops.datasets().index)
    assert set(names.EQUATIONS) == set(DOMAINS) and set(names.ONLY_READ) == set(ONLY_READ)
    assert set(names.PROBLEMS) == set(PROBLEMS)
    assert set(names.SPACES) == set(SPACES)
    assert set(names.STRATEGIES) == set(STRATEGIES)
    assert set(names.RECIPES) == set(RECIPES)
    assert set(names.FORECASTS) == set(WAYS)
    assert set(names.NETWORKS) == {*CLASSIFIERS, "fno-cnn"}
    assert set(OF_EQUATIONS) == {*OPERATORS, *BASELINES}


@pytest.mark.parametrize("name", ["pde", *TASKS])
def test_the_first_operator_is_the_usual_one(name):
    verb = getattr(sciops, f"train_{name}")
    assert names.operators_of(name)[0] == signature(verb).parameters["op"].default


@pytest.mark.parametrize("command", ["train", "compare"])
def test_a_data_set_that_is_not_there(command):
    result = CliRunner().invoke(app, [command, "protien"])
    assert result.exit_code == 2
    assert "no data set 'protien'" in result.stderr
    assert result.stderr.strip().endswith("did you mean 'protein'?")
    assert len(result.stderr.strip().splitlines()) == 1


def completed(line: str) -> list[str]:
    """What bash would offer behind a line."""
    words = {"_SCIOPS_COMPLETE": "complete_bash", "COMP_WORDS": line}
    env = os.environ | words | {"COMP_CWORD": str(len(line.split(" ")) - 1)}
    command = [sys.executable, "-m", "sciops"]
    return subprocess.run(command, env=env, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sciops tr", ["train", "transfer"]),
        ("sciops train d", ["darcy"]),
        ("sciops train music --op u", ["undilated"]),
        ("sciops train --op unet-xd", ["unet-xd", "unet-xd-grid"]),
        ("sciops compare darcy --ops fno,x", ["fno,xd", "fno,xd-grid"]),
        ("sciops data read cyl", ["cylinder_wake"]),
        ("sciops search di", ["digits"]),
        ("sciops search digits --space k", ["kop", "klayer"]),
        ("sciops search digits --strategy r", ["restarts", "random"]),
    ],
)
def test_completion(line, offered):
    assert sorted(completed(line)) == sorted(offered)


def test_completion_needs_no_torch():
    code = "import sys; import sciops.cli.app; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
