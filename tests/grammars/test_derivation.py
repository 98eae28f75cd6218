"""Which terms are in a grammar, how they were made, and where others leave it."""

import pytest

from sciops.grammars.derivation import checked_derivation, derivations, derive
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.term import parse_term
from tests.grammars.grammar_toys import TEXTS, toy
from tests.grammars.test_listing import listed

TEXT = "A -> Linear2(B, B) | B\nB -> conv3 | C | Linear1(C)\nC -> id | relu | id"


@pytest.mark.parametrize("name", TEXTS)
def test_every_part_comes_from_its_symbol(name):
    grammar, depth = toy(name)
    for term in listed(grammar, depth):
        for path, symbol in derive(grammar, term).occurrences():
            assert derive(grammar, term.at(path), symbol) is not None


def test_symbols_that_become_symbols_are_both_there():
    grammar = parse_grammar(TEXT)
    found = list(derive(grammar, parse_term("Linear2(relu, Linear1(id))")).occurrences())
    assert found == [
        ((), "A"), ((0,), "B"), ((0,), "C"), ((1,), "B"), ((1, 0), "C"),
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "ways"), [("id", 2), ("Linear2(id, id)", 4), ("zero", 0)])
def test_number_of_derivations(text, ways):
    assert derivations(parse_grammar(TEXT), parse_term(text)) == ways


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Linear3(id, id, id)", r"Linear3\(id, id, id\) is none of A -> Linear2\(B, B\) \| B"),
        ("Linear2(id, pool)", r"pool is none of B -> conv3 \| C \| Linear1\(C\)"),
        ("Linear2(id, Linear1(conv3))", r"conv3 is none of C -> id \| relu;"),
    ],
)
def test_where_a_term_leaves_the_grammar(text, message):
    grammar = parse_grammar(TEXT)
    assert derive(grammar, parse_term(text)) is None
    with pytest.raises(ValueError, match=message):
        checked_derivation(grammar, parse_term(text))
