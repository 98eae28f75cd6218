"""Genotypes as text and JSON, and what is none."""

import json
import re

import pytest

from sciops.backbones.genotype import OPERATIONS, Genotype, Incoming, Node

TEXT = """\
normal:
  2 = sep_conv_3(0) + spatial_attention(1) > dynamic_conv_5
  3 = max_pool_3(0) + dil_conv_3(2) > identity
reduction:
  2 = dynamic_conv_3(0) + avg_pool_3(1) > channel_attention"""


def node(a="identity", b="identity", second="identity", sources=(0, 1)) -> Node:
    return Node((Incoming(sources[0], a), Incoming(sources[1], b)), second)


def test_the_eleven_operations_in_the_order_of_the_paper():
    expected = (
        *("sep_conv_3", "sep_conv_5", "dil_conv_3", "dil_conv_5"),
        *("avg_pool_3", "max_pool_3", "identity"),
        *("spatial_attention", "channel_attention", "dynamic_conv_3", "dynamic_conv_5"),
    )
    assert expected == OPERATIONS


def test_text_and_json_say_the_same():
    genotype = Genotype.parse(TEXT)
    assert genotype.normal[1] == node("max_pool_3", "dil_conv_3", "identity", (0, 2))
    assert genotype.reduction == (node("dynamic_conv_3", "avg_pool_3", "channel_attention"),)
    assert str(genotype) == TEXT and Genotype.parse(f"\n{TEXT}\n\n") == genotype
    assert Genotype.from_dict(json.loads(json.dumps(genotype.as_dict()))) == genotype
    assert genotype.cell("normal") == genotype.normal


def test_a_cell_may_be_missing():
    only = Genotype(reduction=(node(),))
    assert Genotype.parse(str(only)) == only == Genotype.from_dict(only.as_dict())
    assert only.normal == () and "normal" not in str(only)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: node("conv_7"), "node 2 of the normal cell: there is no operation 'conv_7'; the"),
        (lambda: node(second="zero"), "no operation 'zero'"),
        (lambda: node(sources=(0, 2)), "increasing sources among nodes 0 to 1, got 0, 2"),
        (lambda: node(sources=(1, 0)), "increasing sources"),
        (lambda: node(sources=(1, 1)), "increasing sources"),
        (lambda: node("spatial_attention", "dynamic_conv_3"), "one of the first tier must be amo"),
        (lambda: Node((Incoming(0, "identity"),), "identity"), "expected two operations"),
    ],
)
def test_what_no_cell_can_be(made, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Genotype(normal=(made(),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 = identity(0) + identity(1) > identity", "line 1: expected 'normal:' or 'reduction:'"),
        ("normal:\n  3 = identity(0) + identity(1) > identity", "line 2: expected '2 = operation("),
        ("normal:\n  2 = identity(0) > identity", "line 2: expected '2 = operation(source) +"),
        ("normal:\nnormal:", "line 2: expected '2 ="),
    ],
)
def test_text_that_says_nothing(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Genotype.parse(text)


@pytest.mark.parametrize(
    "data",
    [
        {"normal": []},
        {"normal": [{"first": 3}], "reduction": []},
        {"normal": [{"second": "identity", "first": [[0]]}], "reduction": []},
    ],
)
def test_json_that_says_nothing(data):
    with pytest.raises(ValueError, match=r"expected a genotype as as_dict\(\) gives it"):
        Genotype.from_dict(data)
