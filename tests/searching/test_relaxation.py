"""The report of a relaxation is readable as text and as a table, and travels with the model."""

import copy

import pytest
from torch import nn

from sciops.searching.relaxation import (
    ATTRIBUTE,
    Relaxation,
    Row,
    relaxation_of,
    relaxation_report,
)

ROWS = (
    Row("stem", "Conv2d", (32, 16), changed=True, reason="", moved=3e-7),
    Row("", "MaxPool2d", None, changed=False, reason="max is not linear", moved=0.0),
)
REPORT = Relaxation("xd", ROWS, moved=1e-6)


def test_text_has_a_line_for_every_layer_and_one_for_the_model():
    first, second, total = str(REPORT).splitlines()
    assert first.split() == ["stem", "Conv2d", "32×16", "changed,", "moved", "3.0e-07"]
    assert second.startswith("(model)") and second.endswith("left: max is not linear")
    assert total == "1 of 2 layers are now xd; the output moved 1.0e-06"


def test_table_and_copies():
    model = nn.Linear(1, 1)
    setattr(model, ATTRIBUTE, REPORT)
    table = relaxation_report(copy.deepcopy(model))
    assert table.to_dict("list") == {
        "name": ["stem", ""],
        "kind": ["Conv2d", "MaxPool2d"],
        "size": [(32, 16), None],
        "changed": [True, False],
        "reason": ["", "max is not linear"],
        "moved": [3e-7, 0.0],
    }
    assert table.attrs == {"op": "xd", "moved": 1e-6}


def test_model_without_report():
    with pytest.raises(ValueError, match=r"this Linear has no relaxation report; sciops.relax"):
        relaxation_of(nn.Linear(1, 1))
