"""Terms of a grammar as candidates of studies."""

from dataclasses import dataclass
from functools import lru_cache

from numpy.random import Generator

from sciops.grammars.derivation import checked_derivation
from sciops.grammars.grammar import Grammar
from sciops.grammars.graphs import level_graphs
from sciops.grammars.labelled_graph import LabelledGraph
from sciops.grammars.sampling import Sampler
from sciops.grammars.term import Term, parse_term
from sciops.grammars.variation import crossover, mutate
from sciops.studies.candidates import CandidateSpace

KNOWN_GRAPHS = 50_000  # terms whose graphs are kept: evolution meets most of them many times


@dataclass(frozen=True)
class TermCandidates:
    """The terms of a grammar; it can be sent to other processes.

    depth:     of the deepest terms, needed if the grammar is recursive
    connected: whether terms with disconnected parts are left out
    """

    grammar: Grammar
    depth: int | None = None
    connected: bool = False

    @property
    def sampler(self) -> Sampler:
        """What draws terms within these bounds, made once in each process."""
        return _sampler(self.grammar, self.depth, self.connected)

    def space(self) -> CandidateSpace[Term]:
        """As studies want it; grammars without a term within the bounds are refused."""
        _ = self.sampler
        return CandidateSpace(self.sample, self.mutate, self.crossover, self.levels, str, self.read)

    def sample(self, rng: Generator) -> Term:
        return self.sampler.draw(rng)

    def mutate(self, term: Term, rng: Generator) -> Term:
        return mutate(term, self.sampler, rng)

    def crossover(self, first: Term, second: Term, rng: Generator) -> tuple[Term, Term]:
        return crossover(first, second, self.sampler, rng) or (first, second)

    def levels(self, term: Term) -> tuple[LabelledGraph, ...]:
        return _levels(term, self.grammar, self.depth if self.grammar.recursive else None)

    def read(self, text: str) -> Term:
        term = parse_term(text)
        checked_derivation(self.grammar, term)
        return term


@lru_cache(maxsize=16)
def _sampler(grammar: Grammar, depth: int | None, connected: bool) -> Sampler:
    return Sampler(grammar, depth=depth, connected=connected)


@lru_cache(maxsize=KNOWN_GRAPHS)
def _levels(term: Term, grammar: Grammar, levels: int | None) -> tuple[LabelledGraph, ...]:
    return tuple(level_graphs(term, grammar, levels=levels))
