"""Names that the commands know: for help and for completion, without loading torch.

They repeat the registries of the house; a test compares them.
"""

from collections.abc import Callable, Iterable

from sciops.runs import OPERATORS, TASKS
from sciops.suggestions import did_you_mean

from .text import stop

EQUATIONS = ("burgers", "darcy", "navier_stokes")
DATA_SETS = (*EQUATIONS, *TASKS)
ONLY_READ = ("cylinder_wake",)
PROBLEMS = ("digits", "vision", "darcy", "burgers")
SPACES = ("xd", "kop", "discrete", "nos", "dnarch", "klayer", "linear")
STRATEGIES = ("joint", "restarts", "bilevel", "random")
RECIPES = ("quick", "paper")
FORECASTS = ("3d", "steps")
NETWORKS = (
    *("lenet", "padded-lenet", "wide-lenet", "resnet20", "spherical-cnn", "text-cnn", "linear"),
    *("ccnn", "fno-cnn"),
)


def listed(names: Iterable[str]) -> str:
    """
    >>> listed(["a", "b", "c"])
    'a, b or c'
    """
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def operators_of(name: str) -> tuple[str, ...]:
    """Those that `sciops train` knows for a data set, the usual one first."""
    return TASKS.get(name, OPERATORS)


def expect_data_set(name: str) -> None:
    """One line and exit code 2 for a name that cannot be trained on."""
    if name not in DATA_SETS:
        hint = did_you_mean(name, DATA_SETS)
        stop(f"there is no data set {name!r} to train on; there are {', '.join(DATA_SETS)}{hint}")


# --- completion -----------------------------------------------------------------------------------


def complete(names: Iterable[str]) -> Callable[[str], list[str]]:
    """A function for typer that knows how a word may go on.

    >>> complete(["darcy", "burgers"])("da")
    ['darcy']
    """

    def matching(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return matching


def complete_operator(ctx, incomplete: str) -> list[str]:
    """Operators of the data set that was named before; of all if none was."""
    named = [word for word in (ctx.params.get("name"), *ctx.args) if word in DATA_SETS]
    every = dict.fromkeys(op for ops in (OPERATORS, *TASKS.values()) for op in ops)
    return complete(operators_of(named[0]) if named else every)(incomplete)


def complete_operators(incomplete: str) -> list[str]:
    """The last of several, as in conv,fn."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in complete(OPERATORS)(last)]
