"""Grammars as text and from Python; each mistake names its line, its symbol and a remedy."""

import time

import numpy as np
import pytest

from sciops.grammars.grammar import grammar_from, parse_grammar
from sciops.grammars.term import parse_term

TEXT = """
# a comment
Twig = 1-2 1-3 2-3

NET   -> Linear2(BLOCK, BLOCK) | Twig(BLOCK, id, BLOCK)
BLOCK -> Linear2(OP, relu)
OP    -> conv3 | conv3   # twice
       | id
"""


def test_text_and_python_say_the_same():
    grammar = parse_grammar(TEXT)
    assert grammar.start == "NET"
    assert grammar.primitives == ("conv3", "id", "relu")
    assert [str(p) for p in grammar.productions["OP"]] == ["conv3", "conv3", "id"]
    assert [str(p) for p in grammar.unique().productions["OP"]] == ["conv3", "id"]
    rules = {
        "NET": ["Linear2(BLOCK, BLOCK)", "Twig(BLOCK, id, BLOCK)"],
        "BLOCK": ["Linear2(OP, relu)"],
        "OP": ["conv3", "conv3", "id"],
    }
    same = grammar_from(rules, {"Twig": ((1, 2), (1, 3), (2, 3))})
    assert str(same) == str(grammar) == str(parse_grammar(str(grammar)))
    assert same.topologies == grammar.topologies and set(same.topologies) == {"Linear2", "Twig"}


def test_productions_of_a_symbol_may_be_spread():
    grammar = parse_grammar("A -> Linear2(B, B)\nB -> conv3\nB -> id")
    assert grammar.productions["B"] == (parse_term("conv3"), parse_term("id"))


def test_recursion_is_known():
    assert parse_grammar("A -> Linear2(A, conv3) | conv3").recursive
    assert not parse_grammar(TEXT).recursive


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "without productions; write at least one"),
        ("A -> conv3\nwhat", r"line 2: expected SYMBOL -> term .* got 'what'"),
        ("| conv3", "line 1: expected SYMBOL"),
        ("net -> conv3", "line 1: expected a symbol in CAPITALS .* got 'net'"),
        ("A -> conv3 |", "line 1: production 2 of A, position 0: expected a name"),
        ("A -> conv3\nA -> Linear2(conv3", r"line 2: production 1 of A, position 13: .* close"),
        ("A -> Linear1(B)", "line 1: in a production of A, B is a symbol without .* add B ->"),
        ("A -> B(conv3)\nB -> id", "line 1: .* B is a symbol and takes no arguments"),
        ("A -> Fork(conv3)", "line 1: .* Fork has arguments but is no topology; .* Fork = 1-2"),
        ("A -> Linear2", "line 1: .* Linear2 is a topology and needs 2 arguments"),
        ("A -> Linear2(conv3)", "line 1: .* Linear2 has 1 arguments, but 2 edges"),
        ("A -> id\nB -> conv3", "line 2: B cannot be reached from the start, A"),
        ("A -> Linear1(A)", "line 1: A never ends"),
        ("A -> id | B\nB -> Linear1(B)", "line 2: B never ends"),
        ("A -> B | id\nB -> A | conv3", "line 1: A can become A itself"),
        ("Fork = 1-2 x\nA -> id", "line 1: expected edges such as 1-2 1-3 2-3, got '1-2 x'"),
        ("Fork = 2-3\nA -> id", "line 1: Fork: edges 2-3 are on no way"),
        ("FORK = 1-2\nA -> id", "line 1: a topology has a name such as Twig, got 'FORK'"),
        ("Linear2 = 1-2\nA -> id", "line 1: there is a topology Linear2 already"),
        (
            "Twig = 1-2\nTwig = 1-2 2-3\nNET -> Twig(a, b)",
            "line 2: the topology Twig is defined a second time; remove one of the lines",
        ),
        ("A => conv3", r"line 1: productions are written with ->, got => .* write A -> conv3"),
        ("A ::= conv3 | id", r"line 1: .* got ::= in .* write A -> conv3 \| id"),
        ("Fork = 1-3\nA -> id", "line 1: Fork: no edge has node 2, and the sink is 3; number"),
        ("A -> id |" + "id |" * 2**16, "more than 262144 characters, the most that are allowed"),
    ],
    ids=lambda text: text[:30],
)
def test_mistakes(text, message):
    with pytest.raises(ValueError, match=message):
        parse_grammar(text)


def test_long_lines_are_shown_in_part():
    for text in ("x" * 10**5, "Fork = " + "x" * 10**5, "x" * 10**5 + " -> id"):
        with pytest.raises(ValueError, match="line 1") as error:
            parse_grammar(text)
        assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "text",
    [
        "\n".join([*(f"S{i} -> Linear2(S{i + 1}, id)" for i in range(3000)), "S3000 -> id"]),
        "\n".join([*(f"S{i} -> S{i + 1}" for i in range(3000)), "S3000 -> id"]),
        "NET -> " + "|".join(["a"] * 100_000),
    ],
    ids=["nested", "renamed", "alternatives"],
)
def test_long_grammars_do_not_take_long(text):
    start = time.process_time()
    assert parse_grammar(text).productions
    assert time.process_time() - start < 8  # it took more than 19 s


def test_every_cycle_is_found():
    chain = "\n".join(f"S{i} -> S{i + 1} | id" for i in range(9))
    with pytest.raises(ValueError, match=r"line \d+: S\d can become S\d itself"):
        parse_grammar(chain + "\nS9 -> S5 | id")
    assert parse_grammar(chain + "\nS9 -> Linear1(S5) | id").recursive
    assert not parse_grammar(chain + "\nS9 -> id").recursive


def test_mistakes_in_python():
    with pytest.raises(ValueError, match="productions of NET: production 1 of NET, position 6"):
        grammar_from({"NET": ["conv3 conv3"]})
    with pytest.raises(ValueError, match="NET: expected a list of terms, got the text 'conv3'"):
        grammar_from({"NET": "conv3"})
    with pytest.raises(ValueError, match="topology FORK"):
        grammar_from({"NET": ["id"]}, {"FORK": ((1, 2),)})
    for productions, message in (
        ({"NET": ["id", 3]}, "NET: production 2 of NET: expected a term as text, .* got 3"),
        ({"NET": 3}, "NET: expected a list of terms, got 3"),
        ({3: ["id"]}, "expected a symbol in CAPITALS on the left of ->, got '3'"),
    ):
        with pytest.raises(ValueError, match=message):
            grammar_from(productions)


@pytest.mark.parametrize("edges", [3, [3], "12", ((1, "x"),), ((1, 2, 3),), ((1.0, 2.0),), None])
def test_edges_that_are_none(edges):
    with pytest.raises(ValueError, match="topology Fork: expected edges as pairs of whole numbers"):
        grammar_from({"NET": ["Fork(id)"]}, {"Fork": edges})


def test_errors_of_topologies_have_their_name():
    for edges, message in {
        ((2, 1),): "Fork: a topology needs edges",
        (): "Fork: a topology",
    }.items():
        with pytest.raises(ValueError, match=f"topology {message}"):
            grammar_from({"NET": ["Fork(id)"]}, {"Fork": edges})
    with pytest.raises(ValueError, match="topology 3: a topology has a name such as Twig, got '3'"):
        grammar_from({"NET": ["id"]}, {3: ((1, 2),)})
    assert grammar_from({"NET": ["Fork(id)"]}, {"Fork": np.array([[1, 2]])}).topologies["Fork"]
