"""What is in the file, who holds a trial, and what a damaged or missing part says."""

import json
import pickle
import sys

import pytest

from sciops.studies.journal import Journal, finite
from sciops.studies.journal_file import _cut_unfinished_line

optuna = pytest.importorskip("optuna", reason="the engine of studies, Optuna, is not installed")


def begin(journal, count=9):
    return journal.claim(count, lambda number: f"term {number}")


def test_the_file_is_lines_of_json_and_no_pickle_is_read(tmp_path, monkeypatch):
    attempt = begin(Journal(tmp_path, {"seed": 0}))
    attempt.report(1, 0.5)
    attempt.finish(0.25)
    lines = (tmp_path / "journal.log").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 4 and all(isinstance(json.loads(line), dict) for line in lines)
    monkeypatch.setattr(pickle, "loads", lambda data: pytest.fail("a pickle is read"))
    assert Journal(tmp_path).trials()[0].value == 0.25
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal.log"))
    assert not isinstance(backend, optuna.storages.journal._base.BaseJournalSnapshot)


def test_a_trial_is_held_by_one_and_taken_over_when_it_lets_go(tmp_path):
    journal, other = Journal(tmp_path), Journal(tmp_path)
    mine = begin(journal)
    theirs = begin(other)
    assert (mine.number, theirs.number) == (0, 1)
    assert begin(other, count=2) is None and not other.is_over(2)
    mine.release()
    again = begin(other, count=2)
    assert (again.number, again.candidate, again.count) == (0, "term 0", 2)
    assert again.folder == mine.folder
    again.finish(1.0)
    theirs.finish(2.0)
    assert journal.is_over(2) and begin(journal, count=2) is None


def test_a_trial_is_given_up_after_its_attempts(tmp_path):
    journal = Journal(tmp_path, attempts=2)
    for count in (1, 2):
        attempt = begin(journal, count=1)
        assert attempt.count == count
        attempt.release()
    assert begin(journal, count=1) is None and journal.is_over(1)
    assert "died 2 times" in journal.trials()[0].user_attrs["reason"]


def test_what_was_reported_before_is_not_reported_again(tmp_path):
    journal = Journal(tmp_path)
    first = begin(journal)
    first.report(1, 0.5)
    first.release()
    second = begin(journal)
    second.report(1, 0.7)
    second.report(2, 0.3)
    assert journal.trials()[0].intermediate_values == {1: 0.5, 2: 0.3}
    with pytest.raises(ValueError, match="step=0"):
        second.report(0, 1.0)
    second.release()


def test_only_an_unfinished_line_is_cut(tmp_path):
    file = tmp_path / "lines"
    for before, after in ((b"", b""), (b"a\nb\n", b"a\nb\n"), (b"a\nb", b"a\n"), (b"a", b"")):
        file.write_bytes(before)
        _cut_unfinished_line(file)
        assert file.read_bytes() == after


@pytest.mark.parametrize("text", ["no\njournal\n", "{}\n{}\n", "[1]\n[2]\n"])
def test_a_file_that_is_no_journal_says_so(tmp_path, text):
    (tmp_path / "journal.log").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="is not the journal of a study, or is damaged"):
        Journal(tmp_path)


def test_a_missing_optuna_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r'pip install "sciops\[optuna\]"'):
        Journal(tmp_path)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf")])
def test_scores_are_finite(score):
    with pytest.raises(ValueError, match="the score is"):
        finite(score, "the score")
    assert finite(3, "the score") == 3.0
