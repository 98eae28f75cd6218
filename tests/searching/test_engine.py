"""Every strategy searches every space; controls and cost are there; test data choose nothing."""

import json

import pytest
import torch

from sciops.operators import arch_parameters
from sciops.searching.engine import run_search
from sciops.searching.space import architecture_of
from sciops.searching.spaces import SPACES, make_space
from sciops.searching.strategies import STRATEGIES, make_strategy
from tests.search_toy import Images, LeNet, cross_entropy, data, mistakes, quick

LEARNING = [name for name, kind in SPACES.items() if kind.learns]
SMALL = {
    "nos": {"width": 2, "n_cells": 2, "n_nodes": 1},
    "dnarch": {"width": 4, "blocks": 2},
}
SEARCHED = {"nos": {"reduction"}, "dnarch": {"kernel", "resolution", "width", "depth"}}
CHEAP = {"restarts": {"cycles": 2}, "random": {"members": 2}}
VARIANTS = [(name, CHEAP.get(name, {})) for name in STRATEGIES] + [("bilevel", {"order": 1})]


def searched(space="xd", strategy="joint", sets=None, epochs=2, **options):
    usual = dict(metric=mistakes, training=quick(epochs), controls=False, offline=False)
    sets = data(8) if sets is None else sets
    options = {**usual, "space": space, "strategy": strategy, **options}
    return run_search(LeNet, *sets, cross_entropy, **options)


@pytest.mark.parametrize("space", LEARNING)
@pytest.mark.parametrize("strategy, options", VARIANTS, ids=str)
def test_every_strategy_searches_every_space(space, strategy, options):
    space = make_space(space, **SMALL.get(space, {}))
    result = searched(space, make_strategy(strategy, **options), offline=True)
    assert {"val", "test", "seconds", "epochs"} <= set(result.trials)
    assert result.cost["search_epochs"] == 2 and result.cost["offline_epochs"] == 2
    assert list(result.trials["trial"])[-1] == "offline"
    assert 0 <= result.best["val"] <= 1 and result.best["val"] == result.trials["val"].min()
    last = result.distances.groupby("layer")["distance"].last()
    assert set(last.index) == SEARCHED.get(space.name, {"conv1", "conv2"}) and (last > 0).all()
    # the architecture of the best network, offline or not, is the one that was found
    for name, value in architecture_of(result.model).items():
        assert torch.equal(value, result.architecture[name]) or result.best["trial"] == "member"


@pytest.mark.parametrize("space", [name for name in SPACES if name not in LEARNING])
def test_fixed_operations_are_trained_beside_the_backbone(space):
    result = searched(space, controls=True, offline=True)
    assert list(result.trials["trial"]) == ["backbone", "supernet"]
    assert result.architecture == {} and result.cost["search_epochs"] == 2
    with pytest.raises(ValueError, match="nothing to search by 'bilevel'"):
        searched(space, "bilevel")


def test_controls_and_their_cost_are_in_the_table():
    result = searched(controls=True, offline=True, retrain_epochs=1)
    roles = dict(zip(result.trials["trial"], result.trials["role"], strict=True))
    assert roles == {
        "backbone": "control",
        "random-member": "control",
        "supernet": "search",
        "offline": "search",
    }
    table = result.trials.set_index("trial")
    assert table["epochs"].tolist() == [1, 1, 2, 1] and (table["seconds"] > 0).all()
    assert table.loc["backbone", "arch_parameters"] == 0 < table.loc["supernet", "arch_parameters"]
    assert table.loc["offline", "moved"] == table.loc["supernet", "moved"] > 0
    assert result.won == (result.best["val"] < table["val"][:2].min())
    assert result.cost["control_epochs"] == 2 and result.cost["control_seconds"] > 0


def test_test_data_choose_nothing():
    train, val, test = data(8)
    other = Images(len(test), 77)
    other.y = 1 - other.y
    first, second = (
        searched(strategy=make_strategy("random", members=2), sets=(train, val, t), metric=None)
        for t in (test, other)
    )
    assert first.best["trial"] == second.best["trial"]
    assert first.trials["val"].tolist() == second.trials["val"].tolist()
    assert first.trials["test"].tolist() != second.trials["test"].tolist()
    without = searched(sets=(train, val, None))
    assert without.trials["test"].isna().all()


