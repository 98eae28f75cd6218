"""Small grammars of every kind, by name."""

from sciops.grammars.grammar import Grammar, parse_grammar

TEXTS = {
    "plain": "A -> Linear2(B, B) | Residual2(B, id, B)\nB -> conv3 | relu | id",
    "duplicates": "A -> Linear2(B, B) | Linear2(B, B)\nB -> conv3 | conv3 | id",
    "zeros": "A -> Linear2(B, relu) | B\nB -> Residual2(C, C, C) | conv3\n"
    "C -> zero | id | D | zero\nD -> Linear1(conv3)",
    "overlapping": "A -> Linear2(B, C) | Linear2(C, B) | Linear2(B, B)\nB -> conv3 | id\n"
    "C -> id | relu | B",
    "units": "A -> B | C | Linear1(B)\nB -> conv3 | C\nC -> id | relu",
    "nested": "A -> Linear2(Residual2(B, zero, B), B) | Linear2(B, conv3)\nB -> conv3 | zero | id",
    "recursive": "A -> Linear2(A, B) | Parallel2(B, B) | B\nB -> conv3 | zero",
}
DEPTHS = {"recursive": 4}


def toy(name: str) -> tuple[Grammar, int | None]:
    """A grammar, and the depth of its terms if it must be bounded."""
    return parse_grammar(TEXTS[name]), DEPTHS.get(name)
