"""How a grammar makes a term: which production at which place.

A term belongs to a grammar if it has a derivation.  There may be several, where productions are
listed twice or overlap; the first one is taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .grammar import Grammar, is_symbol
from .term import Path, Term

SHOWN = 60  # characters of a part in an error


@dataclass(frozen=True)
class Derivation:
    """A symbol, the production that replaced it, and the same for the symbols in that one."""

    symbol: str
    production: Term
    children: tuple["Derivation", ...]  # from left to right

    def occurrences(self, path: Path = ()) -> Iterator[tuple[Path, str]]:
        """Every symbol that was replaced, and the place of what it became, outer ones first."""
        yield path, self.symbol
        places = (place for place, part in self.production.parts() if is_symbol(part))
        for place, child in zip(places, self.children, strict=True):
            yield from child.occurrences((*path, *place))


def derive(grammar: Grammar, term: Term, symbol: str | None = None) -> Derivation | None:
    """The first derivation of a term from a symbol, the start if None; None if there is none.

    >>> from .grammar import grammar_from
    >>> from .term import parse_term
    >>> grammar = grammar_from({"NET": ["Linear2(OP, relu)"], "OP": ["conv3", "id"]})
    >>> list(derive(grammar, parse_term("Linear2(id, relu)")).occurrences())
    [((), 'NET'), ((0,), 'OP')]
    """
    known: dict[tuple[str, Term], Derivation | None] = {}

    def from_symbol(symbol: str, term: Term) -> Derivation | None:
        key = symbol, term
        if key not in known:
            known[key] = None
            for production in grammar.productions[symbol]:
                children = from_pattern(production, term)
                if children is not None:
                    known[key] = Derivation(symbol, production, tuple(children))
                    break
        return known[key]

    def from_pattern(pattern: Term, term: Term) -> list[Derivation] | None:
        if is_symbol(pattern):
            found = from_symbol(pattern.head, term)
            return None if found is None else [found]
        if (pattern.head, len(pattern.args)) != (term.head, len(term.args)):
            return None
        children = []
        for inner, part in zip(pattern.args, term.args, strict=True):
            found = from_pattern(inner, part)
            if found is None:
                return None
            children += found
        return children

    return from_symbol(symbol or grammar.start, term)


def derivations(grammar: Grammar, term: Term, symbol: str | None = None) -> int:
    """How many derivations a term has from a symbol, the start if None; 0 if it has none."""
    known: dict[tuple[Term, Term], int] = {}

    def ways(pattern: Term, term: Term) -> int:
        key = pattern, term
        if key not in known:
            known[key] = count(pattern, term)
        return known[key]

    def count(pattern: Term, term: Term) -> int:
        if is_symbol(pattern):
            return sum(ways(production, term) for production in grammar.productions[pattern.head])
        if (pattern.head, len(pattern.args)) != (term.head, len(term.args)):
            return 0
        product = 1
        for inner, part in zip(pattern.args, term.args, strict=True):
            product *= product and ways(inner, part)
        return product

    return ways(Term(symbol or grammar.start), term)


def checked_derivation(grammar: Grammar, term: Term) -> Derivation:
    """The derivation of a term, or a ValueError that says where it leaves the grammar."""
    found = derive(grammar, term)
    if found is None:
        symbol, part = _where_it_leaves(grammar, Term(grammar.start), term)
        text = str(part) if len(str(part)) <= SHOWN else f"{str(part)[:SHOWN]}…"
        choices = " | ".join(map(str, dict.fromkeys(grammar.productions[symbol])))
        raise ValueError(
            f"the term is not in the grammar: {text} is none of {symbol} -> {choices}; take terms "
            "from the grammar, or add a production"
        )
    return found


def _where_it_leaves(grammar: Grammar, pattern: Term, term: Term) -> tuple[str, Term]:
    """The innermost symbol that one would expect, and the part that it does not derive."""
    symbol = pattern.head
    fitting = [
        p
        for p in grammar.productions[symbol]
        if not is_symbol(p) and (p.head, len(p.args)) == (term.head, len(term.args))
    ]
    for production in fitting:
        for path, inner in production.parts():
            try:
                part = term.at(path)
            except IndexError:
                break  # another shape further inside
            if is_symbol(inner) and derive(grammar, part, inner.head) is None:
                return _where_it_leaves(grammar, inner, part)
    return symbol, term
