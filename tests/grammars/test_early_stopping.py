"""Rules and their options; what they do is in test_study.py."""

import pytest

from sciops.grammars.early_stopping import EarlyStopping


def test_rules_are_optunas():
    optuna = pytest.importorskip("optuna", reason="the engine of studies is not installed")
    assert isinstance(EarlyStopping().pruner(), optuna.pruners.SuccessiveHalvingPruner)
    rule = EarlyStopping("hyperband", first=2, last=18)
    assert isinstance(rule.pruner(), optuna.pruners.HyperbandPruner)
    assert rule.as_dict() == {"rule": "hyperband", "first": 2, "last": 18, "factor": 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "median"}, "choose one of halving, hyperband"),
        ({"first": 0}, "first=0 must be ≥ 1"),
        ({"factor": 1}, "factor=1 ≥ 2"),
        ({"rule": "hyperband"}, "hyperband needs `last`"),
        ({"first": 3, "last": 2}, "last=2 is before first=3"),
    ],
)
def test_bad_options_say_so(options, message):
    with pytest.raises(ValueError, match=message):
        EarlyStopping(**options)
