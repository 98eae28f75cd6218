"""What somebody probably meant who misspelt a name: the last words of an error message."""

import inspect
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

LIKENESS = 0.6  # at least, of difflib's ratio


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """Words to put behind the list of what there is; none if nothing is near.

    >>> did_you_mean("Navier-Stokes", ["darcy", "navier_stokes"])
    "; did you mean 'navier_stokes'?"
    >>> did_you_mean("heat", ["darcy", "burgers"])
    ''
    """
    plain = {_plain(one): one for one in known}
    near = get_close_matches(_plain(str(name)), plain, n=1, cutoff=LIKENESS)
    return f"; did you mean {plain[near[0]]!r}?" if near else ""


def meant_option(error: TypeError, *makers: Callable) -> str:
    """The same for an option that Python refused, among those that some functions take.

    >>> import shlex
    >>> meant_option(TypeError("f() got an unexpected keyword argument 'comment'"), shlex.split)
    "; did you mean 'comments'?"
    """
    refused = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    return did_you_mean(refused[1], options_of(*makers)) if refused else ""


def expect_options(owner: str, options: Iterable[str], maker: Callable) -> None:
    """ValueError for an option that a function does not take.

    >>> import shlex
    >>> expect_options("split", ["comment"], shlex.split)
    Traceback (most recent call last):
    ValueError: split has no option 'comment'; it has comments, posix; did you mean 'comments'?
    """
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(maker).parameters.values()):
        return
    known = options_of(maker)
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ValueError(f"{owner} has no option {name!r}; it has {', '.join(known)}{hint}")


def options_of(*makers: Callable) -> list[str]:
    """Names that have to be given to functions or classes as name=value, or need not be given."""
    found = [p for maker in makers for p in inspect.signature(maker).parameters.values()]
    optional = [p.name for p in found if p.kind is p.KEYWORD_ONLY or p.default is not p.empty]
    return list(dict.fromkeys(optional))


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
