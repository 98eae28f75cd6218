"""A misspelt name is answered with the nearest one that there is, wherever names are given."""

import pytest

import sciops
from sciops.suggestions import did_you_mean, expect_options, meant_option, options_of

KNOWN = ["conv", "fno", "xd", "xd-grid", "navier_stokes"]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("xdd", "xd"), ("XD_grid", "xd-grid"), ("navier", "navier_stokes"), ("Convv", "conv")],
)
def test_nearest_name(asked, meant):
    assert did_you_mean(asked, KNOWN) == f"; did you mean {meant!r}?"


@pytest.mark.parametrize("asked", ["heat", "", 3, None])
def test_no_name_is_near(asked):
    assert did_you_mean(asked, KNOWN) == ""
    assert did_you_mean(asked, []) == ""


def some(task, width=3, *, depth=1, **others):
    return task, width, depth, others


def one(*, size):
    return size


def test_options_of_functions():
    assert options_of(some, one) == ["width", "depth", "size"]
    with pytest.raises(TypeError) as refused:
        one(sise=3)
    assert meant_option(refused.value, some, one) == "; did you mean 'size'?"
    assert meant_option(TypeError("'int' object is not iterable"), one) == ""
    expect_options("some", ["anything"], some)
    with pytest.raises(ValueError, match="one has no option 'sise'; it has size; did you mean"):
        expect_options("one", ["sise"], one)


CALLS = {
    "darcy": lambda: sciops.train_pde("darci"),
    "fno": lambda: sciops.train_pde("darcy", op="fnoo"),
    "quick": lambda: sciops.train_pde("darcy", recipe="quik"),
    "width": lambda: sciops.train_pde("darcy", widht=3),
    "steps": lambda: sciops.train_pde("navier_stokes", forecast="step"),
    "xd": lambda: sciops.compare("darcy", ["xdd"]),
    "dilated": lambda: sciops.train_protein(op="dilatd"),
    "jsb": lambda: sciops.train_music("jsbb"),
    "unet-xd": lambda: sciops.train_cosmic(op="unet_xd"),
    "kop": lambda: sciops.train_vision(op="kopp"),
    "lenet": lambda: sciops.train_vision(network="lenett"),
    "permuted": lambda: sciops.train_vision(variant="permutted"),
    "digits": lambda: sciops.search("digit"),
    "nos": lambda: sciops.search("digits", space="noss"),
    "joint": lambda: sciops.search("digits", strategy="jiont"),
    "depth": lambda: sciops.search("digits", dept=3),
    "order": lambda: sciops.search("digits", strategy="bilevel", ordr=2),
    "arch_rate": lambda: sciops.search("darcy", archrate=2),
    "protein": lambda: sciops.generate("protien"),
    "navier_stokes": lambda: sciops.load("navier-stokes"),
    "residual": lambda: sciops.generate("darcy", n=1, residul=3),
    "harmonic": lambda: sciops.generate("darcy", n=1, faces="armonic"),
    "length": lambda: sciops.generate("protein", n=1, lenght=3),
    "cylinder_wake": lambda: sciops.read("cylinder", "x"),
    "fields": lambda: sciops.read("darcy", "x", feilds=3),
    "limit": lambda: sciops.read("cosmic", "x", limits=3),
    "split": lambda: sciops.from_arrays("darcy", {}, splt=3),
}


@pytest.mark.parametrize("meant", CALLS)
def test_verbs_suggest(meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=rf"did you mean '{meant}'\?$"):
        CALLS[meant]()
    assert list(tmp_path.iterdir()) == []


def test_verbs_themselves():
    with pytest.raises(AttributeError, match=r"did you mean 'train_pde'\?$"):
        sciops.trian_pde  # noqa: B018


@pytest.mark.parametrize(
    "train",
    [
        lambda: sciops.train_music(n_train=2, n_val=1, n_test=1, widht=3),
        lambda: sciops.train_protein(n_train=1, n_val=1, n_test=1, length=(40, 41), widht=3),
        lambda: sciops.train_cosmic(n_train=1, n_val=1, n_test=1, size=32, window=16, widht=3),
    ],
    ids=["music", "protein", "cosmic"],
)
def test_options_of_networks(train, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    with pytest.raises(ValueError, match=r"'widht'; did you mean 'width'\?$"):
        train()
