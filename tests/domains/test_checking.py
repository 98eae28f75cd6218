"""`check` passes honest data and catches every planted defect."""

import copy

import numpy as np
import pytest
import xarray as xr

import sciops
from sciops.domains.checking import shared_samples

QUIET = dict(progress=False)


@pytest.fixture(scope="module")
def honest() -> dict[str, xr.Dataset]:
    short = dict(frames=20, duration=4.0, viscosity=1e-3)
    return {
        "burgers": sciops.generate("burgers", n=4, resolution=64, **QUIET),
        "burgers, viscosity 0.01": sciops.generate(
            "burgers", n=4, resolution=256, viscosity=0.01, **QUIET
        ),
        "darcy": sciops.generate("darcy", n=4, resolution=33, **QUIET),
        "darcy, log-normal": sciops.generate(
            "darcy", n=4, resolution=33, coefficient="lognormal", **QUIET
        ),
        "navier_stokes": sciops.generate("navier_stokes", n=2, resolution=32, **short, **QUIET),
    }


CASES = [
    "burgers",
    "burgers, viscosity 0.01",
    "darcy",
    "darcy, log-normal",
    "navier_stokes",
]


def failed(data) -> set[str]:
    """The checks that failed."""
    return {finding.check for finding in sciops.check(data).findings if not finding.ok}


def declared(ds: xr.Dataset, **parameters) -> xr.Dataset:
    """The same data with other parameters declared."""
    attrs = copy.deepcopy(ds.attrs)
    attrs["parameters"].update(parameters)
    return xr.Dataset(ds.data_vars, ds.coords, attrs)


def flipped(ds: xr.Dataset, name: str, dim: str = "x") -> xr.Dataset:
    values = np.flip(ds[name].values, ds[name].dims.index(dim))
    return ds.assign({name: ds[name].copy(data=values)})


@pytest.mark.parametrize("case", CASES)
def test_honest_data_pass(honest, case):
    report = sciops.check(honest[case])
    assert report.ok, str(report)
    assert set(report.table["check"]) == {"schema", "coordinates", "values", "equation"}


@pytest.mark.parametrize("case", CASES)
def test_a_flipped_axis_is_caught(honest, case):
    target = "vorticity" if case == "navier_stokes" else "u"
    assert failed(flipped(honest[case], target)) == {"equation"}


def test_both_fields_flipped_is_caught_where_the_equation_notices(honest):
    assert failed(flipped(flipped(honest["burgers"], "a"), "u")) == {"equation"}
    assert failed(flipped(flipped(honest["darcy"], "a"), "u")) == set()  # a mirror image solves it


@pytest.mark.parametrize("case", CASES)
def test_wrong_spacing_is_caught(honest, case):
    ds = honest[case]
    assert failed(ds.assign_coords(x=2 * ds["x"].values)) == {"equation"}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_one_bad_number_is_caught(honest, case, value):
    ds = honest[case].copy(deep=True)
    name = ds.attrs["targets"][0]["variable"]
    ds[name][dict.fromkeys(ds[name].dims, -1)] = value
    report = sciops.check(ds)
    assert {f.check for f in report.findings if not f.ok} == {"values"}
    assert f"{name}: 1 of" in report.failures[0]


@pytest.mark.parametrize(
    ("case", "wrong"),
    [
        ("burgers", {"viscosity": 0.05}),
        ("burgers, viscosity 0.01", {"viscosity": 0.02}),
        ("darcy", {"forcing": 2.0}),
        ("navier_stokes", {"viscosity": 2e-3}),
        ("navier_stokes", {"viscosity": 5e-4}),
        ("navier_stokes", {"forcing": 0.2}),
    ],
)
def test_a_wrong_parameter_is_caught(honest, case, wrong):
    assert failed(declared(honest[case], **wrong)) == {"equation"}


def test_truncated_time_is_caught(honest):
    early = sciops.generate("burgers", n=2, resolution=64, time=0.5, **QUIET)
    assert failed(declared(early, time=1.0)) == {"equation"}
    ns = honest["navier_stokes"]
    assert failed(ns.isel(time=slice(0, 15))) == {"schema"}  # frames that the targets ask for
    assert failed(ns.assign_coords(time=ns["time"].values / 2)) == {"equation"}
    skipped = ns.isel(time=[*range(0, 20, 2)]).assign_coords(time=ns["time"].values[:10])
    skipped.attrs["inputs"], skipped.attrs["targets"] = (
        [{"variable": "vorticity", "frames": frames}] for frames in ([0, 5], [5, 10])
    )
    assert failed(skipped) == {"equation"}


def test_a_sample_in_two_splits_is_caught(honest):
    train, test = honest["darcy"].isel(sample=[0, 1, 2]), honest["darcy"].isel(sample=[3])
    tree = xr.DataTree.from_dict({"train": train, "test": test})
    assert sciops.check(tree).ok
    leaky = honest["darcy"].isel(sample=[1, 3])
    tree = xr.DataTree.from_dict({"train": train, "test": leaky})
    assert "sample 1 is in train and in test" in sciops.check(tree).failures[0]
    renamed = leaky.assign_coords(sample=[100, 101])  # the same numbers under another name
    tree = xr.DataTree.from_dict({"train": train, "test": renamed})
    assert sciops.check(tree).failures == ["splits (all): train and test share a sample"]
    twice = renamed.isel(sample=[0, 0]).assign_coords(sample=[100, 101])
    assert shared_samples({"train": train, "val": test, "test": twice}) == {("train", "test"): 2}
    other = twice.assign(b=twice["a"] + 1)  # of two inputs both have to be the same
    other.attrs["inputs"] = [{"variable": "a"}, {"variable": "b"}]
    assert not shared_samples({"train": other.assign(b=other["a"]), "test": other})