def test_a_frozen_architecture_does_not_move_and_weights_do():
    result = searched("discrete", offline=True, epochs=3)
    moved = [row for row in result.history.to_dict("records") if row["training"] == "offline"]
    assert len(moved) == 3
    fresh = result.apply(LeNet())
    pairs = zip(arch_parameters(fresh), result.architecture.values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_the_same_seed_gives_the_same_result_and_leaves_random_numbers_alone():
    torch.manual_seed(9)
    before = torch.get_rng_state()
    first = searched(make_space("kop", start="scratch", depth=2))
    assert torch.equal(before, torch.get_rng_state())
    torch.rand(3)
    second = searched(make_space("kop", start="scratch", depth=2))
    other = searched(make_space("kop", start="scratch", depth=2), training=quick(2, seed=1))
    for name, value in first.architecture.items():
        assert torch.equal(value, second.architecture[name])
        assert not torch.equal(value, other.architecture[name])


def test_restarts_keep_the_architecture_and_draw_weights_anew(monkeypatch):
    from sciops.searching import work

    begun = []
    train = work.Work.train

    def spy(self, name, model, epochs, **options):
        begun.append((name, {n: p.detach().clone() for n, p in model.named_parameters()}))
        train(self, name, model, epochs, **options)
        begun.append((name, {n: p.detach().clone() for n, p in model.named_parameters()}))
        return model

    monkeypatch.setattr(work.Work, "train", spy)
    searched(strategy=make_strategy("restarts", cycles=2), epochs=4)
    (_, start), (_, end), (name, again), _ = begun
    assert name == "cycle-2"
    key = "conv1.frame.k.0.values"
    assert torch.equal(again[key], end[key]) and not torch.equal(start[key], end[key])
    assert not torch.equal(again["conv1.weight"], end["conv1.weight"])
    assert not torch.equal(again["conv1.weight"], start["conv1.weight"])


def test_a_folder_holds_one_search(tmp_path):
    where = tmp_path / "search"
    searched(folder=where, epochs=1)
    journal = json.loads((where / "journal.json").read_text())
    assert journal["epochs"] == journal["of"] == 1 and set(journal["trainings"]) == {"search"}
    with pytest.raises(ValueError, match=r"holds another search \(.*space"):
        searched("discrete", folder=where, epochs=1)
    with pytest.raises(ValueError, match=r"holds another search \(data"):
        searched(folder=where, epochs=1, sets=(Images(8, 5), *data(8)[1:]))
    (where / "search.json").write_text("[")
    with pytest.raises(ValueError, match="is damaged"):
        searched(folder=where, epochs=1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("")
    with pytest.raises(ValueError, match="exists and is not a search"):
        searched(folder=tmp_path / "mine")


def test_what_cannot_be_searched():
    train, _, test = data()
    with pytest.raises(ValueError, match="give val_set"):
        searched(sets=(train, None, test))
    with pytest.raises(ValueError, match="fewer than cycles=4"):
        searched(strategy="restarts", epochs=2)


def test_a_member_that_diverges_is_the_worst_not_the_end(monkeypatch, tmp_path):
    from sciops.searching import work

    def diverge(model, *args, make_loop, folder, at_epoch_end, **options):
        learning = [p.requires_grad for p in arch_parameters(model)]
        if learning and not any(learning):  # a random member, or what was found
            raise work.TrainingFailed("the loss became nan")
        return fit(model, *args, make_loop=make_loop, at_epoch_end=at_epoch_end, **options)

    fit = work.fit
    monkeypatch.setattr(work, "fit", diverge)
    result = searched(controls=True, folder=tmp_path / "search")
    journal = json.loads((tmp_path / "search" / "journal.json").read_text())
    assert set(journal["trainings"]) == {"backbone", "search"}
    table = result.trials.set_index("trial")
    assert table.loc["random-member", "val"] == float("inf") and result.best["trial"] == "supernet"
    with pytest.raises(work.TrainingFailed):
        searched(offline=True)


def test_layers_that_were_left_are_named():
    result = searched(make_space("xd", layers=("conv1",)))
    assert result.notes["left"] == {"conv2": "not chosen by layers="}
    assert result.layers()["layer"].tolist() == ["conv1"]


def test_a_supernet_that_does_not_fit_in_memory_is_refused_before_it_is_trained(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("SCIOPS_MEMORY", "1e-5")
    with pytest.raises(ValueError, match=r"a training step with \d+ samples .* smaller batch_size"):
        searched(folder=tmp_path / "search")
    assert not list(tmp_path.glob("search/trainings/*/save-*"))
