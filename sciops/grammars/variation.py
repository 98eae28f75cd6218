"""Mutation and crossover of terms.

Both replace what a symbol became by something else that it may become, so every child is in the
grammar; bounds of depth and the constraint of connected terms are those of the sampler.
"""

from functools import lru_cache
from typing import NamedTuple

from .connectivity import is_connected, may_be_zero
from .derivation import checked_derivation
from .grammar import ZERO
from .sampling import Rng, Sampler, below
from .term import Path, Term

TRIES = 50  # to draw another part
WALKS = 1000


class Site(NamedTuple):
    """A symbol of a term's derivation that could have become something else."""

    path: Path
    symbol: str
    zero: bool  # whether it may become `zero`


@lru_cache(maxsize=1024)
def sites(term: Term, sampler: Sampler) -> tuple[Site, ...]:
    """Where a term can be changed, outer places first."""
    return tuple(
        site
        for site in _occurrences(term, sampler)
        if sampler.choices(site.symbol, sampler.depth - len(site.path), site.zero) > 1
    )


@lru_cache(maxsize=1024)
def _occurrences(term: Term, sampler: Sampler) -> tuple[Site, ...]:
    """Every symbol of the derivation; populations ask for the same terms again and again."""
    _check_bounds(term, sampler)
    found = checked_derivation(sampler.grammar, term).occurrences()
    return tuple(Site(path, s, _may_be_zero(term, path, s, sampler)) for path, s in found)


def _may_be_zero(term: Term, path: Path, symbol: str, sampler: Sampler) -> bool:
    with_zero, without = (sampler.choices(symbol, sampler.depth, zero) for zero in (True, False))
    if with_zero == without:
        return False
    return not sampler.connected or may_be_zero(term, path, sampler.grammar.topologies)


def _check_bounds(term: Term, sampler: Sampler) -> None:
    if term.depth > sampler.depth:
        raise ValueError(
            f"the term has depth {term.depth}, the sampler allows {sampler.depth}; make one with "
            "a larger depth=…"
        )
    if sampler.connected and not is_connected(term, sampler.grammar.topologies):
        raise ValueError("a part of the term is disconnected; use a sampler with connected=False")


def mutate(term: Term, sampler: Sampler, rng: Rng) -> Term:
    """Another term: of n sites each is drawn anew with probability 1/n, one at least.

    Behind a change the sites, and n, are those of the new term.
    """
    if not sites(term, sampler):
        raise ValueError(f"the grammar allows no other term than {term}; it cannot be mutated")
    for _ in range(WALKS):
        child = _walked(term, sampler, rng)
        if child != term:
            return child
    raise ValueError(f"no other term than {term} was drawn in {WALKS} attempts; see all_terms")


def _walked(term: Term, sampler: Sampler, rng: Rng) -> Term:
    left, number = sites(term, sampler), 0
    while number < len(left):
        if below(rng, len(left)) == 0:
            term = _redrawn(term, left[number], sampler, rng)
            left = sites(term, sampler)
        number += 1
    return term


def _redrawn(term: Term, site: Site, sampler: Sampler, rng: Rng) -> Term:
    """The term with another part at a site; the same one if no other is drawn soon."""
    old, depth = term.at(site.path), sampler.depth - len(site.path)
    for _ in range(TRIES):
        new = sampler.draw(rng, site.symbol, depth=depth, zero=site.zero)
        if new != old:
            return term.replaced(site.path, new)
    return term


def crossover(first: Term, second: Term, sampler: Sampler, rng: Rng) -> tuple[Term, Term] | None:
    """Both terms with parts exchanged that the same symbol became; None if there are no such parts.

    The place in the first term is drawn first, and is never its root; then one of all places that
    fit in the second.  Parts are never the same, so both children differ from their parents.
    """
    mine = [site for site in _occurrences(first, sampler) if site.path]
    theirs = [site for site in _occurrences(second, sampler) if site.path]
    while mine:
        one = mine.pop(below(rng, len(mine)))
        fitting = [s for s in theirs if _exchangeable(first, one, second, s, sampler.depth)]
        if fitting:
            other = fitting[below(rng, len(fitting))]
            here, there = first.at(one.path), second.at(other.path)
            return first.replaced(one.path, there), second.replaced(other.path, here)
    return None


def _exchangeable(first: Term, one: Site, second: Term, other: Site, depth: int) -> bool:
    if one.symbol != other.symbol:
        return False
    here, there = first.at(one.path), second.at(other.path)
    return (
        here != there
        and len(one.path) + there.depth <= depth
        and len(other.path) + here.depth <= depth
        and (one.zero or there.head != ZERO)
        and (other.zero or here.head != ZERO)
    )
