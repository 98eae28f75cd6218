"""Published .mat files, arrays and synthetic pieces as trees; what looks wrong is said."""

import numpy as np
import pytest
import scipy.io

import sciops
from sciops.data.files import ReadError
from sciops.music.collection import CELLS, read_tree, synthetic_tree
from sciops.music.rolls import pieces_of
from tests.data.file_writers import shared
from tests.music.toy import REAL, scale


def cell(pieces) -> np.ndarray:
    made = np.empty((1, len(pieces)), object)
    made[0] = pieces
    return made


def write(path, splits):
    scipy.io.savemat(path, {CELLS[split]: cell(pieces) for split, pieces in splits.items()})


def small() -> dict[str, list]:
    return {"train": [scale(5), scale(9, 1)], "val": [scale(4, 2)], "test": [scale(6, 3)]}


@pytest.mark.parametrize("name", REAL)
def test_published_files_are_as_scipy_reads_them(name):
    path = shared(REAL[name])
    theirs, tree = scipy.io.loadmat(path), read_tree(path)
    for split, variable in CELLS.items():
        ours = pieces_of(tree[split].to_dataset())
        assert all(
            np.array_equal(a, b) for a, b in zip(ours, theirs[variable].ravel(), strict=True)
        )
        assert all(piece.dtype == np.uint8 for piece in ours)


def test_published_collections_have_the_known_sizes():
    jsb = sciops.read("music", shared(REAL["jsb"]))
    assert [jsb[s].sizes["piece"] for s in CELLS] == [229, 76, 77]
    assert jsb["train"].sizes["frame"] == 13_807
    with pytest.warns(UserWarning, match=r"piece \d+ of val is piece \d+ of train"):
        nottingham = sciops.read("music", shared(REAL["nottingham"]))
    assert [nottingham[s].sizes["piece"] for s in CELLS] == [694, 173, 170]
    assert nottingham["train"].sizes["frame"] == 176_561


def test_a_file_becomes_a_store(tmp_path):
    write(tmp_path / "My_Songs.mat", small())
    tree = sciops.read("music", tmp_path / "My_Songs.mat", out=tmp_path / "songs.zarr")
    assert tree["test"].attrs["title"] == "My Songs"
    (piece,) = pieces_of(tree["test"].to_dataset())
    assert np.array_equal(piece, scale(6, 3))
    assert sciops.check(tmp_path / "songs.zarr").ok


def test_arrays_are_taken_too():
    tree = sciops.read("music", small())
    assert [tree[s].sizes["piece"] for s in CELLS] == [2, 1, 1]


def test_files_of_something_else_are_refused(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"traindata": np.eye(3)})
    with pytest.raises(ReadError, match="no MATLAB cell 'traindata'; it has none at all"):
        read_tree(tmp_path / "a.mat")
    write(tmp_path / "b.mat", {**small(), "test": [np.zeros((4, 17))]})
    with pytest.raises(ValueError, match=r"piece 0 has the shape \(4, 17\)"):
        read_tree(tmp_path / "b.mat")
    with pytest.raises(ReadError, match="there is no file"):
        read_tree(tmp_path / "c.mat")


def test_a_piece_of_two_splits_is_a_leak():
    leaking = {**small(), "test": [scale(9, 1)]}
    with pytest.warns(UserWarning, match=r"leaks.*piece 0 of test is piece 1 of train"):
        sciops.read("music", leaking)
    with pytest.warns(UserWarning, match="0 keys sound at once in the mean, expected 0.5"):
        sciops.read("music", {**small(), "val": [np.zeros((4, 88))]})


def test_synthetic_trees_say_that_they_are():
    tree = synthetic_tree({"train": 3, "val": 0, "test": 1}, seed=4, length=(8, 9), progress=False)
    assert set(tree.children) == {"train", "test"}
    assert tree["train"].attrs["synthetic"] and "synthetic" in tree["train"].attrs["title"]


def test_music_is_made_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    asked = dict(n_train=3, n_val=1, n_test=1, length=(8, 12), progress=False)
    tree = sciops.load("music", **asked)
    alone = sciops.generate("music", n=3, length=(8, 12), progress=False)
    assert np.array_equal(tree["train"]["notes"], alone["notes"])
    (store,) = (tmp_path / "kept" / "music").glob("*.zarr")
    assert sciops.check(store).ok
    with pytest.raises(ValueError, match=r"music has no resolution.*length="):
        sciops.load("music", resolution=64)
