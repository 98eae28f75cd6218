"""The page of a search in a grammar says what was found, in words, drawings and numbers."""

import html

import pytest

from sciops.reporting.grammar_report import FEWEST
from tests.grammar_search_toy import searched

pytest.importorskip("optuna", reason="the engine of studies, Optuna, is not installed")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(tmp_path_factory.mktemp("kept")))
        yield searched(tmp_path_factory.mktemp("search") / "search", "random", trials=FEWEST)


@pytest.fixture(scope="module")
def text(result):
    return result.report(beside={"the same": result}).read_text()


def drawn(text: str, caption: str) -> str:
    """The SVG with a caption."""
    return text.partition(f'<svg role="img" aria-label="{caption}"')[2].partition("</svg>")[0]


def test_the_best_term_as_text_and_as_a_graph(result, text):
    assert f"<pre>{html.escape(result.best['term'])}</pre>" in text
    picture = drawn(text, "What computes, from left to right.")
    labels = result.candidates.levels(result.study.best.candidate)[-1].labels
    assert picture.count('id="term-patch_') > len(labels) - 1  # an edge to every node but the first


def test_weights_and_calibration_have_their_numbers(result, text):
    levels, tau = result.levels(), result.calibration().attrs["tau"]
    for row in levels.to_dict("records"):
        assert f"<td>{row['depth']:.0f}</td><td>{100 * row['weight']:.1f} %</td>" in text
    assert f"each of the {FEWEST} trials that were finished" in text
    numbers = (
        f"is {tau['hierarchical']:.2f} with all levels of the terms and {tau['flat']:.2f} with"
    )
    assert numbers in text
    caption = "Predictions with one standard deviation; on the dashed line they are right."
    assert "<path" in drawn(text, caption)


def test_other_searches_are_drawn_beside_it_if_they_are_given(result, text, tmp_path):
    assert "Beside other searches" in text and 'id="beside-' in text
    alone = result.report(tmp_path / "alone.html").read_text()
    assert "Beside other searches" not in alone and "What counts in the kernel" in alone
