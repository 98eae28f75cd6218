"""Named recipes: all settings of a run that the user does not give.

    quick   minutes on two cores
    paper   the published settings (Roberts et al. 2021; Li et al. 2021; of dnarch those of Romero &
            Zeghidour 2023, whose only equation is Darcy); days on two cores

Each is a choice for a problem, its parameters and an operator.  What `paper` does otherwise than
Roberts et al.: fields are normalised by channel, so that grids do not matter (there: Darcy and
Navier–Stokes by point, Burgers not at all); `conv` continues Darcy's fields by zeros beyond their
walls (there: periodically); 100 samples validate and choose nothing (there: none).  Of
Navier–Stokes the appendix and the released scripts have the two rates of K, L and M the other way
round; these are the appendix's.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sciops.backbones.choice import OPERATORS, starts_on_modes
from sciops.config import Optimisation, Training
from sciops.domains.domain import positive
from sciops.suggestions import did_you_mean

RECIPES = ("quick", "paper")


@dataclass(frozen=True)
class Settings:
    """Grid and number of samples, how to train, what the network is like, and parameters of the
    equation that are not its usual ones."""

    resolution: int
    n_train: int
    n_val: int
    n_test: int
    training: Training
    augment: bool = False
    model: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)


def settings(
    name: str,
    op: str,
    recipe: str = "quick",
    forecast: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    network: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings of a recipe for a problem and an operator.

    parameters: those of the equation that are known already; of a viscosity that was not published
                the recipe is that of the nearest one that was
    network:    its options that are known already

    >>> settings("darcy", "xd", "paper").training.architecture.optimiser
    'sgd'
    >>> settings("navier_stokes", "xd", "paper").parameters
    {'viscosity': 0.0001, 'frames': 30, 'duration': 30.0}
    """
    if recipe not in RECIPES:
        raise ValueError(
            f"there is no recipe {recipe!r}; there are {', '.join(RECIPES)}"
            f"{did_you_mean(recipe, RECIPES)}"
        )
    if recipe == "paper":
        return _paper_dnarch(name) if op == "dnarch" else _paper(name, op, parameters or {})
    return _quick(name, op, network or {}, forecast)


# --- quick ----------------------------------------------------------------------------------------

GRIDS = {"burgers": 256, "darcy": 43, "navier_stokes": 32}
SAMPLES = {"burgers": 500, "darcy": 400, "navier_stokes": 100}
EPOCHS = {"burgers": 40, "darcy": 20, "navier_stokes": 20}
ARCHITECTURE_RATES = {"burgers": 1e-5, "darcy": 3e-3, "navier_stokes": 3e-3}
SHIFTED = ("burgers",)  # equations that are the same at every point
GAINS = {"darcy": {"gain": 4.0}, "navier_stokes": {"gain": 10.0}}  # of weights on Fourier modes
# of XD with such weights; where an equation is the same at every point, K and M can only be learned
# to break that, and learning L, which costs a step half as much again, was worth nothing
MAPS: dict[str, dict[str, Any]] = {
    "burgers": {"depth": [0, 0, 0], "weights": "both", "tilt": 0.25},
    "darcy": {"depth": [1, 0, 1], "weights": "both"},
    "navier_stokes": {"depth": [0, 0, 0], "tilt": 0.25},
}
MAPS_RATES = {"burgers": 1e-5, "darcy": 1e-3, "navier_stokes": 1e-3}
DNARCH_RATES = 1e-2, 2e-3  # of weights, and of masks
DNARCH = dict(style="modern", sigma=0.2)  # solutions depend on points far away


def _quick(name: str, op: str, network: Mapping[str, Any], forecast: str | None) -> Settings:
    on_modes = op == "fno" or (op == "xd" and starts_on_modes(**network))
    rates = MAPS_RATES if on_modes else ARCHITECTURE_RATES
    weights = Optimisation(3e-3, decay=1e-4, ramp=0.1)
    architecture = Optimisation(rates.get(name, 1e-3), ramp=0.1)
    if op == "dnarch":
        weights, architecture = (Optimisation(rate, "adamw", ramp=0.1) for rate in DNARCH_RATES)
    training = Training(EPOCHS.get(name, 20), 10, weights, architecture)
    model = dict(DNARCH) if op == "dnarch" else {}
    if name in SHIFTED and op in OPERATORS:
        model["positions"] = False
    if on_modes:
        model |= GAINS.get(name, {}) | (MAPS.get(name, {}) if op == "xd" else {})
        if forecast == "steps" and "tilt" in model:
            model["tilt"] = 0.0  # errors of high frequencies, fed back, grow: roll-outs blew up
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
PAPER_VISCOSITY = {"burgers": 0.1, "navier_stokes": 1e-4}  # where none is given
PAPER_FLOWS = {
    1e-4: (5e-3, 30),
    1e-5: (1e-3, 20),
}  # ν → rate of K, L and M; frames, 10 of them given


def _paper(name: str, op: str, known: Mapping[str, Any]) -> Settings:
    if name not in PAPER_GRIDS:
        raise ValueError(f"nothing was published for {name!r}; use recipe='quick'")
    common = dict(decay=1e-4, schedule="step", step_epochs=100)
    architecture, parameters = PAPER_ARCHITECTURE[name], _paper_parameters(name, known)
    if name == "navier_stokes":
        nearest = _nearest_flow(parameters.get("viscosity", known.get("viscosity")))
        architecture = replace(architecture, rate=PAPER_FLOWS[nearest][0])
    training = Training(
        500,
        PAPER_BATCHES[name],
        Optimisation(PAPER_RATES[name], **common),
        replace(architecture, **common),
        loss="sum",
    )
    styled = op not in ("unet", "neuralop", "term")
    model = {"style": "paper"} if styled else {}
    return Settings(
        PAPER_GRIDS[name],
        1000,
        100,
        PAPER_TEST[name],
        training,
        model=model,
        parameters=parameters,
    )


def _paper_parameters(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """The published ones that are not known: viscosity, and of a published flow its frames."""
    if name not in PAPER_VISCOSITY:
        return {}
    viscosity = known.get("viscosity", PAPER_VISCOSITY[name])
    found = {} if "viscosity" in known else {"viscosity": viscosity}
    timed = {"frames", "duration"} & set(known)
    published = positive(viscosity, "viscosity") in PAPER_FLOWS
    if name == "navier_stokes" and published and not timed:
        _, frames = PAPER_FLOWS[viscosity]
        found |= {"frames": frames, "duration": float(frames)}
    return found


def _nearest_flow(viscosity: float) -> float:
    """The published viscosity that differs by the smallest factor.

    >>> _nearest_flow(1e-3), _nearest_flow(2e-5)
    (0.0001, 1e-05)
    """
    viscosity = positive(viscosity, "viscosity")
    return min(PAPER_FLOWS, key=lambda known: abs(math.log(viscosity / known)))


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
