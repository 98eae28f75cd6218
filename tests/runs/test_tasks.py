"""Every registered task: verb, run and page are where they are looked for, and runs can be resumed,
found and recognised."""

from importlib import import_module

import pytest
import torch

import sciops
import sciops.runs.frame
from sciops.runs import TASKS
from tests.task_toys import TOYS, same_bits

every_task = pytest.mark.parametrize("toy", TOYS.values(), ids=TOYS)


def test_every_task_is_tested_here():
    assert list(TOYS) == list(TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_verb_run_and_page_have_the_name_of_the_task(name):
    assert f"train_{name}" in sciops.__all__
    kind = getattr(import_module(f"sciops.runs.{name}_run"), f"{name.title()}Run")
    assert kind.collection.name == name and name in sciops.datasets().index
    assert import_module(f"sciops.reporting.{name}_report").own_parts
    with pytest.raises(ValueError, match=rf"it is trained by sciops\.train_{name}"):
        sciops.train_pde(name)
    verb = getattr(sciops, f"train_{name}")
    with pytest.raises(ValueError, match="there is no op='nothing'; there are ") as refused:
        verb(op="nothing")
    known = str(refused.value).partition("there are ")[2].split(", ")
    assert all(op in TASKS[name] for op in known)  # as the command line has it


@pytest.mark.parametrize(
    ("name", "options"), [(name, how) for name, toy in TOYS.items() for how in toy.resumed]
)
def test_an_interrupted_run_goes_on_with_the_same_bits(name, options, tmp_path, monkeypatch):
    train = TOYS[name].train
    whole = train(tmp_path / "whole", **options)
    write, calls = sciops.runs.frame.write_history, []

    def stop(*arguments):
        calls.append(write(*arguments))
        if len(calls) == 3:
            raise InterruptedError

    monkeypatch.setattr(sciops.runs.frame, "write_history", stop)
    with pytest.raises(InterruptedError):
        train(tmp_path / "run", **options)
    resumed = train(tmp_path / "run", **options)
    assert len(calls) == options["epochs"]  # three, and the others
    assert same_bits(whole, resumed)
    column = next(name for name in whole.history if name.startswith("val_"))
    assert whole.history[column].tolist() == resumed.history[column].tolist()


@every_task
def test_a_finished_run_is_returned_and_another_refused(toy, tmp_path, monkeypatch):
    run = toy.train(tmp_path / "run")
    monkeypatch.setattr(sciops.runs.frame, "fit", None)
    before = torch.random.get_rng_state()
    assert same_bits(toy.train(tmp_path / "run"), run)
    assert torch.equal(torch.random.get_rng_state(), before)  # of the caller
    for other in toy.changes:
        with pytest.raises(ValueError, match=r"holds another run \(.* asked for"):
            toy.train(tmp_path / "run", **other)


@every_task
def test_data_of_a_store_are_found_again(toy, tmp_path):
    tree = toy.tree()
    store = toy.write(tmp_path / "mine.zarr", tree)
    run = toy.train(tmp_path / "run", data=store)
    assert sciops.open_run(tmp_path / "run").evaluate().equals(run.evaluate())
    tree["test"] = tree["val"].copy()
    toy.write(store, tree, overwrite=True)
    with pytest.raises(ValueError, match="has changed since this run was trained on it"):
        sciops.open_run(tmp_path / "run").evaluate()


@every_task
def test_data_in_memory_are_recognised(toy, tmp_path):
    run = toy.train(tmp_path / "run")
    opened, things = sciops.open_run(tmp_path / "run"), run.collection.things
    with pytest.raises(ValueError, match=rf"give {run.collection.them} again: run\.data = tree"):
        opened.evaluate()
    with pytest.raises(ValueError, match=f"other {things} than when this run was trained"):
        opened.data = toy.other
    opened.data = toy.tree()
    assert opened.evaluate().equals(run.evaluate())
    with pytest.raises(ValueError, match="the data have no split 'extra'; they have train, val"):
        opened.evaluate(split="extra")


@every_task
def test_synthetic_samples_are_the_default(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    run = toy.train(tmp_path / "run", data=None, **toy.synthetic)
    assert run.data["test"].attrs["synthetic"] and run.config["data"]["synthetic"]
    assert sciops.open_run(tmp_path / "run").evaluate().equals(run.evaluate())
    assert "synthetic" in run.report().read_text()


@every_task
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(recipe="slow"), "there is no recipe='slow'; there are quick, paper"),
        (dict(n_train=5), "n_train, n_val, n_test.* and .* are for synthetic"),
        (dict(data=None, n_val=0), "n_val=0 must be a whole number"),
        (dict(data=7), "data=int must be "),
        (dict(epochs=0), "epochs=0 must be a whole number"),
        (dict(seed=-1), "seed=-1 must be a whole number"),
        (dict(devices=0), "this machine cannot train with devices=0"),
        (dict(arch_clip=-1), "clip=-1 must be above 0"),
        (dict(colour="red"), "colour"),
    ],
)
def test_what_cannot_work_is_refused(toy, changes, message, tmp_path):
    with pytest.raises((ValueError, TypeError), match=message):
        toy.train(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


@every_task
def test_data_without_a_split_are_refused(toy, tmp_path):
    without = toy.tree().filter(lambda node: node.name != "val")
    with pytest.raises(ValueError, match="no split val, only train, test; give train, val"):
        toy.train(tmp_path / "run", data=without)
