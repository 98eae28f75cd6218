"""The import arrows of the house, read from the source text: nothing is imported to check them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1] / "sciops"
PATHS = sorted(file.relative_to(HOUSE) for file in HOUSE.rglob("*.py"))

# module or folder of sciops/ → what it may import from the house (itself is always allowed)
ARROWS = {
    "__init__": {"suggestions", "version", "operators", "searching"},  # the public verbs, lazily
    "version": set(),
    "suggestions": set(),
    "__main__": {"cli"},
    # every command is a call of a public verb
    "cli": {"__init__", "atomic", "findings", "runs", "suggestions", "training"},
    "task": set(),
    "config": {"suggestions"},
    "schedules": {"config"},
    "metrics": set(),
    "operators": set(),
    "memory": set(),
    "training_memory": {"memory"},
    "data": {"memory", "suggestions", "task"},
    "findings": set(),
    "domains": {
        *("task", "metrics", "data", "findings", "cosmic", "music", "proteins", "version"),
        *("suggestions", "vision"),
    },
    "proteins": {"task", "data", "domains", "memory"},
    "music": {"task", "data", "domains"},
    "cosmic": {"task", "data", "domains", "metrics", "suggestions"},
    "vision": {"task", "data", "domains", "suggestions"},
    "catalogue": {"cosmic", "domains", "data", "music", "proteins", "suggestions", "vision"},
    "grammars": set(),
    "studies": {"grammars"},  # graphs with labels
    "backbones": {"grammars", "operators", "suggestions", "task"},
    "searching": {
        *("backbones", "checkpoint", "claims", "config", "data", "operators", "plots", "task"),
        *("atomic", "grammars", "reporting", "studies", "suggestions", "training", "training_bar"),
        "training_memory",
    },
    "training": {
        *("checkpoint", "config", "data", "metrics", "operators", "schedules", "task"),
        *("trainer", "training_bar"),
    },
    "trainer": set(),
    "training_bar": set(),
    "plain_state": set(),
    "atomic": {"plain_state"},
    "checkpoint": {"plain_state", "atomic"},
    "claims": {"atomic"},
    "evaluation": {
        *("atomic", "backbones", "cosmic", "data", "domains", "metrics", "music", "proteins"),
        *("memory", "runs", "task", "version"),
    },
    "plots": {
        *("backbones", "data", "evaluation", "grammars", "metrics", "operators", "runs", "task"),
    },
    "reporting": {
        *("atomic", "evaluation", "metrics", "operators", "plots", "proteins", "runs", "task"),
        *("backbones", "config", "cosmic", "grammars", "music", "searching", "studies", "version"),
    },
    "runs": {
        *("atomic", "backbones", "catalogue", "checkpoint", "config", "cosmic", "data", "domains"),
        *("evaluation", "metrics", "music", "operators", "plots", "proteins", "reporting"),
        *("grammars", "searching", "studies", "suggestions", "task", "trainer", "training"),
        *("claims", "memory", "training_bar", "training_memory", "version", "vision"),
    },
    "health": {"catalogue", "checkpoint", "data", "domains", "findings", "operators", "version"},
}
PLACES = set(ARROWS).union(*ARROWS.values())
HEAVY = {
    *("neuralop", "pytorch_lightning", "lightning", "xarray", "zarr", "Bio", "matplotlib"),
    *("pandas", "h5py", "dask", "distributed", "sklearn", "astropy", "astroscrappy", "PIL"),
    "optuna",
}
LIGHT_PLACES = {
    "__init__",
    "operators",
    "grammars",
    "studies",
    "searching",
    "data",
    "cosmic",
    "domains",
    "music",
    "proteins",
    "vision",
    "catalogue",
    "cli",
    "evaluation",
    "plots",
    "reporting",
}  # these import HEAVY inside functions only
BANNED_FOLDERS = {"utils", "common", "core"}


def place_of(path: Path) -> str:
    """`operators` for operators/xd.py, `training` for training.py."""
    return path.parts[0].removesuffix(".py")


def imported_modules(nodes: Iterator[ast.AST], path: Path) -> Iterator[str]:
    """Dotted names of what the import statements among `nodes` name, relative ones resolved."""
    package = ["sciops", *path.parent.parts]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def house_imports(source: str, path: Path) -> set[str]:
    """The places a source text imports, anywhere in it; `__init__` stands for sciops itself."""
    parts = [name.split(".") for name in imported_modules(ast.walk(ast.parse(source)), path)]
    inside = [(*p, "")[1] for p in parts if p[0] == "sciops"]
    return {name if name in PLACES else "__init__" for name in inside}


def layering_errors(source: str, path: Path) -> list[str]:
    """What is wrong with the arrows of a source text at `path`, relative to sciops/."""
    place = place_of(path)
    if place not in ARROWS:
        return [
            f"sciops/{path}: add {place!r} and what it may import to ARROWS in test_layering.py"
        ]
    allowed = sorted(ARROWS[place])
    bad = sorted(house_imports(source, path) - ARROWS[place] - {place})
    return [f"sciops/{path} imports {b!r}; {place!r} may import {allowed}" for b in bad]


def run_on_import(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is imported: no function bodies, no TYPE_CHECKING."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from run_on_import(child)


def heavy_imports(source: str, path: Path) -> set[str]:
    names = imported_modules(run_on_import(ast.parse(source)), path)
    return {name.split(".")[0] for name in names} & HEAVY


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_imports_follow_the_arrows(path):
    assert layering_errors((HOUSE / path).read_text(encoding="utf-8"), path) == []


@pytest.mark.parametrize("path", [p for p in PATHS if place_of(p) in LIGHT_PLACES], ids=str)
def test_heavy_packages_stay_out_of_light_places(path):
    assert heavy_imports((HOUSE / path).read_text(encoding="utf-8"), path) == set()


def test_two_levels_and_no_drawer_for_everything():
    folders = {path.parent for path in PATHS}
    assert [str(f) for f in folders if len(f.parts) > 1] == []
    assert [str(f) for f in folders if BANNED_FOLDERS & set(f.parts)] == []


@pytest.mark.parametrize(
    "source",
    [
        "import sciops.searching.patch",
        "from sciops.searching import patch",
        "from sciops import searching",
        "from ..searching.patch import relax",
        "from .. import searching",
        "def f():\n    from sciops.searching.patch import relax",
        "import sciops",
        "from sciops import relax",
    ],
)
def test_checker_catches_a_forbidden_import(source):
    assert len(layering_errors(source, Path("operators/xd.py"))) == 1
    assert layering_errors("from . import butterfly\nimport torch", Path("operators/xd.py")) == []


def test_checker_asks_for_a_line_in_the_table():
    assert "add 'helpers'" in layering_errors("", Path("helpers.py"))[0]


def test_checker_knows_what_runs_on_import():
    path = Path("searching/patch.py")
    assert heavy_imports("try:\n    import xarray as xr\nexcept ImportError: ...", path)
    assert heavy_imports("from matplotlib.pyplot import plot", path) == {"matplotlib"}
    assert not heavy_imports("def f():\n    import xarray", path)
    assert not heavy_imports("if TYPE_CHECKING:\n    import xarray", path)
