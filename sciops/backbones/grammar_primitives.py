"""Whether the primitives of a grammar are known, before any network is made of its terms."""

from sciops.grammars.grammar import IDENTITY, ZERO, Grammar, is_symbol
from sciops.grammars.motifs import MOTIF, SHARED
from sciops.suggestions import did_you_mean

from .term_activations import BINARY, UNARY
from .term_primitives import expect_primitive


def expect_primitives(grammar: Grammar, frame: str) -> None:
    """ValueError with the production and the nearest name, for the first that is not known."""
    wired = {IDENTITY, ZERO, *([MOTIF] if SHARED in grammar.topologies else [])}
    for symbol, patterns in grammar.productions.items():
        for number, pattern in enumerate(patterns, 1):
            leaves = {p.head: None for _, p in pattern.parts() if not p.args and not is_symbol(p)}
            for name in leaves:
                try:
                    _expect(name, frame, wired)
                except ValueError as error:
                    where = f"production {number} of {symbol}, {str(pattern)[:60]}"
                    raise ValueError(f"{where}: {error}") from None


def _expect(name: str, frame: str, wired: set[str]) -> None:
    if frame != "activations":
        return None if name in wired else expect_primitive(name)
    known = [*UNARY, *BINARY]
    if name not in known:
        near = did_you_mean(name, known)
        raise ValueError(f"there is no function {name!r}; there are {', '.join(known)}{near}")
    return None
