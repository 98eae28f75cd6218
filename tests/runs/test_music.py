"""`train_music`: runs that can be opened, repeated and judged; bad input is refused."""

import numpy as np
import pytest
import torch

import sciops
from sciops.evaluation.sequences import evaluate_sequences
from sciops.metrics.sequence import nats
from sciops.music.rolls import pieces_of
from sciops.music.sequences import Sequences
from sciops.runs.music import NETWORKS, _recipe
from sciops.runs.music_run import MusicRun
from tests.music.toy import scale, tree
from tests.task_toys import same_bits
from tests.task_toys import train_music as trained


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


def test_arrays_of_the_same_pieces_are_the_same_data(tmp_path):
    in_memory = {split: pieces_of(tree()[split].to_dataset()) for split in tree().children}
    run = trained(tmp_path / "run", data=in_memory)
    opened = sciops.open_run(tmp_path / "run")
    opened.data = tree()
    assert opened.evaluate().equals(run.evaluate())


def test_synthetic_pieces_are_called_so(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    counts = dict(n_train=3, n_val=1, n_test=1, length=(8, 12))
    assert "synthetic music" in repr(trained(tmp_path / "run", data=None, **counts))


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
        (dict(n_train=5), "are for synthetic pieces"),
        (dict(levels=0), "levels"),
        (dict(window=0), "window=0 must be a whole number of frames"),
        (dict(data=7), "data=int must be a .mat file of piano rolls"),
    ],
)
def test_what_cannot_work_is_refused(changes, message, tmp_path):
    with pytest.raises((ValueError, TypeError), match=message):
        trained(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()
