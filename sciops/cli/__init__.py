"""The `sciops` command.  Every command is a call of a public verb."""

from .app import main as main
