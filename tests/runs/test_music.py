"""`train_music`: runs that can be opened, repeated and judged; bad input is refused."""

import numpy as np
import pytest
import torch

import sciops
from sciops.data.ragged_store import write_ragged
from sciops.evaluation.sequences import evaluate_sequences
from sciops.metrics.sequence import nats
from sciops.music.collection import tree_of
from sciops.music.rolls import pieces_of
from sciops.music.sequences import Sequences
from sciops.runs.music import NETWORKS, _recipe
from sciops.runs.music_run import MusicRun
from tests.music.toy import scale, tree

SMALL = dict(window=8, levels=2, width=4, kernel_size=2, epochs=2, batch_size=2, progress=False)


def trained(out, op: str = "xd", **changes) -> MusicRun:
    options = {"name": "jsb", "data": tree(), **SMALL, **changes}
    return sciops.train_music(op=op, out=out, **options)


def same_bits(a: MusicRun, b: MusicRun) -> bool:
    states = a.model.state_dict(), b.model.state_dict()
    return all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("op", ["conv", "undilated", "xd", "xd-grid"])
def test_a_run_is_judged_and_opened_again(op, tmp_path):
    run = trained(tmp_path / "run", op)
    assert set(run.history) == {"epoch", "train_nats", "val_nats", "seconds"}
    with torch.no_grad():
        total = sum(float(nats(run.model(x), y)) for x, y in alone(run.pieces("test")))
    assert run.metrics["test_nats"] == pytest.approx(total / (39 + 27 + 6), rel=1e-5)
    assert run.metrics["test_marginal_nats"] > 1
    opened = sciops.open_run(tmp_path / "run")
    assert isinstance(opened, MusicRun) and same_bits(run, opened)
    assert opened.metrics == pytest.approx(run.metrics)
    piece = run.pieces("test")[0]
    assert np.array_equal(opened.predict(piece), run.predict(piece))
    assert opened.evaluate(tree()).equals(run.evaluate())
    assert "nats a frame" in repr(run)


def alone(pieces):
    data = Sequences(pieces)
    return [data.__getitems__([k]) for k in range(len(data))]


def test_scores_of_pieces_are_weighted_by_their_frames(tmp_path):
    run = trained(tmp_path / "run", epochs=1)
    scores = run.evaluate()
    assert scores["frames"].values.tolist() == [39, 27, 6]
    mean = np.average(scores["nats"], weights=scores["frames"])
    assert scores.attrs["nats"] == pytest.approx(mean)
    assert scores.attrs["nats"] != pytest.approx(float(scores["nats"].mean()), rel=1e-6)
    one = run.evaluate([scale(28, 28)])
    assert one["nats"].values[0] == pytest.approx(scores["nats"].values[1])


def test_history_has_nats_per_frame_of_all_pieces(tmp_path):
    run = trained(tmp_path / "run", "undilated", epochs=1, rate=0.0, dropout=0.0)
    for split in ("train", "val"):
        expected = evaluate_sequences(run.model, run.pieces(split), progress=False).attrs["nats"]
        assert run.history[f"{split}_nats"].tolist() == pytest.approx([expected], rel=1e-5)


def test_training_beats_the_marginals_and_the_trained_model_is_causal(tmp_path):
    run = trained(tmp_path / "run", epochs=40, width=12, rate=1e-2, arch_rate=1e-2, dropout=0.0)
    assert run.metrics["test_nats"] < 0.95 * run.metrics["test_marginal_nats"]
    piece = scale(40, 40)
    expected = run.predict(piece)
    for t in (1, 8, 23, 39):
        other = piece.copy()
        other[t:] = scale(40, 3)[t:]
        np.testing.assert_allclose(run.predict(other)[:t], expected[:t], atol=1e-6)
        assert not np.allclose(run.predict(other)[t:], expected[t:], atol=1e-3)
    start = trained(tmp_path / "start", epochs=1, rate=0.0, arch_rate=0.0, width=12)
    moved = zip(run.model.state_dict().items(), start.model.state_dict().values(), strict=True)
    still = [name for (name, a), b in moved if "frame" in name and torch.equal(a, b)]
    assert still == []  # K, L and M of every layer were learned


def test_the_best_epoch_is_kept(tmp_path):
    """What is learned of low keys makes the validation pieces, of high ones, ever less likely."""
    low = [scale(n, n) for n in (20, 30, 40)]
    data = {"train": low, "val": [np.roll(piece, 40, axis=1) for piece in low], "test": low}
    run = trained(tmp_path / "run", "undilated", data=data, epochs=12, rate=0.1, dropout=0.0)
    best = run.history["val_nats"].min()
    assert best < 0.9 * run.history["val_nats"].iloc[-1]
    assert run.evaluate(split="val").attrs["nats"] == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("recipe", ["quick", "paper"])
