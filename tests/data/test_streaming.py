"""A streamed store gives every sample once an epoch, shuffled, in any number of processes."""

import pytest
import torch

from sciops.data.store import write
from sciops.data.streaming import StreamedBatches
from tests.data.toy import toy

SAMPLES = 57


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("streaming") / "toy.zarr"
    return write(path, {"train": toy(SAMPLES), "val": toy(3, first=100)}, chunk_samples=5) or path


def first_numbers(epoch) -> list[int]:
    """The sample numbers in the order in which they came."""
    return [int(v) // 1000 for batch in epoch for v in batch.x[:, 0, 0]]


@pytest.mark.parametrize("window", [1, 3, 100])
def test_every_sample_once_with_its_own_target(store, window):
    epoch = list(StreamedBatches(store, "train", 8, window=window))
    assert [len(batch.x) for batch in epoch] == [8] * 7 + [1]
    assert sorted(first_numbers(epoch)) == list(range(SAMPLES))
    for batch in epoch:
        torch.testing.assert_close(batch.y, 2 * batch.x)


def test_order_depends_on_seed_and_epoch_alone(store):
    stream = StreamedBatches(store, "train", 8, window=3, seed=1)
    first, again = first_numbers(stream), first_numbers(stream)
    stream.set_epoch(1)
    second = first_numbers(stream)
    other = first_numbers(StreamedBatches(store, "train", 8, window=3, seed=2))
    assert first == again
    assert len({tuple(order) for order in (first, second, other, range(SAMPLES))}) == 4


def test_chunks_are_shuffled_and_so_are_their_samples(store):
    """With a window of one chunk the order of the chunks, and that within each, can be told."""
    orders = []
    for epoch in (0, 1):
        stream = StreamedBatches(store, "train", 8, window=1)
        stream.set_epoch(epoch)
        orders.append(first_numbers(stream))
    chunks = [list(dict.fromkeys(number // 5 for number in order)) for order in orders]
    assert all(sorted(order) == list(range(12)) != order for order in chunks)
    assert chunks[0] != chunks[1]
    within = [[n for n in order if n // 5 == c] for order in orders for c in range(11)]
    assert all(sorted(a) == sorted(b) for a, b in zip(within[:11], within[11:], strict=True))
    assert any(sorted(part) != part for part in within)


def test_a_window_is_shuffled_anew_in_every_epoch(tmp_path):
    path = write(tmp_path / "one.zarr", {"train": toy(40)}, chunk_samples=40)
    stream = StreamedBatches(path, "train", 8)
    first = first_numbers(stream)
    stream.set_epoch(1)
    assert first != first_numbers(stream)


def test_samples_of_one_chunk_are_spread_over_their_window(store):
    order = first_numbers(StreamedBatches(store, "train", 8, window=100))
    places = sorted(order.index(number) for number in range(5))
    assert places[-1] - places[0] > 8


def test_unshuffled_is_the_order_of_the_store(store):
    stream = StreamedBatches(store, "train", 8, shuffle=False, window=2)
    assert first_numbers(stream) == list(range(SAMPLES))


def test_two_processes_share_the_chunks(store):
    stream = StreamedBatches(store, "train", 8, window=2)
    options = dict(batch_size=None, num_workers=2, multiprocessing_context="forkserver")
    epoch = list(torch.utils.data.DataLoader(stream, **options))
    assert sorted(first_numbers(epoch)) == list(range(SAMPLES))


def test_leaving_early_is_harmless(store):
    for _ in StreamedBatches(store, "train", 8):
        break
    assert len(first_numbers(StreamedBatches(store, "val", 8))) == 3


def test_unknown_split_is_an_error(store):
    with pytest.raises(ValueError, match="no split 'tset'; it has train, val"):
        StreamedBatches(store, "tset", 8)
