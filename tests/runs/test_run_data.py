"""Data are checked at the door, divided the same way every time, and recognised later."""

import numpy as np
import pytest
import xarray as xr

import sciops
from sciops.data.samples import task_of
from sciops.runs.data import again, as_tree, fingerprint, generated, given, same_samples, task_to_be
from tests.grid_toy import closed_line, line, plane
from tests.run_toy import COUNTS, lines

NOTHING = dict.fromkeys(("train", "val", "test"))


@pytest.fixture(scope="module", autouse=True)
def kept_data(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(tmp_path_factory.getbasetemp() / "kept"))
        yield


def sizes(tree: xr.DataTree) -> dict[str, int]:
    return {name: child.sizes["sample"] for name, child in tree.children.items()}


def prints(splits: dict[str, xr.Dataset]) -> str:
    return given(splits, NOTHING)[1]["fingerprint"]


# --- given ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("train", "expected"), [(2, (1, 1)), (9, (8, 1)), (20, (18, 2)), (35, (32, 3))]
)
def test_where_nothing_validates_a_tenth_does(train, expected):
    tree, described = given(lines(train=train, test=3), NOTHING)
    assert sizes(tree) == {"train": expected[0], "val": expected[1], "test": 3}
    whole = np.concatenate([tree["train"]["a"].values, tree["val"]["a"].values])
    np.testing.assert_array_equal(whole, line(16, train)["a"])
    assert [described[f"n_{split}"] for split in sizes(tree)] == [*expected, 3]


def test_fewer_samples_are_the_first_ones():
    counts = {"train": 4, "val": 2, "test": None}
    tree, described = given(lines(train=7, val=3, test=3), counts)
    assert sizes(tree) == {"train": 4, "val": 2, "test": 3}
    np.testing.assert_array_equal(tree["train"]["u"], line(16, 7)["u"][:4])
    assert (described["n_train"], described["n_val"], described["n_test"]) == (4, 2, 3)


def test_a_tree_may_have_its_labels_at_its_root():
    labels = line().attrs
    tree = xr.DataTree.from_dict({n: ds.drop_attrs() for n, ds in lines().items()})
    tree.attrs = labels
    task = task_of(given(tree, NOTHING)[0]["val"].to_dataset())
    assert task.axes[0].periodic and task.name == "toy"


def test_dimensions_may_be_in_any_order():
    """Samples and time first is what the inner loop takes for granted."""
    split = {"train": plane(frames=4), "test": plane(frames=4, first=60)}
    tree, described = given(split, NOTHING)
    turned = {name: ds.transpose("x", "time", "y", "sample") for name, ds in split.items()}
    other, described_other = given(turned, NOTHING)
    xr.testing.assert_identical(tree["train"].to_dataset(), other["train"].to_dataset())
    assert other["val"]["w"].dims == ("sample", "time", "x", "y")
    assert described == described_other
    mixed = {**split, "test": split["test"].transpose("y", "x", "sample", "time")}
    assert given(mixed, NOTHING)[0]["test"]["w"].dims == ("sample", "time", "x", "y")


def bad(split: str, change) -> dict[str, xr.Dataset]:
    data = lines(train=7, val=2, test=3)
    return {**data, split: change(data[split].copy(deep=True))}


def with_nan(ds: xr.Dataset) -> xr.Dataset:
    ds["u"][1, 3] = np.nan
    ds["u"][2, 0] = np.inf
    return ds


def with_zero(ds: xr.Dataset) -> xr.Dataset:
    ds["u"][1] = 0
    return ds


def without_labels(splits):
    return {name: ds.drop_attrs() for name, ds in splits.items()}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lines(train=5), "no split test, only train; sciops.from_arrays"),
        (lines(val=5), "no split train and no test, only val"),
        (lines(train=1, test=1), "one training sample cannot be divided"),
        (without_labels(lines()), "the data do not say what their inputs are"),
        (bad("train", lambda ds: ds.drop_vars("a")), "name 'a', but the variables are u"),
        (bad("test", lambda ds: ds.drop_vars("u")), "'test': .* the data lack u and have a"),
        (bad("val", lambda ds: ds.isel(sample=0)), r"'val': 'a' should have the dimensions"),
        (bad("val", lambda ds: ds.isel(sample=[])), "'val': the data have no sample"),
        (bad("test", with_nan), r"'u' of test has NaN .* in 2 of 3 samples .* number 1, 2\)"),
        (bad("test", with_zero), r"of test are 0 everywhere in 1 of 3 .* number 1\), .*leave them"),
        (bad("train", with_nan), "'u' of train has NaN or infinite values in 2 of 7"),
        (bad("test", lambda _: line(32, 3)), r"'test' lies on another grid .* run\.evaluate\(data"),
        (bad("val", lambda ds: ds.assign_coords(x=ds["x"] * 2)), "'val': the model was trained on"),
        (bad("val", lambda ds: ds.drop_vars("x")), "'val': the data do not say where"),
        ({"train": line().isel(x=slice(None, None, -1)), "test": line()}, "finite and increase"),
        ({"a": np.zeros(3)}, "data=dict must be a zarr store"),
        (line(), "data=Dataset must be a zarr store, an xarray.DataTree with the splits"),
        ({}, "data=dict must be"),
        (None, "data=NoneType must be"),
    ],
)
def test_data_that_will_not_do(data, message):
    with pytest.raises(ValueError, match=message):
        given(data, NOTHING)


