"""Misspelt primitives are found before anything is trained."""

import pytest

from sciops.backbones.grammar_primitives import expect_primitives
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.ready import NAMES, ready_space


@pytest.mark.parametrize("name", NAMES)
def test_all_ready_spaces_have_known_primitives(name):
    space = ready_space(name, 2)
    expect_primitives(space.grammar, space.frame)


@pytest.mark.parametrize(
    ("text", "frame", "message"),
    [
        (
            "NET -> Linear2(lift8, OP)\nOP -> id | Linear2(convv3, relu)",
            "fields",
            r"production 2 of OP, Linear2\(convv3, relu\): there is no .* did you mean 'conv3'\?",
        ),
        ("NET -> Linear2(lift8, rleu)", "images", r"production 1 of NET, .*'rleu'.*'relu'\?"),
        ("NET -> Linear2(lift8, conv)", "fields", "no primitive 'conv'; .* did you mean 'conv3'"),
        ("NET -> Linear2(lift8, motif)", "fields", "there is no primitive 'motif'"),
        ("NET -> Unary(sim)", "activations", "there is no function 'sim'; .* mean 'sin'"),
        ("NET -> Unary(conv3)", "activations", "there is no function 'conv3'"),
    ],
)
def test_misspelt_primitives(text, frame, message):
    with pytest.raises(ValueError, match=message):
        expect_primitives(parse_grammar(text), frame)
