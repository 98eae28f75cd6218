"""Ways from source to sink, against all simple paths."""

from itertools import combinations

import pytest

from sciops.grammars.topology import TOPOLOGIES, Topology


def edges_on_paths(topology: Topology, removed: frozenset[int]) -> set[int]:
    """By listing every path."""
    found = set()

    def walk(node: int, path: tuple[int, ...]) -> None:
        if node == topology.sink:
            found.update(path)
        for i, (tail, head) in enumerate(topology.edges):
            if tail == node and i not in removed:
                walk(head, (*path, i))

    walk(1, ())
    return found


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_used_edges_are_those_on_paths(name):
    topology = TOPOLOGIES[name]
    for n in range(topology.arity + 1):
        for removed in map(frozenset, combinations(range(topology.arity), n)):
            used = topology.used(removed)
            assert set(used) == edges_on_paths(topology, removed)
            ready = {1}
            for i in used:  # an order of computation: all that enters a node comes before it leaves
                tail, head = topology.edges[i]
                assert tail in ready
                later = [topology.edges[k][1] for k in used[used.index(i) + 1 :]]
                assert tail not in later
                ready.add(head)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ((), "got none"),
        (((2, 1),), "got 2-1"),
        (((0, 1),), "got 0-1"),
        (((1, 2), (3, 4)), "edges 1-2, 3-4 are on no way from node 1 to node 4"),
        (((1, 3), (2, 3)), "edges 2-3 are on no way"),
        (((1, 3),), "no edge has node 2, and the sink is 3; number the nodes"),
        (((1, 2), (2, 10**15)), "no edge has node 3"),
    ],
)
def test_wrong_edges(edges, message):
    with pytest.raises(ValueError, match=message):
        Topology(edges)
