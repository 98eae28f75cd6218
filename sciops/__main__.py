"""`python -m sciops` is the `sciops` command."""

from .cli import main

main()
