"""Searches in grammars: resumed, killed, shared by processes; what they find and what they say."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import sciops
from sciops.cli.app import app
from sciops.grammars.grammar import parse_grammar
from sciops.reporting.command import search_command
from sciops.reporting.grammar_report import asked
from sciops.runs.grammar_result import read_grammar_search
from sciops.searching.strategies import make_strategy
from sciops.studies.early_stopping import EarlyStopping
from sciops.studies.proposers import EvolutionProposer
from tests.grammar_search_toy import GRAMMAR, searched
from tests.run_toy import COUNTS
from tests.task_toys import images

ROOT = Path(__file__).parents[2]
pytest.importorskip("optuna", reason="the engine of studies, Optuna, is not installed")


@pytest.fixture(scope="module", autouse=True)
def kept(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(tmp_path_factory.mktemp("kept")))
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return searched(tmp_path_factory.mktemp("whole") / "search")


def outcome(result):
    """All but the times."""
    return result.trials.drop(columns="seconds").fillna(-1).to_dict("records")


def test_every_trial_is_a_run_and_the_best_is_chosen_by_validation(whole):
    trials = whole.trials
    assert trials["trial"].tolist() == ["0", "1", "2", "3", "4"]
    assert (trials["state"] == "finished").all() and (trials["epochs"] == 2).all()
    assert whole.best["val"] == trials["val"].min() and trials["test"].notna().sum() == 1
    for number, row in enumerate(trials.to_dict("records")):
        run = sciops.open_run(whole.path / f"study/trials/{number:05}/run")
        assert run.config["model"]["term"] == row["term"]
        assert run.metrics["val_relative_l2"] == pytest.approx(row["val"])
        assert run.metrics["parameters"] == row["parameters"]
    assert whole.best["test"] == whole.run.metrics["test_relative_l2"]
    x = whole.run.data["test"].to_dataset()
    assert torch.isfinite(torch.tensor(whole.run.predict(x)["u"].values)).all()
    assert next(whole.model.parameters()).isfinite().all()


def test_the_folder_is_all_there_is(whole):
    again = read_grammar_search(whole.path)
    assert repr(again).startswith(f"GrammarResult(5 terms by bayes, best {whole.best['trial']}: ")
    assert outcome(again) == outcome(whole) and again.settings == whole.settings
    assert again.cost["search_epochs"] == 10 and again.won  # there are no controls
    with pytest.raises(ValueError, match="is not a search in a grammar"):
        read_grammar_search(whole.path.parent)


def test_killed_and_resumed_it_finds_the_same(whole, tmp_path):
    command = [sys.executable, "-m", "tests.grammar_search_toy", str(tmp_path / "killed"), "18"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [r.state for r in read_grammar_search(tmp_path / "killed").study.records]
    assert left == ["finished"] * 3 + ["running"]  # its last epoch is kept, but not told
    resumed = searched(tmp_path / "killed")
    assert outcome(resumed) == outcome(whole)
    for some, other in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(some, other)
    assert [r.score for r in resumed.study.records] == [r.score for r in whole.study.records]


def test_two_processes_share_the_trials(tmp_path):
    result = searched(tmp_path / "search", "random", trials=4, workers=2)
    assert result.trials["state"].tolist() == ["finished"] * 4
    assert result.trials["term"].nunique() == 4


def test_controls_stopped_trials_and_the_page(tmp_path):
    rule = EarlyStopping(first=1, factor=2, last=2)
    options = dict(early_stopping=rule, controls=True, grammar=parse_grammar(GRAMMAR))
    result = searched(tmp_path / "search", trials=11, **options)
    stopped = result.trials[result.trials["state"] == "stopped"]
    assert len(stopped) and (stopped["epochs"] == 1).all() and stopped["parameters"].notna().all()
    controls = result.trials[result.trials["role"] == "control"]
    assert [name.split("-")[0] for name in controls["trial"]] == ["fno", "xd"]
    assert controls["test"].notna().all() and (controls["epochs"] == 2).all()
    assert result.won == bool((controls["val"] > result.best["val"]).all())
    assert result.cost["control_epochs"] == 4
    assert result.levels()["weight"].sum() == pytest.approx(1)
    page = result.report().read_text()
    for text in ("The best term", "What counts in the kernel", "How well errors are predicted"):
        assert text in page
    assert "stopped after step 1" in page and "than all controls" in page
    words = shlex.split(search_command(asked(result)).replace("\\\n", " "))
    assert words[:3] == ["sciops", "search", "darcy"] and "trials=11" in words


def test_the_command_of_the_page_does_the_same(whole):
    words = shlex.split(search_command(asked(whole)).replace("\\\n", " "))
    result = CliRunner().invoke(app, [*words[1:], "--out", str(whole.path)])
    assert result.exit_code == 0, result.output  # it is the same search
    assert f"term: {whole.best['term']}" in result.stdout


def test_evolution_mutates_what_it_found(tmp_path):
    options = dict(population=3, tournament=2, trials=5)
    result = searched(tmp_path / "search", "evolution", **options)
    known = {"proposer": "evolution", "population": 3, "tournament": 2}
    assert result.settings["strategy"] == known and result.trials["term"].nunique() == 5
    trials, space = result.scored(), result.candidates.space()
    for number in (3, 4):  # the first ones after the random population
        rng = np.random.default_rng([result.settings["seed"], number])
        child = EvolutionProposer(3, 2).propose(space, trials[:number], [], rng)
        assert child == trials[number].candidate


def test_fields_on_a_line(tmp_path):
    known = dict(viscosity=0.2, hidden=4, batch_size=4, resolution=16, **COUNTS)
    known |= dict(early_stopping=None, progress=False, out=tmp_path / "search")
    grammar = "NET -> Linear2(lift4, OP)\nOP -> conv3 | fourier2 | xd2 | xdconv3"
    asked = dict(grammar=grammar, trials=2, **known)
    result = sciops.search("burgers", "grammar", "random", 1, **asked)
    assert result.trials["state"].tolist() == ["finished"] * 4
    assert [name.split("-")[0] for name in result.trials["trial"][2:]] == ["fno", "xd"]
    assert len(result.run.task.axes) == 1 and result.metric == "relative_l2"
    prediction = result.run.predict(result.run.data["test"].to_dataset())
    assert prediction["u"].sizes["x"] == 16 and bool(np.isfinite(prediction["u"]).all())


def test_images_have_a_grammar_of_their_own(tmp_path):
    known = dict(data=images(), trials=2, progress=False, kernel="flat", out=tmp_path / "search")
    result = sciops.search("vision", "grammar", budget=1, **known)
    assert result.settings["strategy"]["kernel"] == "flat" and result.metric == "cross_entropy"
    assert result.trials["trial"].tolist() == ["0", "1", "lenet", "lenet-xd"]
    assert result.best["term"].startswith("Linear2(lift8, Linear3(")
    assert "lenet-xd" in result.report().read_text()


def test_trials_that_cannot_be(tmp_path):
    text = "NET -> Linear2(lift4, OP)\nOP -> Residual2(lift8, id, conv3) | Residual2(lift6, id, id)"
    known = dict(data=images(), trials=2, progress=False, grammar=text, out=tmp_path / "search")
    with pytest.raises(ValueError, match=r"none of 2 trials was finished, the first with .*node 3"):
        sciops.search("vision", "grammar", "random", 1, **known)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(strategy="joint"), "no strategy='joint'; there are random, evolution, bayes"),
        (dict(grammar="films"), "there is no grammar 'films'; give one of fields, nasbench201"),
        (dict(grammar="NET -> Linear2(lift4)"), "Linear2"),
        (
            dict(grammar="NET -> Linear2(lift4, OP)\nOP -> conv3 | cnov5"),
            r"production 2 of OP, cnov5: there is no primitive 'cnov5'; .* did you mean 'conv5'",
        ),
        (dict(network="lenet"), "terms are whole networks"),
        (dict(term="conv3"), "term= is what a search chooses itself"),
        (dict(colour=3), "there is no option colour"),
        (dict(strategy=make_strategy("joint")), "there is no strategy="),
        (dict(workers=0), "workers=0 must be a whole number"),
        (dict(trials=0), "trials=0 must be a whole number"),
        (dict(early_stopping="soon"), "rule='soon' is not known"),
        (dict(strategy="evolution", kernel="flat"), "there is no option kernel"),
    ],
)
def test_errors_come_first(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        searched(tmp_path / "search", **{"strategy": "random", **options})
    assert list(tmp_path.iterdir()) == []


def test_data_of_ones_own(tmp_path):
    tree = sciops.load("darcy", resolution=9, refine=1, n_train=6, n_val=2, n_test=3)
    known = dict(data=tree, trials=1, out=tmp_path / "search", progress=False, grammar=GRAMMAR)
    result = sciops.search("darcy", "grammar", "random", 1, controls=False, **known)
    assert result.settings["data"]["fingerprint"] and "YOUR-DATA" in result.report().read_text()
    known["data"] = sciops.load("darcy", resolution=9, refine=1, n_train=5, n_val=2, n_test=3)
    with pytest.raises(ValueError, match=r"holds another search \(.*data"):
        sciops.search("darcy", "grammar", "random", 1, controls=False, **known)


def test_grammars_from_files(tmp_path, whole):
    (tmp_path / "own.txt").write_text(GRAMMAR)
    again = searched(whole.path, grammar=tmp_path / "own.txt")  # the same search
    assert outcome(again) == outcome(whole)
    with pytest.raises(ValueError, match=r"holds another search \(.*seed"):
        searched(whole.path, seed=1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe -> conv3", "own.txt is no text in UTF-8 .* save it as such"),
        (b"NET -> conv3\nwhat", "own.txt, line 2: expected SYMBOL -> term"),
        (b"# " + b"x" * 2**19, "own.txt, a grammar of more than 262144 characters"),
    ],
    ids=["bytes", "mistake", "long"],
)
def test_files_that_are_no_grammars(tmp_path, content, message):
    (tmp_path / "own.txt").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        searched(tmp_path / "search", grammar=tmp_path / "own.txt")
