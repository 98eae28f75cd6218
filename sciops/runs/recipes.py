"""Named recipes: all settings of a run that the user does not give.

    quick   minutes on two cores
    paper   the published settings (Roberts et al. 2021; Li et al. 2021; of dnarch those of Romero &
            Zeghidour 2023, whose only equation is Darcy); days on two cores

Each is a choice for a problem and an operator.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from sciops.backbones.choice import OPERATORS
from sciops.config import Optimisation, Training
from sciops.suggestions import did_you_mean

RECIPES = ("quick", "paper")


@dataclass(frozen=True)
class Settings:
    """Grid and number of samples, how to train, and what the network is like."""

    resolution: int
    n_train: int
    n_val: int
    n_test: int
    training: Training
    augment: bool = False
    model: dict[str, Any] = field(default_factory=dict)


def settings(name: str, op: str, recipe: str = "quick", forecast: str | None = None) -> Settings:
    """The settings of a recipe for a problem and an operator.

    >>> settings("darcy", "xd", "paper").training.architecture.optimiser
    'sgd'
    """
    if recipe not in RECIPES:
        raise ValueError(
            f"there is no recipe {recipe!r}; there are {', '.join(RECIPES)}"
            f"{did_you_mean(recipe, RECIPES)}"
        )
    if recipe == "paper":
        return _paper_dnarch(name) if op == "dnarch" else _paper(name, op)
    return _quick(name, op)


# --- quick ----------------------------------------------------------------------------------------

GRIDS = {"burgers": 256, "darcy": 43, "navier_stokes": 32}
SAMPLES = {"burgers": 500, "darcy": 400, "navier_stokes": 100}
EPOCHS = {"burgers": 40, "darcy": 20, "navier_stokes": 20}
ARCHITECTURE_RATES = {"burgers": 1e-5, "darcy": 3e-3, "navier_stokes": 3e-3}
SHIFTED = ("burgers",)  # equations that are the same at every point
DNARCH_RATES = 1e-2, 2e-3  # of weights, and of masks
DNARCH = dict(style="modern", sigma=0.2)  # solutions depend on points far away


def _quick(name: str, op: str) -> Settings:
    weights = Optimisation(3e-3, decay=1e-4, ramp=0.1)
    architecture = Optimisation(ARCHITECTURE_RATES.get(name, 1e-3), ramp=0.1)
    if op == "dnarch":
        weights, architecture = (Optimisation(rate, "adamw", ramp=0.1) for rate in DNARCH_RATES)
    training = Training(EPOCHS.get(name, 20), 10, weights, architecture)
    model = dict(DNARCH) if op == "dnarch" else {}
    if name in SHIFTED and op in OPERATORS:
        model["positions"] = False
    sizes = GRIDS.get(name, 64), SAMPLES.get(name, 400), 50, 100
    return Settings(*sizes, training, augment=True, model=model)


# --- paper ----------------------------------------------------------------------------------------

PAPER_GRIDS = {"burgers": 1024, "darcy": 85, "navier_stokes": 64}
PAPER_TEST = {"burgers": 100, "darcy": 100, "navier_stokes": 200}
PAPER_BATCHES = {"burgers": 20, "darcy": 20, "navier_stokes": 10}
PAPER_RATES = {"burgers": 1e-3, "darcy": 1e-3, "navier_stokes": 2.5e-3}
PAPER_ARCHITECTURE = {
    "burgers": Optimisation(1e-3, "adam"),
    "darcy": Optimisation(1e-1, "sgd", momentum=0.5),
    "navier_stokes": Optimisation(5e-3, "sgd", momentum=0.5),
}


def _paper(name: str, op: str) -> Settings:
    if name not in PAPER_GRIDS:
        raise ValueError(f"nothing was published for {name!r}; use recipe='quick'")
    common = dict(decay=1e-4, schedule="step", step_epochs=100)
    training = Training(
        500,
        PAPER_BATCHES[name],
        Optimisation(PAPER_RATES[name], **common),
        replace(PAPER_ARCHITECTURE[name], **common),
        loss="sum",
    )
    styled = op not in ("unet", "neuralop", "term")
    model = {"style": "paper"} if styled else {}
    return Settings(PAPER_GRIDS[name], 1000, 100, PAPER_TEST[name], training, model=model)


# --- paper, DNArch --------------------------------------------------------------------------------


def _paper_dnarch(name: str) -> Settings:
    """Romero & Zeghidour 2023, on NAS-Bench-360's Darcy; the rate of masks is not published."""
    if name not in PAPER_GRIDS:
        raise ValueError(f"nothing was published for {name!r}; use recipe='quick'")
    known = dict(decay=1e-4, ramp=10 / 310)
    rates = Optimisation(0.02, "adamw", **known), Optimisation(0.02, "adamw", ramp=10 / 310)
    training = Training(310, 8, *rates)
    model = dict(width=140, blocks=4, hidden=128, layers=4, tau_resolution=50.0, cost=0.1)
    return Settings(PAPER_GRIDS[name], 1000, 100, PAPER_TEST[name], training, model=model)
