"""Grammars: spaces of architectures as algebra.  Nothing here builds a network."""

from .counting import size
from .derivation import derive
from .grammar import Grammar, grammar_from, parse_grammar
from .graphs import hierarchy, level_graphs, term_graph
from .labelled_graph import LabelledGraph
from .listing import all_terms
from .motifs import with_motif
from .ready import ReadySpace, ready_space
from .sampling import Sampler
from .term import Term, parse_term
from .topology import Topology
from .variation import crossover, mutate

__all__ = [
    "Grammar",
    "LabelledGraph",
    "ReadySpace",
    "Sampler",
    "Term",
    "Topology",
    "all_terms",
    "crossover",
    "derive",
    "grammar_from",
    "hierarchy",
    "level_graphs",
    "mutate",
    "parse_grammar",
    "parse_term",
    "ready_space",
    "size",
    "term_graph",
    "with_motif",
]
