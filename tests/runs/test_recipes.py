"""Every recipe can be trained, and the published ones are as published."""

from functools import partial

import numpy as np
import pytest
import torch

import sciops
from sciops.backbones import BASELINES
from sciops.backbones.choice import OPERATORS
from sciops.config import training_from
from sciops.domains import DOMAINS
from sciops.runs.plan import network_options
from sciops.runs.recipes import RECIPES, settings
from tests import run_toy
from tests.run_toy import NETWORKS

FLOW = dict(
    **dict(resolution=8, viscosity=1e-5, duration=1.0, frames=4, steps=40, solver_resolution=32),
    progress=False,
)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", DOMAINS)
def test_every_recipe_makes_sense(name, recipe):
    for op in [*OPERATORS, *BASELINES]:
        forecasts = ["3d", "steps"] if name == "navier_stokes" else [None]
        for forecast in forecasts:
            found = settings(name, op, recipe, forecast)
            assert min(found.resolution, found.n_train, found.n_val, found.n_test) > 0
            assert training_from(found.training.as_dict()) == found.training
            assert set(found.model) <= set(network_options(op, forecast))


def test_quick_is_quick():
    for name in DOMAINS:
        quick, paper = (settings(name, "xd", recipe) for recipe in ("quick", "paper"))
        work = [s.n_train * s.training.epochs * s.resolution for s in (quick, paper)]
        assert work[0] < work[1] / 10


def test_the_paper_is_as_published():
    """Roberts et al. 2021, appendix: 500 epochs, rates halved every 100, sums of errors."""
    for name in DOMAINS:
        found = settings(name, "xd-grid", "paper")
        for group in (found.training.weights, found.training.architecture):
            assert (group.schedule, group.step_epochs, group.decay) == ("step", 100, 1e-4)
        assert (found.training.epochs, found.training.loss, found.n_train) == (500, "sum", 1000)
        assert found.model == {"style": "paper"}
    darcy = settings("darcy", "xd-grid", "paper").training.architecture
    assert (darcy.optimiser, darcy.rate, darcy.momentum) == ("sgd", 0.1, 0.5)
    assert settings("burgers", "xd-grid", "paper").training.architecture.optimiser == "adam"


@pytest.mark.parametrize(
    ("given", "rate", "parameters"),
    [
        ({}, 5e-3, dict(viscosity=1e-4, frames=30, duration=30.0)),
        (dict(viscosity=1e-4), 5e-3, dict(frames=30, duration=30.0)),
        (dict(viscosity=1e-5), 1e-3, dict(frames=20, duration=20.0)),
        (dict(viscosity=1e-5, frames=12), 1e-3, {}),
        (dict(viscosity=2e-5), 1e-3, {}),  # nearer to 1e-5 than to 1e-4
        (dict(viscosity=1e-3), 5e-3, {}),
    ],
)
def test_flows_as_published(given, rate, parameters):
    """Roberts et al. 2021, appendix: T = 30 and 5e-3 of ν = 1e-4, T = 20 and 1e-3 of 1e-5."""
    found = settings("navier_stokes", "xd-grid", "paper", "3d", given)
    assert found.training.architecture.rate == rate
    assert found.training.weights.rate == 2.5e-3
    assert found.parameters == parameters
    assert settings("navier_stokes", "xd-grid", "quick", "3d", given).parameters == {}


def test_burgers_has_the_published_viscosity_unless_another_is_given():
    assert settings("burgers", "xd", "paper").parameters == {"viscosity": 0.1}
    assert settings("burgers", "xd", "paper", None, {"viscosity": 0.02}).parameters == {}
    assert settings("darcy", "xd", "paper").parameters == {}
    with pytest.raises(ValueError, match="viscosity='thick' must be a positive number"):
        settings("navier_stokes", "xd", "paper", "3d", {"viscosity": "thick"})


