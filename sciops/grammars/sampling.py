"""Random terms of a grammar.

    by="productions"   at every symbol each production is as probable as the others; one that is
                       listed twice is twice as probable
    by="terms"         every term is as probable as the others, however often it can be derived

Both may be bounded in depth and be constrained to connected terms: productions that cannot be
completed within the bounds, or whose `zero` would cut the last way from source to sink given the
edges before it, are left out, and the others share their probability.  A number of derivations can
have hundreds of digits; it stays a whole number.
"""

import random
from collections.abc import Sequence
from functools import cache

import numpy as np

from .counting import Counts, Number
from .derivation import derivations
from .grammar import ZERO, Grammar, is_symbol
from .term import Term

Rng = random.Random | np.random.Generator
WAYS = ("productions", "terms")
EITHER, ONLY_ZERO, NO_ZERO = (True, True), (True, False), (False, True)  # zero allowed, others


class Sampler:
    """Draws terms of one grammar, always under the same bounds.

    depth:     of the deepest terms; needed if the grammar is recursive
    connected: whether terms with a topology that `zero` disconnects are left out

    >>> from .grammar import grammar_from
    >>> grammar = grammar_from({"NET": ["Linear2(OP, OP)"], "OP": ["conv3", "zero"]})
    >>> str(Sampler(grammar, connected=True).draw(random.Random(0)))
    'Linear2(conv3, conv3)'
    """

    def __init__(
        self,
        grammar: Grammar,
        *,
        by: str = "productions",
        depth: int | None = None,
        connected: bool = False,
    ):
        if by not in WAYS:
            raise ValueError(f"by={by!r} is not known; choose one of {', '.join(WAYS)}")
        self.by, self.grammar = by, grammar if by == "productions" else grammar.unique()
        self.counts = Counts(self.grammar, depth=depth, connected=connected)
        self.choices = cache(self._choices)
        try:
            some = self.choices(grammar.start, self.depth, not connected)
        except RecursionError:
            raise ValueError(
                "the grammar is too long to count its terms: a symbol has a thousand productions, "
                "or becomes another one again and again; give it fewer"
            ) from None
        if not some:
            raise ValueError(
                f"there is no term of depth {self.counts.depth} or less"
                f"{' that is connected' if connected else ''}; allow a larger depth=…"
                f"{', or give productions without zero' if connected else ''}"
            )

    @property
    def depth(self) -> int:
        return self.counts.depth

    @property
    def connected(self) -> bool:
        return self.counts.connected

    def _choices(self, symbol: str, depth: int, zero: bool) -> int:
        """How many terms of a depth a symbol may become; zero: whether `zero` is one of them."""
        number = self.counts.distinct(frozenset({Term(symbol)}), depth)
        return _of(number, EITHER if zero else NO_ZERO)

    def draw(
        self,
        rng: Rng,
        symbol: str | None = None,
        *,
        depth: int | None = None,
        zero: bool | None = None,
    ) -> Term:
        """A term of the grammar, or what a symbol may become.

        depth: as in the sampler, or less
        zero:  whether it may be `zero` itself; None: unless the sampler gives connected terms
        """
        start = Term(symbol or self.grammar.start)
        kinds = EITHER if (not self.connected if zero is None else zero) else NO_ZERO
        depth = self.depth if depth is None else depth
        if start.head not in self.grammar.productions:
            known = ", ".join(self.grammar.productions)
            raise ValueError(f"there is no symbol {start.head!r}; there are {known}")
        if not self.choices(start.head, depth, kinds == EITHER):
            raise ValueError(f"{start.head} becomes no term of depth {depth}; allow a larger one")
        while True:
            term = self._expand(start, depth, kinds, rng)
            if self.by == "productions":
                return term
            if below(rng, derivations(self.grammar, term, start.head)) == 0:
                return term

    def _expand(self, pattern: Term, depth: int, kinds: tuple[bool, bool], rng: Rng) -> Term:
        if is_symbol(pattern):
            choices = self.grammar.productions[pattern.head]
            weights = [_of(self.counts.number(p, depth), kinds) for p in choices]
            if self.by == "productions":
                weights = [int(w > 0) for w in weights]
            return self._expand(choices[pick(rng, weights)], depth, kinds, rng)
        return self._fill(pattern, depth, rng) if pattern.args else pattern

    def _fill(self, pattern: Term, depth: int, rng: Rng) -> Term:
        """Choose what stands on the edges of a topology, one after another."""
        topology = self.grammar.topologies[pattern.head]
        numbers = tuple(self.counts.number(arg, depth - 1) for arg in pattern.args)
        removed, args = frozenset(), []
        for i, arg in enumerate(pattern.args):
            kinds = EITHER
            if self.connected:
                rest = numbers[i + 1 :]
                without = removed | {i}
                open_ = self.counts.allows(topology, without)
                ways = (
                    numbers[i].zero * self.counts.ways(topology, rest, without) if open_ else 0,
                    numbers[i].other * self.counts.ways(topology, rest, removed),
                )
                kinds = ways[0] > 0, ways[1] > 0
                if self.by == "terms":
                    kinds = (ONLY_ZERO, NO_ZERO)[pick(rng, ways)]
            args.append(self._expand(arg, depth - 1, kinds, rng))
            if args[-1].head == ZERO:
                removed |= {i}
        return Term(pattern.head, tuple(args))


def _of(number: Number, kinds: tuple[bool, bool]) -> int:
    return kinds[0] * number.zero + kinds[1] * number.other


def below(rng: Rng, n: int) -> int:
    """A random whole number from 0 to n − 1, for n of any size.

    >>> below(np.random.default_rng(0), 10**40) < 10**40
    True
    """
    if n < 1:
        raise ValueError(f"n={n} must be at least 1: there is nothing to draw from")
    if isinstance(rng, random.Random):
        return rng.randrange(n)
    if not isinstance(rng, np.random.Generator):
        raise ValueError(
            f"expected random.Random(seed) or numpy.random.default_rng(seed), got {rng!r}"
        )
    bits = (n - 1).bit_length()
    while bits:
        value = int.from_bytes(rng.bytes((bits + 7) // 8), "little") & ((1 << bits) - 1)
        if value < n:
            return value
    return 0


def pick(rng: Rng, weights: Sequence[int]) -> int:
    """A number from 0 on, as probable as its weight."""
    place = below(rng, sum(weights))
    for number, weight in enumerate(weights):
        place -= weight
        if place < 0:
            return number
    raise ValueError(f"expected weights of which one is positive, got {list(weights)}")
