"""The reference: commands from the command line itself, the API from what is public."""

from collections.abc import Iterator

import typer

import sciops
from sciops import _VERBS
from sciops.cli.app import app
from sciops.cli.examples import EXAMPLES

# --- commands -------------------------------------------------------------------------------------


def commands() -> str:
    """A section for each command: what it does, its arguments and options, examples."""
    return "\n\n".join(_command(name, command) for name, command in _leaves())


def _leaves() -> Iterator[tuple[str, typer.core.TyperCommand]]:
    for name, command in typer.main.get_command(app).commands.items():
        if hasattr(command, "commands"):
            yield from ((f"{name} {inner}", c) for inner, c in command.commands.items())
        else:
            yield name, command


def _command(name: str, command: typer.core.TyperCommand) -> str:
    rows = ["| | |", "|---|---|"]
    for parameter in command.params:
        if parameter.name != "help":
            rows.append(f"| {_names(parameter)} | {_cell(_meaning(parameter))} |")
    shown = "\n".join(["```sh", *EXAMPLES[name], "```"])
    return "\n\n".join([f"## sciops {name}", command.help.strip(), "\n".join(rows), shown])


def _names(parameter) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}{'…' if parameter.nargs == -1 else ''}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _meaning(parameter) -> str:
    usual = parameter.default
    if parameter.required:
        return f"{parameter.help} (needed)"
    if usual is None or usual is False or usual == [] or callable(usual):
        return parameter.help
    return f"{parameter.help} (usually {usual})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# --- API ------------------------------------------------------------------------------------------

VERBS_OPENING = """# Verbs

`import sciops` loads nothing heavy: each verb is imported when it is first used. A run that
`train_…` returns is a folder on disk and an object with `.metrics`, `.evaluate()`, `.transfer()`,
`.predict()`, `.plot()` and `.report()`.
"""
OPERATORS_OPENING = """# Operators

Layers on `(batch, channel, *space)` and the structured matrices they are made of, all in
`sciops.operators`. What they mean is on the page about
[the mathematics of XD](../mathematics.md).
"""
PAGES = {  # page → (opening, {what is public: where it is defined})
    "verbs": (VERBS_OPENING, {f"sciops.{name}": f"{m}.{name}" for name, m in _VERBS.items()}),
    "backbones": (
        "# Backbones\n\nNetworks that are sized from a `Task`, with a place for an operator.\n",
        {
            name: name
            for name in (
                "sciops.task.Task",
                "sciops.backbones.make_backbone",
                "sciops.backbones.fno_cnn.FnoCnn",
                "sciops.backbones.unet.UNet",
                "sciops.backbones.neuralop_fno.NeuralopFno",
                "sciops.backbones.resnet.ResNet",
                "sciops.backbones.distance_maps.distance_network",
                "sciops.backbones.mask_unet.MaskUNet",
                "sciops.backbones.image_masks.mask_network",
                "sciops.backbones.tcn.Tcn",
                "sciops.backbones.classifiers.make_classifier",
                "sciops.backbones.cell_network.CellNetwork",
                "sciops.backbones.ccnn.Ccnn",
                "sciops.backbones.normalized.Normalized",
            )
        },
    ),
    "search": (
        "# Search\n\n`sciops.search` is for problems that have a name; `run_search` for your own "
        "network and data.\n",
        {
            name: name
            for name in (
                "sciops.searching.engine.run_search",
                "sciops.searching.result.SearchResult",
                "sciops.searching.patch.relax",
                "sciops.searching.space.AbstractSpace",
                "sciops.searching.spaces.make_space",
                "sciops.searching.dnarch_space.DnarchSpace",
                "sciops.searching.kaleidoscope_spaces.XDSpace",
                "sciops.searching.kaleidoscope_spaces.KOperations",
                "sciops.searching.discrete_space.DiscreteSpace",
                "sciops.searching.nos_space.NosSpace",
                "sciops.searching.fixed_spaces.KLayers",
                "sciops.searching.fixed_spaces.Linear",
                "sciops.searching.strategies.make_strategy",
                "sciops.searching.strategies.Joint",
                "sciops.searching.strategies.Restarts",
                "sciops.searching.strategies.Bilevel",
                "sciops.searching.strategies.Random",
            )
        },
    ),
    "evaluation": (
        "# Evaluation\n\nWhat a run's `.evaluate()`, `.transfer()` and `.costs()` are made of. "
        "Scores keep the sample axis.\n",
        {
            name: name
            for name in (
                "sciops.runs.run.Run",
                "sciops.evaluation.scores",
                "sciops.evaluation.resolution_transfer",
                "sciops.evaluation.rollout",
                "sciops.evaluation.symmetrised",
                "sciops.evaluation.classical",
                "sciops.metrics.field",
                "sciops.metrics.distance_map",
                "sciops.metrics.mask",
                "sciops.metrics.sequence",
                "sciops.metrics.classes",
            )
        },
    ),
}


def api() -> dict[str, str]:
    """A page for each part of the API, as mkdocstrings reads it."""
    pages = {name: _api_page(*parts) for name, parts in PAGES.items()}
    operators = {f"sciops.operators.{n}": _where(n) for n in sciops.operators.__all__}
    return pages | {"operators": _api_page(OPERATORS_OPENING, operators)}


def _where(name: str) -> str:
    value = getattr(sciops.operators, name)
    return getattr(value, "__module__", "sciops.operators") + f".{name}"


def _api_page(opening: str, places: dict[str, str]) -> str:
    parts = [f"::: {place}\n    options:\n      heading: {name}" for name, place in places.items()]
    return "\n\n".join([opening, *parts]) + "\n"
