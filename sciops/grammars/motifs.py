"""Shared motifs: a part that is the same everywhere, as the cell of a cell-based space.

    Shared(network, part)      stands for the network with the part at every `motif`

A second grammar makes the part.  Joined, both are one grammar, so that sizes, samples, mutation and
crossover need to know nothing about it.  Weights are not shared, only the architecture.
"""

from .grammar import Grammar, parse_grammar
from .term import Term

SHARED, MOTIF = "Shared", "motif"


def with_motif(network: Grammar, part: Grammar, *, start: str = "SHARED") -> Grammar:
    """One grammar of networks that contain the primitive `motif`, and of what it stands for.

    >>> network = parse_grammar("NET -> Linear2(motif, motif)")
    >>> print(with_motif(network, parse_grammar("CELL -> conv3 | id")))
    SHARED -> Shared(NET, CELL)
    NET -> Linear2(motif, motif)
    CELL -> conv3 | id
    """
    if MOTIF not in network.primitives:
        raise ValueError(
            f"the grammar of networks has no primitive {MOTIF!r}; write it where the part belongs"
        )
    both = {start} | set(network.productions) & set(part.productions)
    twice = sorted((both - {start}) | ({start} & {*network.productions, *part.productions}))
    if twice:
        raise ValueError(f"both grammars have the symbol {twice[0]}; rename it in one of them")
    for name in set(network.topologies) & set(part.topologies):
        if network.topologies[name] != part.topologies[name]:
            raise ValueError(f"both grammars have a topology {name}, with other edges; rename one")
    own = [line for g in (network, part) for line in str(g).splitlines() if "->" not in line]
    rules = [line for g in (network, part) for line in str(g).splitlines() if "->" in line]
    first = f"{start} -> {SHARED}({network.start}, {part.start})"
    return parse_grammar("\n".join([*dict.fromkeys(own), first, *rules]))


def expanded(term: Term) -> Term:
    """A term without `Shared`: its motif in all its places.

    >>> from .term import parse_term
    >>> str(expanded(parse_term("Shared(Linear2(motif, motif), Parallel2(conv3, id))")))
    'Linear2(Parallel2(conv3, id), Parallel2(conv3, id))'
    """
    if all(part.head != SHARED for _, part in term.parts()):
        return term
    if term.head == SHARED:
        network, part = map(expanded, term.args)
        return _substituted(network, part)
    return Term(term.head, tuple(map(expanded, term.args)))


def _substituted(network: Term, part: Term) -> Term:
    if network == Term(MOTIF):
        return part
    return Term(network.head, tuple(_substituted(arg, part) for arg in network.args))
