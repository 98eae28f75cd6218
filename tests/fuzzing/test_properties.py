"""Properties of readers of text and bytes, for whatever Hypothesis thinks of."""

import string

from hypothesis import given, settings
from hypothesis import strategies as st

from sciops.config import Training, training_from
from sciops.data.files import ReadError, read_arrays
from sciops.data.plain_pickle import load_plain
from sciops.grammars.grammar import Grammar, parse_grammar
from sciops.grammars.term import Term, parse_term
from sciops.plain_state import Decoder
from sciops.task import Task, task_from

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
TERMS = st.recursive(
    NAMES.map(Term),
    lambda inner: st.builds(Term, NAMES, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    max_leaves=9,
)
FEW = settings(max_examples=60, deadline=None)


@FEW
@given(TERMS)
def test_a_term_is_its_text(term):
    assert parse_term(str(term)) == term


@FEW
@given(st.text(alphabet=string.printable + "→é", max_size=60))
def test_text_is_a_term_or_refused_with_a_place(text):
    try:
        term = parse_term(text)
    except ValueError as error:
        assert "position" in str(error)
    else:
        assert parse_term(str(term)) == term


@FEW
@given(st.text(alphabet="AB ab|->=12(),\n#", max_size=60))
def test_text_is_a_grammar_or_refused(text):
    try:
        grammar = parse_grammar(text)
    except ValueError as error:
        assert str(error)
    else:
        assert isinstance(grammar, Grammar) and str(parse_grammar(str(grammar))) == str(grammar)


@FEW
@given(st.binary(max_size=80))
def test_bytes_are_plain_values_or_refused(data):
    try:
        load_plain(data, "bytes")
    except ValueError as error:
        assert str(error).startswith("bytes ")


@FEW
@given(
    st.sampled_from([b"", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"CDF\x01"]), st.binary(max_size=80)
)
def test_bytes_are_arrays_or_refused(tmp_path_factory, head, rest):
    path = tmp_path_factory.mktemp("f") / "file"
    path.write_bytes(head + rest)
    try:
        read_arrays(path)
    except ReadError as error:
        assert str(path) in str(error)


@FEW
@given(st.dictionaries(st.sampled_from(["epochs", "weights", "architecture", "symmetries"]), JSON))
def test_json_is_a_training_or_refused(values):
    try:
        assert isinstance(training_from(values), Training)
    except ValueError as error:
        assert str(error)


@FEW
@given(st.dictionaries(st.sampled_from(["name", "inputs", "targets", "axes", "classes"]), JSON))
def test_json_is_a_task_or_refused(values):
    try:
        assert isinstance(task_from(values), Task)
    except ValueError as error:
        assert str(error)


@FEW
@given(JSON)
def test_json_is_a_state_or_one_of_the_known_errors(value):
    decoder = Decoder({})
    try:
        decoder.decode(value)
    except Decoder.WRONG as error:
        assert isinstance(error, Exception)