def test_of_a_forecast_only_the_frames_to_be_found_must_not_be_zero():
    data = {"train": plane(frames=4), "test": plane(frames=4, first=60)}
    data["train"]["w"][2, :2] = 0
    given(data, NOTHING)
    data["train"]["w"][2, 2:] = 0
    with pytest.raises(ValueError, match="targets of train are 0 everywhere in 1 of 3 samples"):
        given(data, NOTHING)


def test_samples_in_two_splits_are_told():
    leaky = {"train": line(16, 7), "val": line(16, 2, first=60), "test": line(16, 5, first=45)}
    with pytest.warns(UserWarning, match="2 of the 5 samples of test are also in train") as told:
        given(leaky, NOTHING)
    assert len(told) == 1


def test_a_store_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere\.zarr"):
        as_tree(tmp_path / "nowhere.zarr")


def test_the_fingerprint_is_of_what_is_learned():
    expected = prints(lines())
    extra = {
        name: ds.assign(note=("sample", np.arange(len(ds.sample)))) for name, ds in lines().items()
    }
    assert prints(extra) == expected
    for split, variable in (("train", "a"), ("test", "u")):
        changed = lines()
        changed[split][variable][0, 0] += 1e-3
        assert prints(changed) != expected
    closed = {n: ds.assign_attrs(boundary_conditions={}) for n, ds in lines().items()}
    assert prints(closed) != expected
    moved = {n: ds.assign_coords(x=2 * ds["x"]) for n, ds in lines().items()}
    assert prints(moved) != expected
    one, two, three = (line(16, 3, first=number) for number in (40, 60, 80))
    swapped = {"train": one, "val": two, "test": three}
    other = {"train": two, "val": one, "test": three}
    assert prints(swapped) != prints(other)


def test_the_fingerprint_needs_the_task():
    ds = closed_line()
    assert fingerprint({"train": ds}, task_of(ds)) == fingerprint({"train": ds}, task_of(ds))


# --- generated ------------------------------------------------------------------------------------

FLOW = dict(viscosity=0.01, duration=1.0, frames=4, solver_resolution=32, steps=40)


@pytest.mark.parametrize(
    ("name", "resolution", "parameters"),
    [("darcy", 9, dict(refine=1)), ("navier_stokes", 8, FLOW)],
)
def test_the_task_is_known_before_the_data_are(name, resolution, parameters, tmp_path, monkeypatch):
    expected, _ = generated(name, resolution, dict(train=6, val=2, test=3), parameters)
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path))
    task = task_to_be(name, resolution, parameters)
    assert task == task_of(expected["train"].to_dataset())
    assert not list(tmp_path.iterdir())


def test_generated_data_are_made_again_from_their_description(tmp_path, monkeypatch):
    counts, parameters = dict(train=6, val=2, test=3), dict(refine=1, high=10.0)
    tree, described = generated("darcy", 9, counts, parameters, seed=4, progress=False)
    assert described == {**COUNTS, "seed": 4, "parameters": parameters}
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path))
    other = again("darcy", 9, described)
    for split in counts:
        xr.testing.assert_identical(tree[split].to_dataset(), other[split].to_dataset())
    assert other["test"].attrs["parameters"]["high"] == 10.0


@pytest.mark.parametrize("split", ["val", "test"])
def test_samples_of_one_split_are_those_of_the_whole(split):
    described = {**COUNTS, "seed": 0, "parameters": {"refine": 1}}
    found = same_samples("darcy", [9, 12], described, split)
    assert list(found) == [9, 12]
    whole = sciops.load("darcy", resolution=9, refine=1, **COUNTS)[split].to_dataset()
    xr.testing.assert_equal(found[9], whole)
