"""The `sciops` command does what the verbs do, and fails in one line."""

import json

import pytest
from typer.testing import CliRunner

import sciops
from sciops.cli.app import app
from tests.cosmic.toy import exposures, write_fits
from tests.vision.toy import write_mnist


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_list():
    result = run("data", "list")
    assert result.exit_code == 0
    assert all(name in result.output for name in sciops.datasets().index)


def test_generate_then_check(tmp_path):
    store = tmp_path / "d.zarr"
    result = run(
        *("data", "generate", "darcy", "--out", store, "--n", 4, "--n-test", 2),
        *("--resolution", 17, "--set", "low=4", "--set", "faces=arithmetic"),
    )
    assert result.exit_code == 0, result.output
    parameters = sciops.generate("darcy", n=1, resolution=17, progress=False).attrs["parameters"]
    from sciops.data.store import open_store

    kept = open_store(store)
    assert kept.attrs["parameters"] == {**parameters, "low": 4.0, "faces": "arithmetic"}
    result = run("data", "check", store)
    assert result.exit_code == 0, result.output
    assert "ok   equation" in result.output


def test_read_images(tmp_path):
    store = tmp_path / "m.zarr"
    words = "data", "read", "vision", write_mnist(tmp_path / "mnist"), "--out", store, "--val", 6
    result = run(*words, "--set", "variant=permuted", "--set", "seed=3")
    assert result.exit_code == 0, result.output
    tree = sciops.read("vision", tmp_path / "mnist", val=6, variant="permuted", seed=3)
    from sciops.data.store import open_store

    assert open_store(store)["test"]["image"].equals(tree["test"]["image"])
    assert run("data", "check", store).exit_code == 0
    result = run(*words, "--overwrite", "--set", "variant=sideways")
    assert result.exit_code == 2 and "there is no variant='sideways'" in result.output


def test_check_of_a_wrong_store_exits_with_one(tmp_path):
    made = sciops.generate("darcy", n=4, resolution=17, progress=False)
    made["u"] = made["u"].copy(data=made["u"].values[:, ::-1])
    from sciops.data.store import write

    write(tmp_path / "d.zarr", {"train": made})
    result = run("data", "check", tmp_path / "d.zarr")
    assert result.exit_code == 1
    assert "FAIL equation" in result.output


def test_read(tmp_path):
    import numpy as np

    made = sciops.generate("darcy", n=4, resolution=17, progress=False)
    np.savez(tmp_path / "mine.npz", coeff=made["a"].values, sol=made["u"].values)
    result = run(
        *("data", "read", "darcy", tmp_path / "mine.npz", "--out", tmp_path / "d.zarr"),
        *("--field", "a=coeff", "--field", "u=sol", "--set", "forcing=1.0"),
    )
    assert result.exit_code == 0, result.output
    assert sciops.check(tmp_path / "d.zarr").ok
    np.savez(tmp_path / "mine.npz", a=made["a"].values[:3], u=made["u"].values[:3])
    again = "data", "read", "darcy", tmp_path / "mine.npz", "--out", tmp_path / "d.zarr"
    assert "another specification" in run(*again).stderr
    assert "'sample': 3" in run(*again, "--overwrite").stdout


def test_read_of_exposures_with_settings(tmp_path):
    path = write_fits(tmp_path / "a.fits", exposures(2, (12, 16)))
    words = "data", "read", "cosmic", path, "--out", tmp_path / "a.zarr", "--set", "size=4"
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "test {'stamp': 12, 'y': 4, 'x': 4" in result.output
    assert "limit does not go with FITS files" in run(*words, "--set", "limit=3").stderr


def test_read_with_times_from_the_file(tmp_path):
    import numpy as np

    made = sciops.generate(
        "navier_stokes", n=3, resolution=16, frames=4, duration=1.0, progress=False
    )
    np.savez(tmp_path / "mine.npz", w=made["vorticity"].values, t=made["time"].values)
    result = run(
        *("data", "read", "navier_stokes", tmp_path / "mine.npz", "--out", tmp_path / "n.zarr"),
        *("--field", "vorticity=w", "--coord", "time=t", "--val", 1),
        *("--set", "viscosity=1e-3", "--set", "forcing=0.1"),
    )
    assert result.exit_code == 0, result.output
    assert "val {'sample': 1" in result.output
    assert sciops.check(tmp_path / "n.zarr").ok


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("generate", "heat", "--out", "x.zarr"), "no data set 'heat'"),
        (("generate", "darcy", "--out", "x.zarr", "--set", "low"), "must look like name=value"),
        (("generate", "darcy", "--out", "x.partial"), "choose another name"),
        (("check", "nowhere.zarr"), "nowhere.zarr"),
        (("check", "."), "it has no zarr.json; name another folder"),
        (("read", "darcy", "nowhere.mat", "--out", "x.zarr"), "nowhere.mat"),
    ],
)
def test_errors_are_one_line_and_exit_with_two(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("data", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_json_of_lists_and_checks(tmp_path):
    rows = json.loads(run("data", "list", "--json").stdout)
    assert [row["name"] for row in rows] == list(sciops.datasets().index)
    made = sciops.generate("darcy", n=4, resolution=17, progress=False)
    from sciops.data.store import write

    write(tmp_path / "d.zarr", {"train": made})
    result = run("data", "check", tmp_path / "d.zarr", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0 and found["ok"] is True
    assert len(found["findings"]) == len(sciops.check(tmp_path / "d.zarr").findings)
    assert all(finding["ok"] for finding in found["findings"])


def test_misspelt_names_are_answered_in_one_line(tmp_path):
    words = "data", "generate", "darcy", "--out", tmp_path / "d.zarr", "--set", "residul=1e-3"
    assert run(*words).stderr.strip().endswith("did you mean 'residual'?")
    words = "data", "read", "vision", tmp_path, "--out", tmp_path / "d.zarr", "--set", "varaint=a"
    assert run(*words).exit_code == 2 and "did you mean 'variant'?" in run(*words).stderr
