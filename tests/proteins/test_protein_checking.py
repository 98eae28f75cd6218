"""`check` of proteins: features, distances, units, and the same chain in two splits."""

import re
from dataclasses import replace

import numpy as np
import pytest

import sciops
from sciops.data.ragged_store import write_ragged
from sciops.proteins.collection import tree_of
from sciops.proteins.protein import Protein
from tests.proteins.toy import walk


def good(seed: int, name: str = "good") -> Protein:
    """A walk with steps of about 5.5 Å."""
    protein = walk(30, seed, name)
    scale = 5.5 / np.median(np.diagonal(protein.distance, 1))
    return replace(protein, distance=protein.distance * np.float32(scale))


def failures(*test: Protein) -> list[str]:
    return sciops.check(tree_of({"train": [good(1)], "test": list(test)}, {})).failures


def test_good_proteins_and_their_store(tmp_path):
    tree = tree_of({"train": [good(1), good(2, "other")], "test": [good(3)]}, {})
    assert sciops.check(tree).ok
    report = sciops.check(write_ragged(tmp_path / "store.zarr", tree))
    assert report.ok and report.table["check"].tolist()[0] == "files"
    unknown = replace(good(4), distance=None)
    assert not failures(unknown)
    gaps = good(5).distance.copy()
    gaps[3], gaps[:, 3] = np.nan, np.nan
    assert not failures(replace(good(5), distance=gaps))


def changed(values: np.ndarray, place, value: float) -> np.ndarray:
    values = values.copy()
    values[place] = value
    return values


BAD = {
    "'profile' of bad has NaN": lambda p: replace(
        p, profiles={"profile": changed(p.profiles["profile"], (3, 1), np.nan)}
    ),
    "'couplings' of bad is not symmetric": lambda p: replace(
        p, maps={"couplings": changed(p.maps["couplings"], (3, 9), 5.0)}
    ),
    "distances of bad are not symmetric": lambda p: replace(
        p, distance=changed(p.distance, (3, 9), 5.0)
    ),
    "bad has negative distances": lambda p: replace(p, distance=changed(p.distance, (3, 3), -1.0)),
    "neighbours in bad are 550 apart.*wrong units": lambda p: replace(p, distance=p.distance * 100),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_proteins(message):
    (found,) = failures(BAD[message](good(6, "bad")))
    assert "(test)" in found
    assert re.search(message, found)


def test_the_same_chain_in_two_splits():
    (found,) = failures(good(1, "again"))
    assert found == "leaks (all): again of test has the sequence of good of train"


def test_reading_warns(tmp_path):
    from tests.proteins.test_own_files import fasta, pdb

    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.fasta").write_text(fasta("AGLKSTAGLK"))
        (tmp_path / f"{name}.pdb").write_text(pdb("AGLKSTAGLK"))
    files = {n: (tmp_path / f"{n}.fasta", tmp_path / f"{n}.pdb") for n in ("one", "two", "three")}
    with pytest.warns(UserWarning) as warnings:
        tree = sciops.read("protein", files, out=tmp_path / "kept.zarr")
    assert tree["test"].attrs["ids"] == ["two"] and (tmp_path / "kept.zarr").is_dir()
    texts = [str(w.message) for w in warnings]
    assert any("has the sequence of" in text for text in texts)
