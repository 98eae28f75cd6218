"""The contract of a domain: what the data is, how to make it and how to check it.

A domain is one file with one `DOMAIN = Domain(…)`; `sciops.domains.DOMAINS` lists them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.suggestions import did_you_mean
from sciops.task import Field

if TYPE_CHECKING:
    import xarray as xr

# Samples are numbered; the splits count from here, so that no sample can be in two of them.
SPLIT_STARTS = {"train": 0, "val": 10**9, "test": 2 * 10**9}

HISTORY = 10  # frames given, of those that there are; the rest are to be predicted


@dataclass(frozen=True)
class Variable:
    """A physical field; `dims` are those behind `sample`."""

    dims: tuple[str, ...]
    long_name: str
    units: str = "1"


@dataclass(frozen=True)
class Domain:
    """A kind of data.

    solve(samples, resolution, seed, parameters) -> {variable: (len(samples), *dims) float64}
        pure: the same numbers for the same arguments, in any process.  Samples are independent
        functions of their number, but rounding may depend on which are solved together, so callers
        solve whole blocks of `block` samples that begin at multiples of it.
    coordinates(resolution, parameters) -> {dimension: points}
    defects(ds) -> (sample,) how badly each sample violates the equation that its metadata declares,
        0 being perfect and about 1 being unrelated
    tolerance(ds) -> the largest defect that an honest data set of this grid has
    complete(parameters) -> parameters with what is derived from them (steps, solver grid); raises
        ValueError for values that make no sense
    """

    name: str
    title: str
    equation: str
    boundary_conditions: Mapping[str, str]  # "periodic" or what holds at the ends, per dimension
    variables: Mapping[str, Variable]
    inputs: tuple[Field, ...]
    targets: tuple[Field, ...]
    parameters: Mapping[str, Any]  # and their defaults
    coordinates: Callable[[int, Mapping[str, Any]], dict[str, np.ndarray]]
    solve: Callable[[Sequence[int], int, int, Mapping[str, Any]], dict[str, np.ndarray]]
    defects: Callable[["xr.Dataset"], np.ndarray]
    tolerance: Callable[["xr.Dataset"], float]
    declared: tuple[str, ...]  # parameters without which `defects` cannot judge
    complete: Callable[[Mapping[str, Any]], dict[str, Any]] = dict
    symmetries: tuple[str, ...] = ()  # of the equation and its domain, see sciops.data.symmetries
    judged: int = 4  # samples of a split that `check` gives to `defects`; more where it is cheap
    block: int = 8
    resolution: int = 64  # the default

    def with_defaults(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters, those not given at their defaults."""
        unknown = sorted(set(parameters) - set(self.parameters))
        if unknown:
            raise ValueError(
                f"{self.name} has no parameter {', '.join(map(repr, unknown))}; "
                f"it has {', '.join(self.parameters) or 'none'}"
                f"{did_you_mean(unknown[0], self.parameters)}"
            )
        return self.complete({**self.parameters, **parameters})

    def labels(self, parameters: Mapping[str, Any], frames: int | None) -> dict[str, Any]:
        """The metadata of data of this domain; frames: how many there are in time."""
        return {
            "name": self.name,
            "title": self.title,
            "equation": self.equation,
            "boundary_conditions": dict(self.boundary_conditions),
            "parameters": dict(parameters),
            **self.roles(frames),
        }

    def roles(self, frames: int | None) -> dict[str, list[dict[str, Any]]]:
        """inputs and targets as metadata: of a variable in time the first frames, and the rest."""
        frames = frames or 0
        history = HISTORY if frames > HISTORY else frames // 2
        if frames and not history and any(field.frames for field in self.inputs):
            raise ValueError(f"{self.name} has one frame; a forecast needs at least two")
        shares = {"inputs": [0, history], "targets": [history, frames]} if frames else {}
        return {
            role: [
                {"variable": f.variable, "frames": f.frames and shares.get(role)} for f in fields
            ]
            for role, fields in (("inputs", self.inputs), ("targets", self.targets))
        }


def positive(value, name: str, *, or_zero: bool = False) -> float:
    """The value as a finite float above (or at) zero, or a ValueError."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0 or (value == 0 and not or_zero):
        raise ValueError(
            f"{name}={value!r} must be a {'non-negative' if or_zero else 'positive'} number"
        )
    return float(value)


def whole_number(value, name: str, *, least: int, most: float = math.inf) -> int:
    """The value as an int, or a ValueError."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number ≥ {least}")
    if value > most:
        raise ValueError(f"{name}={value!r} must be a whole number ≤ {most}")
    return int(value)