@pytest.mark.parametrize("op", ["xd", "fno", "xd-grid", "conv"])
def test_the_published_recipe_trains(op, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    small = {name: n for name, n in NETWORKS[op].items() if name in ("taps", "frequencies")}
    run = sciops.train_pde(
        *("darcy", op),
        recipe="paper",
        **dict(resolution=9, n_train=6, n_val=2, n_test=2, epochs=2, width=4, progress=False),
        out=tmp_path / "run",
        **small,
    )
    assert np.isfinite(run.metrics["test_relative_l2"])
    training = run.config["training"]
    assert (training["loss"], training["batch_size"], training["symmetries"]) == ("sum", 20, [])
    assert run.config["model"]["style"] == "paper"
    assert any(isinstance(module, torch.nn.BatchNorm2d) for module in run.model.modules())


def test_data_that_are_given_say_which_flow_they_are(tmp_path):
    """The rate is that of their viscosity, and nothing about them is chosen."""
    ds = sciops.generate("navier_stokes", 4, **FLOW)
    flows = {"train": ds.isel(sample=slice(3)), "test": ds.isel(sample=slice(3, 4))}
    run = sciops.train_pde(
        *("navier_stokes", "conv"),
        **dict(data=flows, recipe="paper", epochs=1, width=2, taps=3, progress=False),
        out=tmp_path / "run",
    )
    assert run.config["training"]["architecture"]["rate"] == 1e-3
    assert run.task.out_channels == 2


def test_a_published_flow_is_asked_for_with_its_frames(monkeypatch, tmp_path):
    asked = []

    def load(name, **options):
        asked.append(options)
        raise ValueError("enough")

    monkeypatch.setattr(sciops.runs.data, "load", load)
    monkeypatch.setattr(sciops.runs.plan, "_rehearse", lambda tasks, model: None)
    with pytest.raises(ValueError, match="enough"):
        sciops.train_pde("navier_stokes", "xd", recipe="paper", steps=30, out=tmp_path / "run")
    assert (asked[0]["viscosity"], asked[0]["frames"], asked[0]["duration"]) == (1e-4, 30, 30.0)


def test_baselines_have_no_style():
    for op in BASELINES:
        assert "style" not in settings("darcy", op, "paper").model


def test_learned_kernels_start_wide_unless_as_published():
    quick, paper = (settings("darcy", "dnarch", recipe).model for recipe in RECIPES)
    assert (quick["style"], quick["sigma"]) == ("modern", 0.2)
    assert not {"style", "sigma"} & set(paper)  # those of the network are the published ones


def test_an_equation_that_is_the_same_everywhere_is_given_no_positions():
    assert settings("burgers", "fno").model == {"positions": False}
    assert settings("burgers", "xd").model["positions"] is False
    assert "positions" not in settings("darcy", "fno").model
    assert settings("burgers", "neuralop").model == {}


@pytest.mark.parametrize("name", ["darcy", "navier_stokes"])
def test_weights_on_modes_have_one_gain_whoever_has_them(name):
    """So that XD and FNO are compared at the same rates."""
    fno, xd, modes = (
        settings(name, op, network=network).model
        for op, network in (("fno", {}), ("xd", {}), ("xd", {"weights": "modes", "taps": 5}))
    )
    assert fno["gain"] == xd["gain"] == modes["gain"] > 1
    for network in ({"taps": 5}, {"spacing": 0.1}, {"weights": "taps"}):
        assert settings(name, "xd", network=network).model == {}
    assert "gain" not in settings(name, "conv").model | settings(name, "xd", "paper").model


def test_what_is_fed_back_is_not_tilted():
    tilts = [settings("navier_stokes", "xd", forecast=f).model["tilt"] for f in ("3d", "steps")]
    assert tilts == [0.25, 0.0]
    assert "tilt" not in settings("navier_stokes", "fno", forecast="steps").model


@pytest.mark.parametrize("weights", ["modes", "both"])
@pytest.mark.parametrize(
    ("train", "maps"),
    [
        (partial(run_toy.darcy, op="xd"), {"depth": [1, 0, 1], "gain": 4.0}),
        (run_toy.flow, {"depth": [0, 0, 0], "tilt": 0.25, "gain": 10.0}),
        (run_toy.burgers, {"depth": [0, 0, 0], "tilt": 0.25}),
    ],
    ids=["darcy", "navier_stokes", "burgers"],
)
def test_weights_on_modes_train_and_are_found_again(train, maps, weights, tmp_path):
    run = train(tmp_path / "run", weights=weights)
    assert run.config["model"].items() >= maps.items()
    assert any(name.endswith("taps") for name, _ in run.model.named_parameters()) == (
        weights == "both"
    )
    again, opened = train(tmp_path / "run", weights=weights), sciops.open_run(tmp_path / "run")
    assert again.metrics == opened.metrics == run.metrics
    scores = [one.evaluate()["relative_l2"].values for one in (run, opened)]
    assert np.array_equal(*scores)
    names = [name for name, _ in run.model.named_parameters() if ".frame." in name]
    learned = {name.split(".frame.")[1].split(".")[0] for name in names}
    kinds = dict(zip("klm", maps["depth"], strict=True))
    assert learned == {kind for kind, depth in kinds.items() if depth}


def test_what_is_not_known_is_said():
    with pytest.raises(ValueError, match="no recipe 'slow'; there are quick, paper"):
        settings("darcy", "xd", "slow")
    with pytest.raises(ValueError, match=r"nothing was published for 'cylinder_wake'; use .*quick"):
        settings("cylinder_wake", "xd", "paper")
    assert settings("cylinder_wake", "xd").n_train > 0
