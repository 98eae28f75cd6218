"""Words become values; what a verb objects to becomes one line, and nothing else does."""

import pytest
import typer

from sciops.cli.text import or_exit, settings, whole_numbers
from sciops.plain_state import CheckpointError
from sciops.training import TrainingFailed


def failing(error: type[Exception]):
    def verb():
        raise error("the loss became nan;\n  lower the rates")

    return verb


@pytest.mark.parametrize("error", [ValueError, OSError, CheckpointError, TrainingFailed])
def test_errors_of_verbs_are_one_line(error, capsys):
    with pytest.raises(typer.Exit) as stopped:
        or_exit(failing(error))
    assert stopped.value.exit_code == 2
    assert capsys.readouterr().err == "error: the loss became nan; lower the rates\n"


@pytest.mark.parametrize("error", [RuntimeError, TypeError, KeyError])
def test_mistakes_of_programs_are_not_hidden(error):
    with pytest.raises(error) as raised:
        or_exit(failing(error))
    assert raised.type is error  # typer.Exit is a RuntimeError too


def test_values_are_json_or_text():
    texts = ["a=1", "b=1e-3", "c=true", "d=null", "e=[1, 2]", "f=ddp", "g=x=y"]
    expected = dict(a=1, b=1e-3, c=True, d=None, e=[1, 2], f="ddp", g="x=y")
    assert settings(texts) == expected
    assert settings(None) == {}


def test_a_name_with_an_option_of_its_own_is_refused(capsys):
    with pytest.raises(typer.Exit):
        settings(["width=4", "batch_size=3"], taken={"batch_size"})
    assert "--batch-size 3" in capsys.readouterr().err


@pytest.mark.parametrize("texts", [["9,"], [""], ["9;13"], ["1.5"]])
def test_what_is_no_whole_number(texts, capsys):
    with pytest.raises(typer.Exit):
        whole_numbers(texts, "--resolutions")
    assert "must be whole numbers" in capsys.readouterr().err
