"""What `zero` disconnects."""

import pytest

from sciops.grammars.connectivity import is_connected, may_be_zero, without_dead_parts
from sciops.grammars.term import parse_term
from sciops.grammars.topology import TOPOLOGIES


@pytest.mark.parametrize(
    ("text", "connected", "pruned"),
    [
        ("conv3", True, "conv3"),
        ("zero", False, "zero"),
        ("Linear2(conv3, zero)", False, "zero"),
        ("Residual2(conv3, id, zero)", True, "Residual2(conv3, id, zero)"),
        ("Residual2(zero, zero, conv3)", False, "zero"),
        ("Parallel2(Linear1(zero), id)", False, "Parallel2(zero, id)"),
        ("Linear2(Parallel2(zero, Linear1(zero)), id)", False, "zero"),
        ("Cell(zero, zero, id, zero, conv3, conv3)", False, "zero"),
        ("Cell(id, zero, zero, zero, conv3, conv3)", True, None),
    ],
)
def test_terms(text, connected, pruned):
    term = parse_term(text)
    assert is_connected(term, TOPOLOGIES) == connected
    assert without_dead_parts(term, TOPOLOGIES) == parse_term(pruned or text)


def test_where_zero_may_be():
    term = parse_term("Residual2(conv3, zero, Parallel2(id, id))")
    places = [path for path, _ in term.parts() if may_be_zero(term, path, TOPOLOGIES)]
    assert places == [(1,), (2, 0), (2, 1)]
    for path, _ in term.parts():
        changed = term.replaced(path, parse_term("zero"))
        assert may_be_zero(term, path, TOPOLOGIES) == is_connected(changed, TOPOLOGIES)
