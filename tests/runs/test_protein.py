"""`train_protein`: runs that can be opened, repeated and judged; bad input is refused."""

import numpy as np
import pytest
import torch

import sciops
from sciops.data.ragged_store import write_ragged
from sciops.evaluation.distance_maps import evaluate_maps
from sciops.proteins.collection import tree_of
from sciops.runs.protein_run import ProteinRun
from tests.proteins.toy import walk

SMALL = dict(window=16, depth=4, width=4, epochs=2, batch_size=2, progress=False)


def tree():
    kinds = {"train": (20, 12, 30), "val": (18,), "test": (40, 28)}
    proteins = {
        split: [walk(n, n, f"{split}{n}") for n in lengths] for split, lengths in kinds.items()
    }
    return tree_of(proteins, {"title": "toy"})


def trained(out, op: str = "xd-hybrid", **changes) -> ProteinRun:
    options = {"data": tree(), **SMALL, **changes}
    return sciops.train_protein(op, out=out, **options)


def same_bits(a: ProteinRun, b: ProteinRun) -> bool:
    states = a.model.state_dict(), b.model.state_dict()
    return all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("op", ["conv", "dilated", "xd-hybrid", "xd-grid"])
def test_a_run_is_judged_and_opened_again(op, tmp_path):
    run = trained(tmp_path / "run", op)
    assert set(run.history) >= {"epoch", "train_log_cosh", "val_log_cosh", "seconds"}
    scores = evaluate_maps(run.model, run.proteins("test"), run.task, progress=False)
    assert run.metrics["test_mae12_medium"] == pytest.approx(float(scores["mae12_medium"].mean()))
    assert run.metrics["train_seconds"] > 0
    opened = sciops.open_run(tmp_path / "run")
    assert isinstance(opened, ProteinRun) and same_bits(run, opened)
    assert opened.metrics == pytest.approx(run.metrics, nan_ok=True)
    protein = run.proteins("test")[0]
    assert np.array_equal(opened.predict(protein), run.predict(protein))
    assert opened.evaluate(tree()).equals(run.evaluate())
    assert "MAE8" in repr(run)


def test_training_lowers_the_error(tmp_path):
    run = trained(tmp_path / "run", epochs=15, rate=1e-2)
    errors = run.history["train_log_cosh"]
    assert errors.iloc[-5:].min() < 0.7 * errors.iloc[0]
    inverse = trained(tmp_path / "inverse", loss="inverse", epochs=1)
    assert "train_inverse_log_cosh" in inverse.history


def test_an_interrupted_run_goes_on_with_the_same_bits(tmp_path, monkeypatch):
    whole = trained(tmp_path / "whole", epochs=4)
    write, calls = sciops.runs.frame.write_history, []

    def stop(*arguments):
        calls.append(write(*arguments))
        if len(calls) == 2:
            raise InterruptedError

    monkeypatch.setattr(sciops.runs.frame, "write_history", stop)
    with pytest.raises(InterruptedError):
        trained(tmp_path / "run", epochs=4)
    resumed = trained(tmp_path / "run", epochs=4)
    assert len(calls) == 4  # two epochs, and two more
    assert same_bits(whole, resumed)


def test_a_finished_run_is_returned(tmp_path, monkeypatch):
    run = trained(tmp_path / "run")
    monkeypatch.setattr(sciops.runs.frame, "fit", None)
    assert same_bits(trained(tmp_path / "run"), run)
    for other in (dict(width=8), dict(window=32), dict(loss="inverse"), dict(seed=1)):
        with pytest.raises(ValueError, match=f"holds another run .*{next(iter(other))}|model"):
            trained(tmp_path / "run", **other)


def test_data_of_a_store_are_found_again(tmp_path):
    store = write_ragged(tmp_path / "mine.zarr", tree())
    run = trained(tmp_path / "run", data=store)
    opened = sciops.open_run(tmp_path / "run")
    assert [p.name for p in opened.proteins("test")] == ["test40", "test28"]
    assert run.evaluate().equals(opened.evaluate())
    write_ragged(store, {**tree().children, "test": tree()["val"]}, overwrite=True)
    with pytest.raises(ValueError, match="has changed since this run was trained on it"):
        sciops.open_run(tmp_path / "run").evaluate()
    in_memory = trained(tmp_path / "memory")
    assert in_memory.path.exists()
    opened = sciops.open_run(tmp_path / "memory")
    with pytest.raises(ValueError, match=r"give them again: run.data = tree"):
        opened.evaluate()
    with pytest.raises(ValueError, match="other proteins than when this run was trained"):
        opened.data = tree_of({s: [walk(20, 20, s)] for s in ("train", "val", "test")}, {})
    opened.data = tree()
    assert opened.evaluate().equals(in_memory.evaluate())


def test_synthetic_chains_are_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    counts = dict(n_train=2, n_val=1, n_test=1, length=(30, 34))
    run = trained(tmp_path / "run", data=None, **counts)
    assert run.data["test"].attrs["synthetic"]
    opened = sciops.open_run(tmp_path / "run")
    assert opened.evaluate().equals(run.evaluate())


def test_the_figure_has_a_map_of_each_protein(tmp_path):
    run = trained(tmp_path / "run", epochs=1)
    figure = run.plot()
    assert {"test40", "test28"} <= {axes.get_title().split(",")[0] for axes in figure.axes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(op="fourier"), "there is no op='fourier'; there are conv, dilated"),
        (dict(recipe="slow"), "there is no recipe='slow'; there are quick, paper"),
        (dict(loss="l2"), "there is no loss='l2'; there are distance, inverse"),
        (dict(n_train=5), "are for synthetic chains"),
        (dict(depth=5), "depth=5 must be an even number"),
        (dict(data=[1, 2]), "data=list must be a store or a tree"),
        (dict(data=tree().filter(lambda node: node.name != "val")), "no split val, only"),
        (dict(colour="red"), "colour"),
    ],
)
def test_what_cannot_work_is_refused(changes, message, tmp_path):
    with pytest.raises((ValueError, TypeError), match=message):
        trained(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()
