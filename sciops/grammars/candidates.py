"""What strategies need to know of the candidates they search: how to draw, change and compare them.

Candidates are of any type that can be compared and hashed, such as terms of a grammar.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from numpy.random import Generator

from .labelled_graph import LabelledGraph

C = TypeVar("C")
KERNELS = ("hierarchical", "flat")  # compare all levels of candidates, or the full graphs


@dataclass(frozen=True)
class CandidateSpace(Generic[C]):
    """A space of candidates; all chance comes from the generator given.

    sample:     a new candidate
    mutate:     a candidate near another one
    crossover:  two children of two parents; the parents, where nothing can be exchanged
    levels:     the graphs of a candidate from coarse to fine; the last is the full graph
    write:      a candidate as text
    read:       the candidate of a text; read(write(c)) == c
    """

    sample: Callable[[Generator], C]
    mutate: Callable[[C, Generator], C]
    crossover: Callable[[C, C, Generator], tuple[C, C]]
    levels: Callable[[C], Sequence[LabelledGraph]]
    write: Callable[[C], str]
    read: Callable[[str], C]


@dataclass(frozen=True)
class Trial(Generic[C]):
    """A candidate and its score, the less the better; inf for one that failed."""

    candidate: C
    score: float
