"""CIFAR's batches: read without pickle, in the order of channels and rows, whole or not at all."""

import os
import pickle

import numpy as np
import pytest

from sciops.data.found import ReadError
from sciops.vision.cifar import LAYOUTS, find_cifar, read_cifar
from tests.data.pickle_programs import python2_dumps

TEN, HUNDRED = LAYOUTS


def batch(n: int, seed: int, key: str = "labels") -> dict:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (n, 3072), dtype=np.uint8)
    return {"data": pixels, key: rng.integers(10, size=n).tolist(), "filenames": ["x.png"] * n}


def write(folder, layout, *, dumps=pickle.dumps):
    folder.mkdir(exist_ok=True)
    made = {}
    for files in layout.files.values():
        for name in files:
            made[name] = batch(4, len(made), layout.labels)
            (folder / name).write_bytes(dumps(made[name]))
    names = {layout.names: [f"class {k}" for k in range(10)]}
    (folder / layout.meta).write_bytes(dumps(names))
    return made


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.title)
@pytest.mark.parametrize("dumps", [python2_dumps, pickle.dumps])  # theirs are of Python 2
def test_both_collections(tmp_path, layout, dumps):
    made = write(tmp_path, layout, dumps=dumps)
    assert find_cifar(tmp_path) is layout
    splits, classes = read_cifar(tmp_path, layout)
    assert classes[3] == "class 3" and list(splits) == ["train", "test"]
    assert len(splits["train"].labels) == 4 * len(layout.files["train"])
    last = made[layout.files["train"][-1]]
    pixel = last["data"][3, 1024 + 5 * 32 + 7]  # green, row 5, column 7
    assert splits["train"].images[-1, 1, 5, 7] == np.float32(pixel / np.float32(255))
    assert splits["test"].labels.tolist() == made[layout.files["test"][0]][layout.labels]


def test_keys_may_be_bytes(tmp_path):
    write(tmp_path, TEN)
    value = {key.encode(): member for key, member in batch(4, 9).items()}
    (tmp_path / "test_batch").write_bytes(pickle.dumps(value))
    assert read_cifar(tmp_path, TEN)[0]["test"].labels.tolist() == value[b"labels"]


class Attack:
    def __reduce__(self):
        return os.system, ("touch hacked",)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"data": Attack(), "labels": [1]}, r"names (posix|nt).system; only arrays"),
        ([1, 2], "should hold a dictionary with 'data', a ndarray; it has list"),
        ({"labels": [1]}, "dictionary with 'data'"),
        ({"data": np.zeros((2, 3072)), "labels": [1, 1]}, "data are float64"),
        ({"data": np.zeros((3, 3072), "u1"), "labels": [1]}, r"expected uint8 \(1, 3072\)"),
        ({"data": np.zeros((1, 3072), "u1"), "labels": ["cat"]}, "must be whole numbers"),
    ],
)
def test_other_pickles_are_refused_and_not_run(tmp_path, monkeypatch, value, message):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, TEN)
    (tmp_path / "data_batch_2").write_bytes(pickle.dumps(value))
    with pytest.raises(ValueError, match=message):
        read_cifar(tmp_path, TEN)
    assert not (tmp_path / "hacked").exists()


def test_a_missing_batch_is_named(tmp_path):
    write(tmp_path, TEN)
    (tmp_path / "data_batch_4").unlink()
    with pytest.raises(ReadError, match=r"there is no .*data_batch_4; unpack the whole archive"):
        read_cifar(tmp_path, TEN)
    assert find_cifar(tmp_path / "nothing") is None
