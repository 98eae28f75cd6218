"""A thousand terms are learned from in seconds, also where terms have hundreds of nodes."""

import pandas as pd
import pytest

from benchmarks.grammar_fit import SPACES, measured, summary


def test_a_row_and_its_table():
    row = measured("fields", 20, 5)
    assert row["levels"] > 2 and row["nodes"] > 5 and row["fit"] > 0
    table = pd.DataFrame([{"space": "fields", "terms": 20, **row, "machine": "some"}])
    assert "| fields | 20 |" in summary(table) and "- some" in summary(table)


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES)
def test_a_thousand_terms_are_fitted_in_less_than_a_minute(space):
    row = measured(space)
    assert row["fit"] < 60 and row["predict"] < 10
