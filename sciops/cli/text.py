"""Between the words of a command line and the verbs: options in, errors out."""

import json
from collections.abc import Container, Sequence
from typing import Any, NoReturn

import typer


def or_exit(verb, *args, **options):
    """Call a verb; an error of its own becomes one line and exit code 2."""
    try:
        return verb(*args, **options)
    except (ValueError, OSError, ImportError) as error:
        stop(str(error))
    except RuntimeError as error:
        from sciops.training import TrainingFailed  # loaded already if it was raised

        if not isinstance(error, TrainingFailed):
            raise
        stop(str(error))
    except KeyboardInterrupt as stopped:
        typer.echo(str(stopped) or "stopped", err=True)
        raise typer.Exit(130) from None


def stop(message: str) -> NoReturn:
    line = " ".join(part.strip() for part in message.splitlines())
    typer.echo(f"error: {line}", err=True)
    raise typer.Exit(2) from None


def only_the_first_process_goes_on() -> None:
    """Of several that train together (--devices 2), each of which runs the whole command."""
    from sciops.runs.folder import is_first_process

    if not is_first_process():
        raise typer.Exit(0)


# --- options --------------------------------------------------------------------------------------


def pair(text: str, option: str) -> tuple[str, str]:
    """
    >>> pair("a=coeff", "--field")
    ('a', 'coeff')
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        stop(f"{option} {text!r} must look like name=value")
    return name, value


def settings(texts: Sequence[str] | None, taken: Container[str] = ()) -> dict[str, Any]:
    """name=value pairs; numbers, true, false and null are read as JSON, the rest is text.

    taken: names that have an option of their own

    >>> settings(["low=4", "faces=arithmetic"])
    {'low': 4, 'faces': 'arithmetic'}
    """
    found = {}
    for text in texts or []:
        name, value = pair(text, "--set")
        if name in taken:
            stop(f"--set {text} has an option of its own: --{name.replace('_', '-')} {value}")
        try:
            found[name] = json.loads(value)
        except (json.JSONDecodeError, RecursionError):
            found[name] = value
    return found


def whole_numbers(texts: Sequence[str], option: str) -> list[int]:
    """
    >>> whole_numbers(["43", "64,85"], "--resolution")
    [43, 64, 85]
    """
    words = [word for text in texts for word in text.split(",")]
    try:
        return [int(word) for word in words]
    except ValueError:
        stop(f"{option} {','.join(texts)} must be whole numbers, as in 43 or 43,64")


def grids_of(resolution: Sequence[str] | None) -> int | list[int] | None:
    """
    >>> grids_of(["43"]), grids_of(["43", "64,85"])
    (43, [43, 64, 85])
    """
    if resolution is None:
        return None
    grids = whole_numbers(resolution, "--resolution")
    return grids[0] if len(grids) == 1 else grids
