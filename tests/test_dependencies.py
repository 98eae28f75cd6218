"""What is installed with sciops: declared, used, and not below versions with known holes."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# package → versions without known holes, and why
SAFE = {
    "torch": (">=2.10", "CVE-2025-32434 and CVE-2026-24747: code and memory by weights_only files"),
    "pytorch-lightning": (">=2.6.6,!=2.6.2,!=2.6.3", "malicious releases, code in checkpoints"),
    "lightning": (">=2.6.6,!=2.6.2,!=2.6.3", "malicious releases, code in checkpoints"),
    "filelock": (">=3.20.4", "locks that follow a link which another user put in their place"),
}
# module → package, where the names differ
PACKAGES = {
    "Bio": "biopython",
    "PIL": "pillow",
    "griffe": "griffelib",
    "google_crc32c": "google-crc32c",
    "neuralop": "neuraloperator",
    "py3Dmol": "py3dmol",
    "pytorch_lightning": "pytorch-lightning",
    "sklearn": "scikit-learn",
}
# package → who uses it, if it is no import of the code
UNIMPORTED = {
    "ipykernel": "the kernel of the notebooks that nbclient runs",
    "mkdocs": "the command of `make docs`",
    "mkdocs-jupyter": "a plugin in mkdocs.yml",
    "mkdocs-material": "the theme in mkdocs.yml",
    "mkdocstrings": "a plugin in mkdocs.yml",
    "pytest-xdist": "`pytest -n 2` of `make test`",
    "ruff": "`make lint`",
}


def requirements(texts: list[str]) -> list[Requirement]:
    found = map(Requirement, texts)
    return [r for r in found if canonicalize_name(r.name) != PROJECT["name"]]


CORE = requirements(PROJECT["dependencies"])
EXTRAS = {name: requirements(e) for name, e in PROJECT["optional-dependencies"].items()}


def names(several: list[Requirement]) -> set[str]:
    return {canonicalize_name(requirement.name) for requirement in several}


def pinned() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def imported(folders: list[str]) -> dict[str, str]:
    """Packages that the code imports, each with a file that does."""
    found = {}
    for file in sorted(f for folder in folders for f in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module]
            modules += _named(node)
            for module in (m.partition(".")[0] for m in modules):
                if module not in (*sys.stdlib_module_names, *OWN):
                    package = canonicalize_name(PACKAGES.get(module, module))
                    found[package] = file.relative_to(ROOT).as_posix()
    return found


OWN = ("sciops", "tests", "benchmarks", "docs", "tutorials")


def _named(node: ast.AST) -> list[str]:
    """Modules that are imported by their names: `import_module`, pytest's `importorskip`."""
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in ("import_module", "importorskip") and not node.args[0].value.startswith("."):
            return [node.args[0].value]
    return []


@pytest.mark.parametrize("package", SAFE)
def test_no_version_with_known_holes_is_allowed(package):
    safe, why = SAFE[package]
    for requirement in [*CORE, *(r for several in EXTRAS.values() for r in several)]:
        if canonicalize_name(requirement.name) == package:
            assert _floor(requirement.specifier) in SpecifierSet(safe), why
    if package in pinned():
        assert pinned()[package] in SpecifierSet(safe), why


def _floor(specifier: SpecifierSet) -> Version:
    """The oldest version that is allowed."""
    return max(Version(s.version) for s in specifier if s.operator in (">=", "==", "~="))


def test_every_requirement_has_a_floor_that_the_pins_keep():
    for requirement in [*CORE, *(r for several in EXTRAS.values() for r in several)]:
        floor = _floor(requirement.specifier)
        pin = pinned()[canonicalize_name(requirement.name)]
        assert pin >= floor, f"constraints.txt has {requirement.name} {pin}, below {floor}"


def test_what_sciops_imports_is_declared():
    declared = names(CORE).union(*(names(e) for e in EXTRAS.values() if e is not EXTRAS["dev"]))
    undeclared = {p: file for p, file in imported(["sciops"]).items() if p not in declared}
    assert not undeclared, f"not in pyproject.toml: {undeclared}"


def test_what_tests_and_pages_import_is_declared():
    declared = names(CORE).union(*map(names, EXTRAS.values()))
    folders = ["tests", "benchmarks", "docs", "tutorials"]
    undeclared = {p: file for p, file in imported(folders).items() if p not in declared}
    assert not undeclared, f"not in an extra of pyproject.toml: {undeclared}"


def test_core_requirements_are_used_by_sciops():
    unused = names(CORE) - set(imported(["sciops"]))
    assert not unused, f"no import of sciops/ needs {', '.join(sorted(unused))}"


def test_extras_are_used_by_something():
    used = set(imported(list(OWN))) | set(UNIMPORTED)
    unused = set().union(*map(names, EXTRAS.values())) - used
    assert not unused, f"nothing uses {', '.join(sorted(unused))}"


def test_what_is_used_without_an_import_is_named_where_it_is_said_to_be():
    places = ("mkdocs.yml", "Makefile", "tutorials/execute.py")
    text = "".join((ROOT / place).read_text(encoding="utf-8") for place in places)
    words = set(re.findall(r"[\w-]+", text))
    known = {"mkdocs-material": "material", "pytest-xdist": "pytest", "ipykernel": "nbclient"}
    for package in UNIMPORTED:
        assert known.get(package, package) in words, f"{package}: {UNIMPORTED[package]}?"
