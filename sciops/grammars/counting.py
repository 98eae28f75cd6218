"""How many terms a grammar has: exact whole numbers, however large.

Derivations are counted, so a production that is listed twice counts twice,

    N(A) = Σ over productions of A of N(production),      N(T(p₁, …, pₖ)) = Π N(pᵢ)

or distinct terms, by inclusion and exclusion over the productions,

    |∪ᵢ Lᵢ| = |L₁| + |L₂ ∪ …| − |L₁ ∩ (L₂ ∪ …)|

where an intersection of T(p₁, …) and T(q₁, …) is again a product, and one of other heads is empty.

`connected` terms are those of which every topology has a way from source to sink without `zero`.  A
number then has two parts: how many are `zero` itself, and how many others.
"""

from functools import cache
from typing import NamedTuple

from .grammar import ZERO, Grammar, is_symbol
from .term import MAX_DEPTH, Term
from .topology import Topology

MAX_REMOVABLE = 16  # edges of a topology, a second for 2¹⁶ sets of them; a cell of DARTS has 14
MAX_BITS = 2**16  # of a number; spaces of more terms have some that are larger than any network


class Number(NamedTuple):
    """How many terms are `zero`, and how many are something else."""

    zero: int
    other: int

    @property
    def total(self) -> int:
        return self.zero + self.other

    def plus(self, more: "Number", sign: int = 1) -> "Number":
        return Number(self.zero + sign * more.zero, self.other + sign * more.other)


NONE = Number(0, 0)


class Counts:
    """Numbers of terms of every pattern of a grammar.

    depth:     terms may have no more; None if the grammar has terms of finitely many depths only
    connected: whether every topology must have a way without `zero`
    """

    def __init__(self, grammar: Grammar, *, depth: int | None = None, connected: bool = False):
        if depth is None and grammar.recursive:
            raise ValueError(
                "the grammar is recursive and has infinitely many terms; say how deep they may be "
                "with depth=…"
            )
        if depth is not None and (not isinstance(depth, int) or not 1 <= depth <= MAX_DEPTH):
            raise ValueError(f"depth={depth!r} must be a whole number from 1 to {MAX_DEPTH}")
        self.grammar, self.connected = grammar, connected
        self.depth = MAX_DEPTH if depth is None else depth
        self.number = cache(self._number)
        self.distinct = cache(self._distinct)
        self.ways = cache(self._ways)

    def _number(self, pattern: Term, depth: int) -> Number:
        """Derivations of terms of this depth at most."""
        if depth < 1:
            return NONE
        if is_symbol(pattern):
            total = NONE
            for production in self.grammar.productions[pattern.head]:
                total = total.plus(self.number(production, depth))
            return total
        if not pattern.args:
            return Number(1, 0) if pattern.head == ZERO else Number(0, 1)
        numbers = tuple(self.number(arg, depth - 1) for arg in pattern.args)
        return Number(0, self.ways(self.grammar.topologies[pattern.head], numbers))

    def _distinct(self, patterns: frozenset[Term], depth: int) -> Number:
        """Terms of this depth at most that all of these patterns have in common."""
        if depth < 1:
            return NONE
        symbol = next((p for p in sorted(patterns, key=str) if is_symbol(p)), None)
        if symbol is not None:
            productions = tuple(dict.fromkeys(self.grammar.productions[symbol.head]))
            return self._union(productions, patterns - {symbol}, depth)
        first = next(iter(patterns))
        if any((p.head, len(p.args)) != (first.head, len(first.args)) for p in patterns):
            return NONE
        if not first.args:
            return Number(1, 0) if first.head == ZERO else Number(0, 1)
        numbers = tuple(
            self.distinct(frozenset(same), depth - 1)
            for same in zip(*(p.args for p in patterns), strict=True)
        )
        return Number(0, self.ways(self.grammar.topologies[first.head], numbers))

    def _union(self, choices: tuple[Term, ...], within: frozenset[Term], depth: int) -> Number:
        """Terms that one of the choices has, and all of the others."""
        if not choices:
            return NONE
        first, rest = choices[0], choices[1:]
        mine, theirs = self.distinct(within | {first}, depth), self._union(rest, within, depth)
        if mine.total == 0:
            return theirs
        both = self._union(rest, within | {first}, depth)
        return mine.plus(theirs).plus(both, -1)

    def _ways(
        self, topology: Topology, numbers: tuple[Number, ...], removed: frozenset[int] = frozenset()
    ) -> int:
        """Ways to fill the edges behind those that are decided, of which some were removed.

        numbers: of the edges that are still open, the last ones of the topology
        """
        decided = topology.arity - len(numbers)
        if not numbers:
            return int(self.allows(topology, removed))
        zero, other = numbers[0]
        if not decided and self.connected:
            _check_removable(numbers)
        if not self.connected:
            return _bounded((zero + other) * self.ways(topology, numbers[1:]))
        ways = other * self.ways(topology, numbers[1:], removed) if other else 0
        if zero and self.allows(topology, removed | {decided}):
            ways += zero * self.ways(topology, numbers[1:], removed | {decided})
        return _bounded(ways)

    def allows(self, topology: Topology, removed: frozenset[int]) -> bool:
        """Whether a way from source to sink is left, or need not be."""
        return not self.connected or bool(topology.used(removed))


def _check_removable(numbers: tuple[Number, ...]) -> None:
    """Every set of edges that may be removed is looked at."""
    removable = sum(1 for zero, other in numbers if zero and other)
    if removable > MAX_REMOVABLE:
        raise ValueError(
            f"a topology with {removable} edges that may be {ZERO}, and at most {MAX_REMOVABLE} "
            "are allowed where nothing may be disconnected; give some of them symbols without it"
        )


def _bounded(ways: int) -> int:
    if ways.bit_length() > MAX_BITS:
        raise ValueError(
            f"the grammar has more than 10^{int(MAX_BITS * 0.30103)} terms, too many to count; "
            "allow a smaller depth=…, or give topologies fewer symbols"
        )
    return ways


def size(
    grammar: Grammar,
    *,
    distinct: bool = False,
    connected: bool = False,
    depth: int | None = None,
) -> int:
    """How many derivations a grammar has, or how many distinct terms.

    depth: of the deepest terms; needed if the grammar is recursive

    >>> from .grammar import grammar_from
    >>> choices = ["conv3", "conv3", "zero"]
    >>> grammar = grammar_from({"NET": ["Residual2(OP, OP, OP)"], "OP": choices})
    >>> size(grammar), size(grammar, distinct=True), size(grammar, distinct=True, connected=True)
    (27, 8, 5)
    """
    counts, start = Counts(grammar, depth=depth, connected=connected), Term(grammar.start)
    if distinct:
        number = counts.distinct(frozenset({start}), counts.depth)
    else:
        number = counts.number(start, counts.depth)
    return number.other if connected else number.total
