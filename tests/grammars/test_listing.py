"""All terms, against a list that is made by replacing symbols one at a time."""

import pytest

from sciops.grammars.connectivity import is_connected
from sciops.grammars.grammar import Grammar, is_symbol
from sciops.grammars.listing import all_terms
from sciops.grammars.ready import ready_space
from sciops.grammars.term import Term
from tests.grammars.grammar_toys import TEXTS, toy


def listed(grammar: Grammar, depth: int | None) -> list[Term]:
    """Every distinct term, by rewriting the first symbol in every way until there is none."""
    done, open_, seen = {}, [Term(grammar.start)], set()
    while open_:
        term = open_.pop()
        path = next((p for p, part in term.parts() if is_symbol(part)), None)
        if path is None:
            done[term] = None
            continue
        for production in grammar.productions[term.at(path).head]:
            new = term.replaced(path, production)
            if new not in seen and (depth is None or new.depth <= depth):
                seen.add(new)
                open_.append(new)
    return list(done)


@pytest.mark.parametrize("name", TEXTS)
def test_all_terms_once(name):
    grammar, depth = toy(name)
    expected = listed(grammar, depth)
    found = list(all_terms(grammar, depth=depth))
    assert len(found) == len(set(found)) and set(found) == set(expected)
    connected = {t for t in expected if is_connected(t, grammar.topologies)}
    assert set(all_terms(grammar, depth=depth, connected=True)) == connected


def test_large_grammars_are_not_listed():
    with pytest.raises(ValueError, match=r"3.9e\+08 terms, more than the 1000000"):
        next(all_terms(ready_space("activations").grammar))
    with pytest.raises(ValueError, match="more than 10"):
        next(all_terms(ready_space("nasbench201-hierarchical").grammar))
