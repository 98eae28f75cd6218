"""Every term of a small grammar, one by one."""

from collections.abc import Callable, Iterator

from .counting import Counts, size
from .grammar import ZERO, Grammar, is_symbol
from .term import Term

MOST_LISTED = 1_000_000


def all_terms(
    grammar: Grammar,
    *,
    depth: int | None = None,
    connected: bool = False,
) -> Iterator[Term]:
    """Every distinct term, in the order of the productions; for small grammars.

    >>> from .grammar import grammar_from
    >>> grammar = grammar_from({"NET": ["Linear2(OP, relu)", "OP"], "OP": ["conv3", "id"]})
    >>> [str(term) for term in all_terms(grammar)]
    ['Linear2(conv3, relu)', 'Linear2(id, relu)', 'conv3', 'id']
    """
    number = size(grammar.unique(), depth=depth, connected=connected)
    if number > MOST_LISTED:
        raise ValueError(
            f"the grammar has about {number:.1e} terms, more than the {MOST_LISTED} that are "
            "listed; draw some with Sampler"
            if number < 10**300
            else "the grammar has more than 10^300 terms; draw some with Sampler"
        )
    counts = Counts(grammar.unique(), depth=depth, connected=connected)
    seen = set()
    for term in _list(counts, Term(grammar.start), counts.depth):
        if term not in seen and not (connected and term.head == ZERO):
            seen.add(term)
            yield term


def _list(counts: Counts, pattern: Term, depth: int) -> Iterator[Term]:
    if counts.number(pattern, depth).total == 0:
        return
    if is_symbol(pattern):
        for production in counts.grammar.productions[pattern.head]:
            yield from _list(counts, production, depth)
    elif not pattern.args:
        yield pattern
    else:
        topology = counts.grammar.topologies[pattern.head]
        for args in _lists(lambda arg: _list(counts, arg, depth - 1), pattern.args):
            zeros = frozenset(i for i, arg in enumerate(args) if arg.head == ZERO)
            if counts.allows(topology, zeros):
                yield Term(pattern.head, args)


def _lists(
    choices: Callable[[Term], Iterator[Term]], patterns: tuple[Term, ...]
) -> Iterator[tuple[Term, ...]]:
    """Every tuple of one choice for each pattern, the last one changing fastest."""
    if not patterns:
        yield ()
        return
    for first in choices(patterns[0]):
        for rest in _lists(choices, patterns[1:]):
            yield (first, *rest)
