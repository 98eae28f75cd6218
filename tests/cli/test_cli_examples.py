"""Every command says what it is and shows examples, and every example can be typed."""

import shlex

import pytest
import typer
from typer.testing import CliRunner

from sciops.cli.app import app
from sciops.cli.examples import EXAMPLES


def leaves(group, path=()) -> dict[str, typer.core.TyperCommand]:
    """All commands by their words."""
    found = {}
    for name, command in group.commands.items():
        deeper = hasattr(command, "commands")
        found |= leaves(command, (*path, name)) if deeper else {" ".join((*path, name)): command}
    return found


COMMANDS = leaves(typer.main.get_command(app))


def test_every_command_has_examples():
    assert set(EXAMPLES) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_everything_is(name):
    command = COMMANDS[name]
    assert command.help and command.help.split("\n")[0].endswith((".", ":"))
    assert [p.name for p in command.params if not getattr(p, "help", "")] == []
    shown = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "300"}).output
    assert "Traceback" not in shown
    assert all(example in " ".join(shown.split()) for example in EXAMPLES[name])


@pytest.mark.parametrize(
    ("name", "line"), [(name, line) for name, lines in EXAMPLES.items() for line in lines]
)
def test_examples_can_be_typed(name, line):
    words = shlex.split(line)
    start = ["sciops", *name.split()]
    assert words[: len(start)] == start
    COMMANDS[name].make_context(name, words[len(start) :])  # unknown options would be refused
