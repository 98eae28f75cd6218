"""Strategies by name, their options and how they divide a budget."""

import pytest

from sciops.searching.strategies import STRATEGIES, make_strategy, shares


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_comes_back_from_json(name):
    strategy = make_strategy(name)
    assert make_strategy(**strategy.as_dict()) == strategy


def test_epochs_are_divided_without_a_rest():
    assert shares(7, 3, "members") == [3, 2, 2] and sum(shares(101, 8, "cycles")) == 101
    with pytest.raises(ValueError, match="3 epochs are fewer than members=4"):
        shares(3, 4, "members")


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("darts", {}, "choose one of joint, restarts, bilevel, random"),
        ("joint", {"order": 1}, "has no option 'order'; it has none"),
        ("bilevel", {"order": 3}, "must be 1 or 2"),
        ("restarts", {"cycles": 0}, "whole number ≥ 1"),
        ("random", {"members": 2.0}, "whole number ≥ 1"),
    ],
)
def test_what_is_not_known_is_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        make_strategy(name, **options)