def test_an_interrupted_run_goes_on_with_the_same_bits(recipe, tmp_path, monkeypatch):
    long = dict(epochs=5, rate=5e-2, recipe=recipe)  # so high that the best epoch is not the last
    whole = trained(tmp_path / "whole", **long)
    write, calls = sciops.runs.frame.write_history, []

    def stop(*arguments):
        calls.append(write(*arguments))
        if len(calls) == 3:
            raise InterruptedError

    monkeypatch.setattr(sciops.runs.frame, "write_history", stop)
    with pytest.raises(InterruptedError):
        trained(tmp_path / "run", **long)
    resumed = trained(tmp_path / "run", **long)
    assert len(calls) == 5  # three epochs, and two more
    assert same_bits(whole, resumed)
    assert whole.history["val_nats"].tolist() == resumed.history["val_nats"].tolist()


def test_a_finished_run_is_returned(tmp_path, monkeypatch):
    run = trained(tmp_path / "run")
    monkeypatch.setattr(sciops.runs.frame, "fit", None)
    assert same_bits(trained(tmp_path / "run"), run)
    for other in (dict(width=8), dict(window=16), dict(name="nottingham"), dict(seed=1)):
        with pytest.raises(ValueError, match=r"holds another run \(.* asked for"):
            trained(tmp_path / "run", **other)


def test_data_of_a_store_are_found_again(tmp_path):
    store = write_ragged(tmp_path / "mine.zarr", tree())
    run = trained(tmp_path / "run", data=store)
    opened = sciops.open_run(tmp_path / "run")
    assert run.evaluate().equals(opened.evaluate())
    write_ragged(store, {**tree().children, "test": tree()["val"]}, overwrite=True)
    with pytest.raises(ValueError, match="has changed since this run was trained on it"):
        sciops.open_run(tmp_path / "run").evaluate()
    in_memory = {split: pieces_of(tree()[split].to_dataset()) for split in tree().children}
    run = trained(tmp_path / "memory", data=in_memory)
    opened = sciops.open_run(tmp_path / "memory")
    with pytest.raises(ValueError, match=r"give it again: run\.data = tree"):
        opened.evaluate()
    with pytest.raises(ValueError, match="other music than when this run was trained"):
        opened.data = tree_of({s: [scale(9)] for s in ("train", "val", "test")}, {})
    opened.data = tree()
    assert opened.evaluate().equals(run.evaluate())


def test_synthetic_pieces_are_the_default_and_called_so(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    counts = dict(n_train=3, n_val=1, n_test=1, length=(8, 12))
    run = trained(tmp_path / "run", data=None, **counts)
    assert run.data["test"].attrs["synthetic"] and "synthetic music" in repr(run)
    opened = sciops.open_run(tmp_path / "run")
    assert opened.evaluate().equals(run.evaluate())


def test_published_settings():
    """Bai et al. 2018; Roberts et al. 2021: clipped weights, search at 2e-4 after 25 epochs."""
    assert NETWORKS["jsb"] == dict(width=150, levels=3, kernel_size=2, dropout=0.5)
    assert NETWORKS["nottingham"] == dict(width=150, levels=4, kernel_size=6, dropout=0.2)
    how = _recipe("jsb", "paper")
    assert (how.epochs, how.batch_size, how.loss) == (100, 1, "sum")
    assert (how.weights.rate, how.weights.clip, how.weights.schedule) == (1e-3, 0.4, "plateau")
    search = how.architecture
    assert (search.rate, search.warmup, search.schedule, search.clip) == (2e-4, 25, "plateau", None)
    assert _recipe("nottingham", "paper").architecture.rate == 2e-3


def test_settings_of_the_optimisers_can_be_changed(tmp_path):
    run = trained(tmp_path / "run", epochs=1, clip=0.5, arch_warmup=3, arch_rate=2e-3)
    how = run.config["training"]
    assert how["weights"]["clip"] == 0.5 and how["weights"]["warmup"] == 0
    assert (how["architecture"]["warmup"], how["architecture"]["rate"]) == (3, 2e-3)


def test_figure_and_report(tmp_path):
    run = trained(tmp_path / "run", epochs=1)
    titles = [axes.get_title() for axes in run.plot().axes]
    assert titles[:2] == ["piece 0", "piece 1"]
    page = run.report().read_text()
    assert f"{run.metrics['test_nats']:.3f}" in page and "What the search learned" in page
    assert "synthetic" not in page
    with pytest.raises(ValueError, match="is a folder; give the name of the file"):
        run.report(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(op="fourier"), "there is no op='fourier'; there are conv, undilated, xd, xd-grid"),
        (dict(name="bach"), "there is no name='bach'; there are jsb, nottingham"),
        (dict(recipe="slow"), "there is no recipe='slow'; there are quick, paper"),
        (dict(n_train=5), "are for synthetic pieces"),
        (dict(levels=0), "levels"),
        (dict(window=0), "window=0 must be a whole number of frames"),
        (dict(data=7), "data=int must be a .mat file of piano rolls"),
        (dict(data=tree().filter(lambda node: node.name != "val")), "no split val, only"),
        (dict(colour="red"), "colour"),
    ],
)
def test_what_cannot_work_is_refused(changes, message, tmp_path):
    with pytest.raises((ValueError, TypeError), match=message):
        trained(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()
