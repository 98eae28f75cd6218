"""Pieces in batches: padded, not counted where they are padded, and as good as alone."""

import pytest
import torch

from sciops.backbones.tcn import OPERATORS, Tcn
from sciops.data.shuffling import ShuffledBatches
from sciops.metrics.sequence import frames, nats
from sciops.music.sequences import Sequences, music_task
from tests.contracts import randomise
from tests.music.toy import scale

LENGTHS = (5, 19, 12)


def sequences() -> Sequences:
    return Sequences([scale(n, n) for n in LENGTHS])


def test_the_next_frame_is_the_target():
    x, y = sequences().__getitems__([0, 1, 2])
    assert x.shape == y.shape == (3, 88, 18)
    for row, n in enumerate(LENGTHS):
        roll = torch.tensor(scale(n, n).T, dtype=torch.float32)
        assert torch.equal(x[row, :, : n - 1], roll[:, :-1]) and not x[row, :, n - 1 :].any()
        assert torch.equal(y[row, :, : n - 1], roll[:, 1:]) and y[row, :, n - 1 :].isnan().all()
    assert frames(y).tolist() == [4, 18, 11]


@pytest.mark.parametrize("op", OPERATORS)
def test_a_batch_has_the_loss_and_gradients_of_its_pieces_alone(op):
    torch.manual_seed(0)
    small = dict(width=6, levels=2, kernel_size=3, dropout=0.0)
    model = randomise(Tcn(music_task(window=8), op, **small).double(), 0.1)

    def loss_and_gradients(rows):
        model.zero_grad()
        x, y = sequences().__getitems__(rows)
        loss = nats(model(x.double()), y.double()).sum()
        loss.backward()
        return loss.detach(), [p.grad.clone() for p in model.parameters()]

    together, gradients = loss_and_gradients([0, 1, 2])
    alone = [loss_and_gradients([k]) for k in range(3)]
    torch.testing.assert_close(together, sum(loss for loss, _ in alone))
    for whole, *parts in zip(gradients, *(g for _, g in alone), strict=True):
        torch.testing.assert_close(whole, sum(parts), rtol=1e-9, atol=1e-9)


def test_pieces_of_about_one_length_share_a_batch():
    lengths = torch.randint(10, 1000, (203,), generator=torch.Generator().manual_seed(0)).tolist()
    sampler = ShuffledBatches(203, 8, seed=0, lengths=lengths)
    batches = list(sampler)
    assert sorted(k for batch in batches for k in batch) == list(range(203))
    assert [len(batch) for batch in batches] == [sampler.size(i) for i in range(len(sampler))]

    def padded(batches):
        return sum(len(b) * max(lengths[k] for k in b) for b in batches) / sum(lengths)

    assert padded(batches) < 1.25 < 1.5 < padded(ShuffledBatches(203, 8, seed=0))
    means = [sum(lengths[k] for k in batch) / len(batch) for batch in batches[:-1]]
    assert means != sorted(means)  # no order of lengths
    sampler.epoch = 1
    assert list(sampler) != batches


@pytest.mark.parametrize("window", [1, 2.5, True])
def test_a_window_is_a_number_of_frames(window):
    with pytest.raises(ValueError, match="must be a whole number of frames ≥ 2"):
        music_task(window=window)
