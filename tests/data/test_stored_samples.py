"""Samples on disk are those in memory, bit by bit, and so is what is learned from them."""

import shutil

import pytest
import torch

import sciops
from sciops.data.samples import MemorySamples
from sciops.data.store import StoreError, open_store, write
from sciops.data.stored_samples import StoredSamples
from tests.data.toy import toy
from tests.run_toy import lines, on_lines


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "toy.zarr"
    return write(path, {"train": toy(23, frames=5), "test": toy(3, frames=5)}, chunk_samples=5)


@pytest.fixture
def store(made, tmp_path):
    return shutil.copytree(made, tmp_path / "toy.zarr")


@pytest.fixture
def pair(store):
    memory = MemorySamples(open_store(store)["train"].to_dataset())
    return memory, StoredSamples(store, "train", memory.task, len(memory))


def test_batches_are_those_from_memory(pair):
    memory, stored = pair
    assert len(stored) == len(memory) == 23
    for indices in ([0], [22, 3, 3, 14], range(23)):
        for one, other in zip(
            memory.__getitems__(list(indices)), stored.__getitems__(list(indices)), strict=True
        ):
            assert torch.equal(one, other)
    assert torch.equal(memory[7].x, stored[7].x)


def test_two_samples_stand_for_all(pair):
    memory, stored = pair
    for data, two in zip((memory.x, memory.y), stored.spread(), strict=True):
        channels = data.double().movedim(1, 0).flatten(1)
        torch.testing.assert_close(two.movedim(1, 0).flatten(1).mean(1), channels.mean(1))
        deviation = two.movedim(1, 0).flatten(1).std(1, correction=0)
        torch.testing.assert_close(deviation, channels.std(1, correction=0))


def test_damage_is_found_when_a_sample_is_asked_for(pair, store):
    _, stored = pair
    chunk = store / "train" / "a" / "c.1.0"
    chunk.write_bytes(chunk.read_bytes()[::-1])
    stored.__getitems__([0, 4])
    with pytest.raises(StoreError, match="its checksum does not fit"):
        stored.__getitems__([7])
    cut = store / "train" / "a" / "c.0.0"
    cut.write_bytes(cut.read_bytes()[:10])
    with pytest.raises(StoreError, match="was cut short while it was in use"):
        stored.__getitems__([4])


def test_a_store_larger_than_memory_is_trained_on_with_the_same_bits(tmp_path, monkeypatch):
    path = write(tmp_path / "mine.zarr", lines(train=40, test=3), chunk_samples=4)
    alike = on_lines(tmp_path / "memory", path)
    made = []
    init = StoredSamples.__init__
    monkeypatch.setattr(
        StoredSamples, "__init__", lambda self, *a: made.append(1) or init(self, *a)
    )
    monkeypatch.setattr(sciops.runs.pde, "MEMORY_SHARE", 0.0)
    stored = on_lines(tmp_path / "stored", path)
    assert made
    for one, other in zip(
        alike.model.state_dict().values(), stored.model.state_dict().values(), strict=True
    ):
        assert torch.equal(one, other)
