"""Lightning is quiet and refuses early; a stop says how far training was."""

import logging

import pytest
from pytorch_lightning.utilities.exceptions import SIGTERMException

from sciops.trainer import Terminated, quietly, stops_are_told, usable_machine

ONE = dict(devices=1, num_nodes=1, strategy="auto", accelerator="cpu")


def test_a_machine_that_is_there_is_given_back():
    assert usable_machine(**ONE) == ONE


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(devices=0), "this machine cannot train with devices=0, num_nodes=1"),
        (dict(num_nodes="a"), "num_nodes"),
        (dict(strategy="teleport"), "strategy='teleport'"),
    ],
)
def test_a_machine_that_is_not_there_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        usable_machine(**ONE | wrong)


@pytest.mark.parametrize(
    ("stop", "told"), [(SystemExit, KeyboardInterrupt), (SIGTERMException, Terminated)]
)
def test_stops_say_how_far_it_was(stop, told, capsys):
    with pytest.raises(told) as raised, stops_are_told(lambda: "after epoch 3"):
        raise stop
    if told is Terminated:
        assert raised.value.code == 143 and capsys.readouterr().err == "after epoch 3\n"
    else:
        assert str(raised.value) == "after epoch 3"


def test_other_errors_are_left_alone():
    with pytest.raises(ZeroDivisionError), stops_are_told(lambda: "never"):
        1 / 0  # noqa: B018


def test_the_level_of_the_logger_comes_back():
    logger = logging.getLogger("pytorch_lightning")
    before = logger.level
    with quietly():
        assert logger.level == logging.WARNING
    assert logger.level == before
