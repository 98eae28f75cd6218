"""Terms print, parse, compare and hash; texts that are no terms say where and why."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciops.grammars.term import MAX_DEPTH, MAX_SIZE, Term, parse_term

NAMES = st.sampled_from(["conv3", "id", "Linear2", "a_b", "X"])
TERMS = st.recursive(
    st.builds(Term, NAMES),
    lambda inner: st.builds(Term, NAMES, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    max_leaves=12,
)


@given(TERMS)
def test_text_round_trip(term):
    again = parse_term(str(term))
    assert again == term and hash(again) == hash(term)
    assert parse_term(str(term).replace(", ", " ,\n ").replace("(", " ( ")) == term


def test_the_term_of_the_paper():
    text = "Linear(Residual(conv, id, conv), Residual(conv, id, conv), fc)"
    term = parse_term(text)
    assert str(term) == text
    assert (term.depth, term.size) == (3, 10)
    assert term.args[0] == term.args[1] != term.args[2]


@given(TERMS)
def test_parts_are_where_they_say(term):
    parts = dict(term.parts())
    assert len(parts) == term.size
    assert all(term.at(path) == part for path, part in parts.items())
    assert all(term.replaced(path, Term("new")).at(path) == Term("new") for path in parts)
    assert all(term.replaced(path, part) == term for path, part in parts.items())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"position 0: expected a name, got the end of the text"),
        ("conv3)", r"position 5: expected the end of the term, got '\)'; remove"),
        ("Linear2(conv3", r"position 13: expected ',' or '\)', got the end .* close .* Linear2"),
        ("Linear2(conv3 relu)", r"position 14: expected ',' or '\)', got 'relu\)'"),
        ("Linear2(, relu)", r"position 8: expected a name, got ', relu\)'"),
        ("Linear2()", r"position 8: expected a name"),
        ("3conv", r"position 0: expected a name"),
        ("L(" * 5000, rf"at most {MAX_DEPTH} nested heads"),
        (
            "L(" + "a," * MAX_SIZE + "?)",
            f"position {2 * MAX_SIZE}: expected at most {MAX_SIZE} heads",
        ),
    ],
    ids=lambda text: text[:30],
)
def test_mistakes_in_texts(text, message):
    with pytest.raises(ValueError, match=message):
        parse_term(text)


def test_terms_too_deep_or_too_large_do_not_exist():
    term = Term("x")
    with pytest.raises(ValueError, match=f"depth {MAX_DEPTH + 1}"):
        for _ in range(MAX_DEPTH):
            term = Term("Linear1", (term,))
    term = Term("x")
    with pytest.raises(ValueError, match=f"{MAX_SIZE} are allowed"):
        for _ in range(40):
            term = Term("Linear2", (term, term))


def test_wrong_heads_and_arguments():
    with pytest.raises(ValueError, match="parse_term reads"):
        Term("Linear2(conv3, id)")
    with pytest.raises(ValueError, match="tuple of terms"):
        Term("Linear1", ("conv3",))


def test_a_pickled_term_is_the_same_in_a_process_with_other_hashes():
    """Hashes of text differ from process to process; that of a term is made anew there."""
    make = "import pickle, sys; from sciops.grammars import parse_term; "
    dump = make + "sys.stdout.write(pickle.dumps(parse_term('Linear2(conv3, relu)')).hex())"
    load = make + (
        "term = pickle.loads(bytes.fromhex(sys.argv[1])); "
        "print(term in {parse_term('Linear2(conv3, relu)')})"
    )

    def told(program: str, seed: str, *more: str) -> str:
        env = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program, *more]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    assert told(load, "2", told(dump, "1")).strip() == "True"
