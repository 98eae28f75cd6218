"""`train_protein`: runs that can be opened, repeated and judged; bad input is refused."""

import numpy as np
import pytest
import torch

import sciops
from sciops.evaluation.distance_maps import evaluate_maps
from sciops.metrics.distance_map import log_cosh
from sciops.proteins.map_windows import MapWindows, input_map
from sciops.proteins.pdnet import channels
from sciops.runs.protein_run import ProteinRun
from tests.proteins.test_pdnet import write_tree
from tests.task_toys import proteins as tree
from tests.task_toys import same_bits
from tests.task_toys import train_protein as trained


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


def test_the_figure_has_a_map_of_each_protein(tmp_path):
    run = trained(tmp_path / "run", epochs=1)
    figure = run.plot()
    assert {"test40", "test28"} <= {axes.get_title().split(",")[0] for axes in figure.axes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(op="fourier"), "there is no op='fourier'; there are conv, dilated"),
        (dict(loss="l2"), "there is no loss='l2'; there are distance, inverse"),
        (dict(n_train=5), "are for synthetic chains"),
        (dict(depth=5), "depth=5 must be an even number"),
        (dict(data=[1, 2]), "data=list must be a store or a tree"),
    ],
)
def test_what_cannot_work_is_refused(changes, message, tmp_path):
    with pytest.raises((ValueError, TypeError), match=message):
        trained(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_only_proteins_are_judged(tmp_path):
    run = trained(tmp_path / "run", epochs=1)
    with pytest.raises(ValueError, match="protein 1 is of the kind str; give a Protein"):
        run.evaluate([run.proteins("test")[0], "chain.pdb"])


@pytest.mark.filterwarnings("ignore:(features|distances)")  # random ones are no protein's
def test_pdnet_by_the_recipe_of_the_paper(tmp_path):
    """From its files to a run: 57 channels in PDNET's order, the epoch that validated best."""
    folder = write_tree(tmp_path / "pdnet", {"deepcov": range(20, 27), "psicov": [40, 33]})
    small = dict(depth=4, width=4, window=32, epochs=6, progress=False, rate=0.01, seed=1)
    run = sciops.train_protein(
        "conv", data=sciops.read("protein", folder), recipe="paper", out=tmp_path / "run", **small
    )
    assert run.task.in_channels == 57 and run.config["model"]["output"] == "relu"
    protein = run.proteins("test")[0]
    whole = input_map(protein, run.task, slice(None), slice(None))
    assert np.array_equal(whole, channels(protein))
    windows = MapWindows(run.proteins("val"), run.task)
    x, y = windows.__getitems__(range(len(windows)))
    with torch.no_grad():
        errors = log_cosh(run.model(x), y)
    validated = run.history["val_log_cosh"]
    assert validated.min() < validated.iloc[-1]
    assert float(errors.mean()) == pytest.approx(validated.min(), rel=1e-4)
    assert np.isfinite(run.metrics["test_precision_L5"])
