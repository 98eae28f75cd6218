"""`search`: every space on images and fields, in a folder that goes on; its page says how."""

import shlex

import pytest
import torch
from typer.testing import CliRunner

import sciops
from sciops.cli.app import app
from sciops.reporting.command import search_command
from sciops.searching.result import load_search
from sciops.searching.spaces import SPACES, make_space
from sciops.searching.strategies import make_strategy
from tests.task_toys import images

FIELDS = dict(n_train=4, n_val=2, n_test=2, resolution=8, batch_size=4, taps=3)
OPTIONS = {"nos": dict(n_cells=2, n_nodes=1, width=2), "dnarch": dict(width=4, blocks=2)}


@pytest.fixture(scope="module", autouse=True)
def kept(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(tmp_path_factory.mktemp("kept")))
        yield


@pytest.fixture(autouse=True)
def own_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def searched(task="vision", space="xd", strategy="joint", budget=1, **options):
    known = {"data": images()} if task == "vision" else FIELDS
    own = {**known, "controls": False, "progress": False, **OPTIONS.get(space, {}), **options}
    return sciops.search(task, space, strategy, budget, **own)


@pytest.mark.parametrize("task", ["vision", "darcy", "burgers"])
@pytest.mark.parametrize("space", SPACES)
def test_every_space_on_every_problem(task, space, tmp_path):
    result = searched(task, space, out=tmp_path / "found")
    assert result.notes["metric"] == ("error_rate" if task == "vision" else "relative_l2")
    assert (result.trials["val"] >= 0).all() and result.trials["test"].notna().all()
    if task != "vision" and space in ("xd", "kop", "discrete"):  # pointwise layers stay
        layers = set(result.distances["layer"])
        assert layers == {f"model.blocks.{k}.operator" for k in range(3)}
    if task == "burgers":
        return
    page = result.report().read_text()
    assert "How to do it again" in page and f"sciops search {task}" in page
    assert ("What the search changed" in page) == SPACES[space].learns
    assert ("What the operations do" in page) == (not SPACES[space].whole)


def test_it_goes_on_and_is_what_it_was(tmp_path):
    first = searched(controls=True, budget=2, out=tmp_path / "found", depth=2)
    again = searched(controls=True, budget=2, out=tmp_path / "found", depth=2)
    assert again.trials.equals(first.trials) and first.path == tmp_path / "found"
    roles = first.trials["role"].tolist()
    assert roles == ["control", "control", "search", "search"]
    loaded = load_search(tmp_path / "found")
    assert loaded.notes == first.notes and loaded.space == make_space("xd", depth=2)
    text = first.report().read_text()
    assert text == again.report(tmp_path / "other.html").read_text()
    assert "the network as it is" in text and "better than all controls" in text
    with pytest.raises(ValueError, match=r"holds another search \("):
        searched(controls=True, budget=3, out=tmp_path / "found", depth=2)


def test_without_a_folder_it_is_named_after_the_settings(tmp_path):
    first, second = searched(), searched(seed=1)
    assert first.path.parent == second.path.parent == tmp_path / "runs"
    assert first.path != second.path and first.path.name.startswith("search-vision-xd-joint-")
    assert searched().path == first.path


def test_objects_and_options_are_the_same(tmp_path):
    space, strategy = make_space("kop", start="scratch", depth=2), make_strategy("bilevel", order=1)
    first = searched(space=space, strategy=strategy, out=tmp_path / "a", clip=1.0)
    own = dict(start="scratch", depth=2, order=1, clip=1.0)
    second = searched(space="kop", strategy="bilevel", out=tmp_path / "b", **own)
    assert first.space == second.space and first.strategy == second.strategy
    for name, value in first.architecture.items():
        assert torch.equal(value, second.architecture[name])
    assert first.notes["asked"]["options"] == second.notes["asked"]["options"] == own
    assert first.notes["training"]["weights"]["clip"] == 1.0


def test_the_command_of_the_page_does_the_same(tmp_path):
    known = {**FIELDS, "controls": False, "offline": False, "progress": False}
    options = dict(start={"*": "scratch"}, depth=2, rate=2e-3, viscosity=0.2, width=4)
    first = sciops.search("burgers", "kop", "random", 2, members=2, seed=3, **known, **options)
    words = shlex.split(search_command(first.notes["asked"]).replace("\\\n", " "))
    result = CliRunner().invoke(app, [*words[1:], "--out", str(first.path), "--json"])
    assert result.exit_code == 0, result.output  # it is the same search
    assert "--no-offline" in words and "--no-controls" in words


def test_a_result_without_a_folder_asks_for_one():
    result = searched()
    result.path = None
    with pytest.raises(ValueError, match="this search has no folder; say where"):
        result.report()


def test_names_that_are_not_known():
    with pytest.raises(ValueError, match="there is no task_name='mnist'; there are digits, vision"):
        sciops.search("mnist")
    with pytest.raises(ValueError, match=r"there are xd, kop, discrete, .*, dnarch, grammar$"):
        sciops.search("digits", space="darts")
    with pytest.raises(ValueError, match=r"space='gramar'; .*; did you mean 'grammar'\?"):
        sciops.search("digits", space="gramar")
