"""The command in a report trains the same run: in its folder it finds that run, finished."""

import shlex

import pytest
from typer.testing import CliRunner

import sciops
from sciops.cli.app import app
from sciops.reporting.command import command_of


@pytest.fixture(autouse=True)
def kept_data(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))


def repeated(run):
    """The command of a run, given to the `sciops` command with the folder of that run."""
    words = shlex.split(command_of(run.config).replace("\\\n", " "))
    assert words[0] == "sciops"
    return CliRunner().invoke(app, [*words[1:], "--out", str(run.path)])


TINY = dict(n_train=4, n_val=2, n_test=2, epochs=1, batch_size=2, progress=False)


def test_generated_data_with_settings_of_every_kind(tmp_path, monkeypatch):
    own = dict(width=4, blocks=1, hidden=4, frequencies=4, taps=3, spacing=(0.2, 0.25), depth=2)
    run = sciops.train_pde(
        *("darcy", "xd"),
        resolution=[9, 11],
        coarse=0.5,
        h1=0.5,
        low=4.0,
        faces="arithmetic",
        rate=2e-3,
        seed=3,
        arch_rate=3e-3,
        augment=True,
        out=tmp_path / "run",
        **own,
        **TINY,
    )
    monkeypatch.setattr("sciops.runs.frame.fit", None)  # a run that is there is not trained again
    result = repeated(run)
    assert result.exit_code == 0, result.output
    other = command_of({**run.config, "seed": 4})
    assert "--seed 4" in other
    run.config = {**run.config, "seed": 4}
    result = repeated(run)
    assert result.exit_code == 2
    assert "holds another run (seed: 3 there, 4 asked for" in result.output


def test_data_of_a_store(tmp_path, monkeypatch):
    store = tmp_path / "my data.zarr"
    sciops.generate("darcy", n=5, resolution=9, n_test=2, out=store, progress=False)
    run = sciops.train_pde(
        "darcy",
        "conv",
        data=store,
        out=tmp_path / "run",
        width=4,
        hidden=4,
        blocks=1,
        taps=3,
        **{**TINY, "n_val": 1},
    )
    monkeypatch.setattr("sciops.runs.frame.fit", None)
    result = repeated(run)
    assert result.exit_code == 0, result.output


def test_data_in_memory_have_no_name():
    data = {"n_train": 4, "n_val": 1, "n_test": 5, "given": None, "fingerprint": "1f"}
    rates = {"weights": {"rate": 0.001}, "architecture": {"rate": 0.01}}
    training = {"epochs": 2, "batch_size": 3, "symmetries": [], **rates}
    config = {"name": "darcy", "op": "xd", "recipe": "quick", "seed": 0, "grids": [9]}
    model = {"op": "xd", "forecast": "steps"}
    words = command_of({**config, "data": data, "training": training, "model": model}).split()
    assert words[words.index("--data") + 1] == "YOUR-DATA.zarr"
    assert words[words.index("--forecast") + 1] == "steps"
    assert "--resolution" not in words