def test_one_wrong_sample_among_many_is_caught():
    many = sciops.generate("darcy", n=40, resolution=33, **QUIET)
    many["u"][17] = many["u"][17].values[::-1]
    assert failed(many) == {"equation"}


def test_a_sample_twice_in_one_split_is_caught(honest):
    twice = honest["darcy"].isel(sample=[0, 1, 1, 2]).assign_coords(sample=np.arange(4))
    assert "a: 1 samples repeat others" in sciops.check(twice).failures[0]


def test_a_parameter_that_never_varies_is_caught(honest):
    ds = honest["darcy"].copy(deep=True)
    ds["a"][:] = ds["a"][0].values
    ds["u"][:] = ds["u"][0].values
    assert "a is the same in all 4 samples" in sciops.check(ds).failures[0]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda ds: ds.drop_vars("y"), "no coordinates for y"),
        (lambda ds: ds.drop_attrs(deep=False), "attrs lack name"),
        (lambda ds: ds.transpose("x", "sample", "y"), "the first must be 'sample'"),
        (lambda ds: ds.assign(u=ds["u"].astype(int)), "not floating-point numbers"),
        (lambda ds: ds.assign(u=ds["u"].drop_attrs()), "u has no units"),
        (lambda ds: ds.assign_coords(x=ds["x"].values[::-1]), "x does not increase"),
        (lambda ds: ds.assign_coords(sample=[0, 1, 1, 2]), "sample numbers repeat"),
        (lambda ds: ds.drop_vars("a"), "name 'a', but the variables are u"),
    ],
)
def test_wrong_labels_are_caught(honest, spoil, words):
    assert words in sciops.check(spoil(honest["darcy"])).failures[0]


def test_uneven_periodic_grid_is_caught(honest):
    x = honest["burgers"]["x"].values.copy()
    x[3] += 0.004
    assert (
        "periodic, but its spacing varies"
        in sciops.check(honest["burgers"].assign_coords(x=x)).failures[0]
    )


def test_unknown_equations_are_left_unchecked_and_say_so(honest):
    report = sciops.check(honest["darcy"].assign_attrs(name="mine"))
    assert report.ok
    assert "no equation is known for 'mine'" in str(report)


def test_what_is_not_data_is_an_error():
    with pytest.raises(ValueError, match=r"expected an xarray.Dataset"):
        sciops.check([1, 2, 3])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"parameters": None}, "attrs['parameters'] must be a dictionary"),
        ({"boundary_conditions": "periodic"}, "attrs['boundary_conditions'] must be a dictionary"),
        ({"inputs": "a"}, "attrs['inputs'] must be a list"),
        ({"targets": [{"frames": None}]}, "attrs['targets'] must be a list"),
    ],
)
def test_malformed_metadata_are_a_finding(honest, case, attrs, message):
    report = sciops.check(honest[case].assign_attrs(attrs))
    assert failed(honest[case].assign_attrs(attrs)) == {"schema"}
    assert message in report.failures[0]


@pytest.mark.parametrize("case", CASES)
def test_no_samples_are_a_finding(honest, case):
    assert failed(honest[case].isel(sample=slice(0, 0))) == {"schema"}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("value", [None, "0.1", float("nan"), np.ones(2)])
def test_parameters_that_are_no_numbers_are_a_finding(honest, case, value):
    name = "forcing" if case.startswith("darcy") else "viscosity"
    (failure,) = sciops.check(declared(honest[case], **{name: value})).failures
    assert failure.startswith("equation") and name in failure and "number" in failure


@pytest.mark.parametrize("options", [{"viscosity": 10.0, "duration": 2.0}, {"duration": 1e-6}])
def test_a_flow_that_hardly_changes_passes(options):
    ds = sciops.generate("navier_stokes", n=1, resolution=64, **options, **QUIET)
    assert not failed(ds)
    jump = ds["vorticity"] * xr.where(ds["time"] > ds["time"][9], 1.01, 1.0)
    assert failed(ds.assign(vorticity=ds["vorticity"].copy(data=jump))) == {"equation"}


@pytest.mark.parametrize("kept", [slice(0, 3), slice(2, None), slice(None, None, 2)])
def test_snapshots_that_are_missing_are_caught(kept):
    ds = sciops.generate("burgers", n=2, resolution=32, snapshots=4, **QUIET)
    assert not failed(ds)
    assert failed(ds.isel(time=kept)) == {"equation"}


@pytest.mark.parametrize("frames", [15, 24])
def test_truncated_frames_are_caught_whatever_their_number(frames):
    flow = dict(resolution=16, duration=2.0, frames=frames)
    ds = sciops.generate("navier_stokes", n=1, **flow, **QUIET)
    assert failed(ds.isel(time=slice(0, frames - 1))) == {"schema"}
