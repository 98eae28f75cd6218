"""The domains: one file each says what the data is, how to make it and how to check it."""

from importlib import import_module

from sciops.suggestions import did_you_mean

from .domain import Domain

DOMAINS = {  # name → the module that defines it
    "burgers": "sciops.domains.burgers",
    "darcy": "sciops.domains.darcy",
    "navier_stokes": "sciops.domains.navier_stokes",
}

ONLY_READ = {  # data that are read from files and checked, but not generated
    "cylinder_wake": "sciops.domains.cylinder",
}


def domain_named(name: str) -> Domain:
    """The domain of this name.

    >>> domain_named("darcy").inputs
    (Field(variable='a', frames=None),)
    """
    known = DOMAINS | ONLY_READ
    if name not in list(known):
        raise ValueError(
            f"there is no data set {name!r}; there are {', '.join(DOMAINS)}, and to be read from "
            f"files only {', '.join(ONLY_READ)}{did_you_mean(name, known)}"
        )
    return import_module(known[name]).DOMAIN
