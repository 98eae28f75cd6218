"""The verbs of data for cosmic rays: made, kept, read, refused."""

import numpy as np
import pytest

import sciops
from sciops.cosmic.collection import read_tree
from tests.cosmic.toy import exposures, write_fits


def test_stamps_are_made_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    asked = dict(n_train=3, n_val=2, n_test=2, size=64, progress=False)
    tree = sciops.load("cosmic", **asked)
    again = sciops.load("cosmic", **asked)
    alone = sciops.generate("cosmic", n=2, size=64, progress=False)
    assert np.array_equal(tree["train"]["image"][:2], alone["image"])
    assert again["test"]["field"].values.tolist() == [
        "synthetic-0-2000000000",
        "synthetic-0-2000000001",
    ]
    (store,) = (tmp_path / "kept" / "cosmic").glob("*.zarr")
    assert sciops.check(store).ok
    assert tree["train"].attrs["synthetic"] and tree["train"].attrs["read_noise"] == 4.0
    with pytest.raises(ValueError, match=r"cosmic has no resolution.*size=128, detector=thin"):
        sciops.load("cosmic", resolution=64)


def test_a_store_is_written_on_request(tmp_path):
    out = tmp_path / "made.zarr"
    tree = sciops.generate("cosmic", n=2, n_test=1, size=48, out=out, progress=False)
    assert set(tree.children) == {"train", "test"} and tree["train"].sizes["y"] == 48
    assert tree["test"]["field"].dtype.kind == "U"


def test_detectors_differ():
    thin, thick = (
        sciops.generate("cosmic", n=2, size=64, detector=d, progress=False)
        for d in ("thin", "thick")
    )
    assert not np.array_equal(thin["image"], thick["image"])


def test_fits_files_become_a_store(tmp_path):
    path = write_fits(tmp_path / "a.fits", exposures(2, (12, 16)))
    tree = sciops.read("cosmic", path, size=4, out=tmp_path / "a.zarr")
    assert sciops.check(tmp_path / "a.zarr").ok
    assert tree["test"].sizes["stamp"] == 12 and tree["test"].attrs["units"] == "COUNTS"
    assert tree["test"]["column"].values.min() == 8 and tree["test"].attrs["gain"] == 2.0


def test_options_of_other_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="split does not go with a folder; there are filters"):
        read_tree(tmp_path, split="left-right")
    with pytest.raises(ValueError, match="limit does not go with FITS files; there are split"):
        read_tree(tmp_path / "a.fits", limit=3)
    with pytest.raises(ValueError, match="has no stamps npy_train"):
        read_tree(tmp_path)
