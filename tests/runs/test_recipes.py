"""Every recipe can be trained, and the published ones are as published."""

import pytest

from sciops.backbones import BASELINES
from sciops.backbones.choice import OPERATORS
from sciops.config import training_from
from sciops.domains import DOMAINS
from sciops.runs.plan import network_options
from sciops.runs.recipes import RECIPES, settings


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


def test_baselines_have_no_style():
    for op in BASELINES:
        assert "style" not in settings("darcy", op, "paper").model


def test_learned_kernels_start_wide_unless_as_published():
    quick, paper = (settings("darcy", "dnarch", recipe).model for recipe in RECIPES)
    assert (quick["style"], quick["sigma"]) == ("modern", 0.2)
    assert not {"style", "sigma"} & set(paper)  # those of the network are the published ones


def test_an_equation_that_is_the_same_everywhere_is_given_no_positions():
    assert settings("burgers", "fno").model == settings("burgers", "xd").model
    assert settings("burgers", "fno").model == {"positions": False}
    assert settings("darcy", "fno").model == settings("burgers", "neuralop").model == {}


def test_what_is_not_known_is_said():
    with pytest.raises(ValueError, match="no recipe 'slow'; there are quick, paper"):
        settings("darcy", "xd", "slow")
    with pytest.raises(ValueError, match=r"nothing was published for 'cylinder_wake'; use .*quick"):
        settings("cylinder_wake", "xd", "paper")
    assert settings("cylinder_wake", "xd").n_train > 0
