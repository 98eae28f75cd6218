"""`python -m sciops` is the `sciops` command."""

from .cli.app import main

main()
