"""All search spaces by name."""

import dataclasses

from sciops.suggestions import did_you_mean

from .discrete_space import DiscreteSpace
from .dnarch_space import DnarchSpace
from .fixed_spaces import KLayers, Linear
from .kaleidoscope_spaces import KOperations, XDSpace
from .nos_space import NosSpace
from .space import AbstractSpace

SPACES: dict[str, type[AbstractSpace]] = {
    kind.name: kind
    for kind in (XDSpace, KOperations, DiscreteSpace, KLayers, Linear, NosSpace, DnarchSpace)
}


def make_space(space: str, **options) -> AbstractSpace:
    """A space by its name; options are those of its class, lists standing for tuples.

    >>> make_space("kop", start="scratch", depth=3)
    KOperations(layers=None, start='scratch', depth=3, tied=False, unitary_taps=False)
    >>> make_space(**make_space("discrete", layers=["conv*"]).as_dict()).layers
    ('conv*',)
    """
    if space not in SPACES:
        raise ValueError(
            f"space={space!r} is not known; choose one of {', '.join(SPACES)}"
            f"{did_you_mean(space, SPACES)}"
        )
    kind = SPACES[space]
    known = [field.name for field in dataclasses.fields(kind)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(
            f"space {space!r} has no option {unknown[0]!r}; it has {', '.join(known)}"
            f"{did_you_mean(unknown[0], known)}"
        )
    return kind(**{n: tuple(v) if isinstance(v, list) else v for n, v in options.items()})
