"""What a search found is saved, loaded and applied to other networks without loss."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pandas.testing import assert_frame_equal

from sciops.checkpoint import save_model
from sciops.operators import arch_parameters
from sciops.searching.engine import run_search
from sciops.searching.result import load_search
from sciops.searching.spaces import make_space
from sciops.searching.tracing import distance
from tests.contracts import random_tensor
from tests.search_toy import SIZE, LeNet, cross_entropy, data, quick

X = random_tensor(4, 1, SIZE, SIZE)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found") / "search"
    space = make_space("kop", start={"conv1": "conv", "*": "scratch"}, depth=2)
    how = dict(training=quick(2), space=space, controls=False, folder=folder)
    return run_search(LeNet, *data(), cross_entropy, **how), folder


def test_it_comes_back_from_its_folder(found):
    result, folder = found
    assert repr(result).startswith("SearchResult(kop by joint, best ")
    assert repr(result).endswith(f", {folder})")
    loaded = load_search(folder, LeNet)
    assert loaded.space == result.space and loaded.strategy == result.strategy
    for name in ("trials", "history", "distances"):
        assert_frame_equal(getattr(loaded, name), getattr(result, name), rtol=1e-14)
    assert loaded.notes == result.notes
    assert all(torch.equal(loaded.architecture[n], t) for n, t in result.architecture.items())
    assert torch.equal(loaded.model.eval()(X), result.model.eval()(X))
    assert loaded.best["trial"] == result.best["trial"]
    assert loaded.cost == pytest.approx(result.cost)
    assert load_search(folder).model is None
    assert {p.suffix for p in folder.rglob("*") if p.is_file()} <= {".json", ".csv", ".safetensors"}


def test_applied_to_the_same_weights_it_gives_the_same_outputs(found):
    result, _ = found
    model = LeNet()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(dict(result.model.named_parameters())[name])
    assert distance(result.apply(model)(X), result.model(X)) < 1e-6


def test_applied_to_another_network_it_is_frozen_and_trains_weights(found):
    result, _ = found
    model = result.apply(LeNet(classes=7))
    assert model(X).shape == (4, 7)
    assert not any(p.requires_grad for p in arch_parameters(model))
    before = [p.detach().clone() for p in arch_parameters(model)]
    optimiser = torch.optim.SGD(model.parameters(), 0.1, weight_decay=0.1)
    model(X).square().sum().backward()
    optimiser.step()
    assert all(map(torch.equal, before, arch_parameters(model)))


def test_it_is_refused_on_other_grids_and_a_damaged_folder_is_not_read(found, tmp_path):
    result, _ = found
    with pytest.raises(ValueError, match="found on another grid"):
        result.apply(torch.nn.Sequential(LeNet().conv1, LeNet().conv2), random_tensor(1, 1, 30, 30))
    with pytest.raises(ValueError, match=r"is not a search: it has no search\.json"):
        load_search(tmp_path)
    (tmp_path / "search.json").touch()
    with pytest.raises(ValueError, match="was not finished; call the same search again"):
        load_search(tmp_path)


@pytest.mark.parametrize("saved", [0, 1], ids=["architecture", "best"])
def test_saved_over_another_result_and_killed_it_is_no_mixture_of_both(
    found, tmp_path, monkeypatch, saved
):
    result, folder = found
    kept = Path(shutil.copytree(folder, tmp_path / "kept"))
    (kept / "search.json").unlink()
    left = iter(range(saved))

    def killed(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return save_model(*arguments)

    monkeypatch.setattr("sciops.searching.result.save_model", killed)
    with pytest.raises(KeyboardInterrupt):
        replace(result).save(kept)
    with pytest.raises(ValueError, match="was not finished being saved; save it again"):
        load_search(kept, LeNet)


def test_weights_of_another_result_do_not_stay(found, tmp_path):
    result, folder = found
    kept = Path(shutil.copytree(folder, tmp_path / "kept"))
    replace(result, model=None).save(kept)
    assert not (kept / "best").exists()
    again = Path(shutil.copytree(folder, tmp_path / "again"))
    load_search(again).save(again)  # its own weights do
    assert load_search(again, LeNet).model is not None


def test_layers_say_what_they_became(found):
    table = found[0].layers()
    assert table["layer"].tolist() == ["conv1", "conv2"] and (table["distance"] > 0).all()
    assert table["is"].tolist() == ["depth 2 on 16 × 16 points", "depth 2 on 8 × 8 points"]
