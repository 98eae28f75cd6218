"""The constraint that nothing is disconnected.

`zero` on an edge removes it.  A topology is connected if edges are left that lead from its source
to its sink, and a term is if all its topologies are and it is not `zero` itself.
"""

from collections.abc import Mapping

from .grammar import ZERO
from .term import Path, Term
from .topology import Topology


def is_connected(term: Term, topologies: Mapping[str, Topology]) -> bool:
    """Whether every topology in a term has a way from source to sink.

    >>> from .term import parse_term
    >>> from .topology import TOPOLOGIES
    >>> texts = "Residual2(zero, conv3, zero)", "Residual2(conv3, zero, zero)"
    >>> [is_connected(parse_term(text), TOPOLOGIES) for text in texts]
    [True, False]
    """
    return term.head != ZERO and all(
        has_a_way(part, topologies) for _, part in term.parts() if part.args
    )


def may_be_zero(term: Term, path: Path, topologies: Mapping[str, Topology]) -> bool:
    """Whether a connected term stays so with `zero` at a place."""
    if not path:
        return False
    parent = term.at(path[:-1])
    return bool(topologies[parent.head].used(zeros(parent) | {path[-1]}))


def has_a_way(part: Term, topologies: Mapping[str, Topology]) -> bool:
    """Whether edges without `zero` lead from the source of a topology to its sink."""
    return bool(topologies[part.head].used(zeros(part)))


def zeros(part: Term) -> frozenset[int]:
    """Numbers of the arguments that are `zero`."""
    return frozenset([i for i, arg in enumerate(part.args) if arg.head == ZERO])


def without_dead_parts(term: Term, topologies: Mapping[str, Topology]) -> Term:
    """With `zero` for topologies that have no way from source to sink."""
    if not term.args:
        return term
    args = tuple(without_dead_parts(arg, topologies) for arg in term.args)
    if any(new is not old for new, old in zip(args, term.args, strict=True)):
        term = Term(term.head, args)
    return term if has_a_way(term, topologies) else Term(ZERO)
