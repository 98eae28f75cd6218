"""Small terms as nested tuples: a macro of three blocks, each a topology of two operations."""

import ast

from sciops.grammars.candidates import CandidateSpace
from sciops.grammars.labelled_graph import LabelledGraph

MACROS, BLOCKS = ("chain", "ladder"), ("line", "residual")
OPERATIONS = ("conv", "fourier", "pool", "xd")
COST = {"conv": 1.0, "fourier": 0.6, "pool": 2.0, "xd": 0.0}


def sample(rng):
    return (MACROS[rng.integers(2)], *(sample_block(rng) for _ in range(3)))


def sample_block(rng):
    chosen = (OPERATIONS[i] for i in rng.integers(4, size=2))
    return (BLOCKS[rng.integers(2)], *chosen)


def mutate(term, rng):
    """Something else at one place."""
    while True:
        place = rng.integers(4)
        new = MACROS[rng.integers(2)] if place == 0 else sample_block(rng)
        child = (*term[:place], new, *term[place + 1 :])
        if child != term:
            return child


def crossover(one, other, rng):
    i, j = 1 + rng.integers(3, size=2)
    return (*one[:i], other[j], *one[i + 1 :]), (*other[:j], one[i], *other[j + 1 :])


def levels(term):
    """The macro, the macro of topologies, and the full graph of operations."""
    macro, *blocks = term
    coarse = LabelledGraph(("in", macro, "out"), ((0, 1), (1, 2)))
    return [coarse, wired(macro, [[b[0]] for b in blocks]), full_graph(term)]


def full_graph(term):
    macro, *blocks = term
    return wired(macro, [list(b[1:]) for b in blocks], [b[0] == "residual" for b in blocks])


def wired(macro, blocks, residual=(False,) * 3):
    """Blocks of nodes one after the other, each fed by the block before, ladders skipping one."""
    labels, edges, ends = ["in"], [], [0]
    for block, skips in zip(blocks, residual, strict=True):
        start, before = len(labels), ends[-1]
        labels += block
        edges += [(i, i + 1) for i in range(start, len(labels) - 1)] + [(before, start)]
        edges += [(before, len(labels) - 1)] if skips else []
        edges += [(ends[-2], start)] if macro == "ladder" and len(ends) > 1 else []
        ends.append(len(labels) - 1)
    return LabelledGraph((*labels, "out"), (*edges, (ends[-1], len(labels))))


def objective(term):
    """Known everywhere; the least is 0, of ("ladder", ("residual", "xd", "xd") × 3)."""
    macro, *blocks = term
    cost = sum(
        COST[first] + COST[second] + (0.5 if kind == "line" else 0.0)
        for kind, first, second in blocks
    )
    return cost + (0.7 if macro == "chain" else 0.0)


def space():
    return CandidateSpace(sample, mutate, crossover, levels, repr, ast.literal_eval)
