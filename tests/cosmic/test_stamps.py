"""Stamps as data sets, and in stores: what is written is what is read."""

import numpy as np
import pytest
import xarray as xr

import sciops
from sciops.cosmic.collection import tree_of
from sciops.cosmic.stamps import as_dataset, open_stamps, packed, stamps_of, unpacked, write_stamps
from sciops.data.ragged_store import open_ragged
from tests.cosmic.toy import stamp

ATTRS = {"title": "toy", "source": "nobody", "units": "electron", "gain": 1.0, "read_noise": None}


def tree():
    parts = {"train": range(4), "val": [5], "test": [6, 7]}
    return tree_of({s: [stamp(k, row=8 * k) for k in ks] for s, ks in parts.items()}, ATTRS)


def test_data_set_has_the_contract():
    ds = as_dataset([stamp(0, field="Ñ 1", exposure=2), stamp(1)], ATTRS)
    assert dict(ds.sizes) == {"stamp": 2, "y": 8, "x": 8}
    assert {n: v.dtype.str for n, v in ds.data_vars.items()} == {
        **dict(image="<f4", mask="|u1", ignore="|u1", sky="<f4")
    }
    assert ds["field"].values.tolist() == ["Ñ 1", "toy-1"] and ds["exposure"].values[0] == 2
    assert set(ds.coords) == {"field", "exposure", "row", "column"}
    assert ds["image"].attrs["units"] == ds.attrs["units"] == "electron"


def test_packing_can_be_undone():
    ds = as_dataset([stamp(0, field="Ñ 1"), stamp(1, field="longer name")], ATTRS)
    xr.testing.assert_identical(unpacked(packed(ds)), ds)
    xr.testing.assert_identical(unpacked(ds), ds)
    assert not packed(ds).coords


def test_stamps_come_back():
    given = [stamp(0, field="a", exposure=2, row=8), stamp(1, column=16)]
    for one, found in zip(given, stamps_of(packed(as_dataset(given, ATTRS))), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one[:3], found[:3], strict=True))
        assert one[3:] == found[3:]


def test_a_store_gives_back_what_was_written(tmp_path):
    path = write_stamps(tmp_path / "toy.zarr", tree())
    for opened in (open_stamps(path, full=True), open_ragged(path)):
        for split, ds in tree().children.items():
            found = unpacked(opened[split].to_dataset())
            xr.testing.assert_equal(found, ds.to_dataset())
            assert found.attrs["units"] == "electron" and found.attrs["read_noise"] is None
    assert sciops.check(path).ok


def test_damage_is_noticed(tmp_path):
    path = write_stamps(tmp_path / "toy.zarr", tree())
    (chunk,) = (path / "test" / "mask").glob("c.*")
    chunk.write_bytes(bytes(reversed(chunk.read_bytes())))
    with pytest.raises(ValueError, match="mask"):
        open_stamps(path, full=True)


def test_what_is_no_stamp_is_refused():
    with pytest.raises(ValueError, match=r"one shape \(h, w\), as \(8, 8\)"):
        as_dataset([stamp(0), stamp(1, size=9)], ATTRS)
    with pytest.raises(ValueError, match="at least one stamp"):
        as_dataset([], ATTRS)
    with pytest.raises(ValueError, match=r"it has no mask, ignore.*sciops.load"):
        unpacked(xr.Dataset({"image": ("x", np.zeros(2))}))
