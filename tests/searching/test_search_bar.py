"""The bar of a search says budget, current and best score; without a terminal it is silent."""

import sys

from sciops.searching.search_bar import SearchBar


def test_it_is_silent_without_a_terminal(capfd):
    bar = SearchBar(10)
    bar.show("search", 3, 0.5, 0.4)
    bar.stop()
    assert capfd.readouterr() == ("", "")


def test_at_a_terminal_it_shows_what_is_used_and_best(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    bar = SearchBar(10)
    bar.show("offline", 7, 0.5, 0.4)
    bar.stop()
    text = capsys.readouterr().err
    assert "offline: epoch 7 of 10 in all, val 0.5000, best 0.4000" in text
    assert bar.bar.tasks[0].completed == 7 and bar.bar.tasks[0].total == 10
