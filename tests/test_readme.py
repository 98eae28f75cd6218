"""Everything README.md shows is true: its Python runs, its commands and its files exist."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

import sciops
from sciops.cli.app import app

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```([\w-]*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
MAP_LINE = re.compile(r"(\S+) {2,}\S")
SHELLS = {"sh", "bash", "shell", "console"}


class Block(NamedTuple):
    language: str
    text: str
    line: int  # of its first line in README.md


def find_blocks(readme: str) -> list[Block]:
    return [
        Block(m[1], m[2], readme.count("\n", 0, m.start(2)) + 1) for m in FENCE.finditer(readme)
    ]


def readme_blocks() -> list[Block]:
    return find_blocks((ROOT / "README.md").read_text(encoding="utf-8"))


def make_goals(script: str) -> set[str]:
    """The targets a shell script asks `make` for."""
    goals = set()
    for command in re.split(r"&&|\|\||[;|\n]", re.sub(r"(^|\s)#.*", "", script)):
        words = [w for w in command.removeprefix("$ ").split() if "=" not in w]
        if words[:1] == ["make"]:
            goals |= {word for word in words[1:] if not word.startswith("-")}
    return goals


def make_targets(makefile: str) -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*)\s*:(?!=)", makefile, re.MULTILINE))


def mapped_paths(blocks: list[Block]) -> list[str]:
    """The paths of the file map: blocks of `path  what it is` lines that show files of sciops/."""
    paths = []
    for block in blocks:
        found = [m[1] for m in map(MAP_LINE.match, block.text.splitlines()) if m]
        if any(path.startswith("sciops/") for path in found):
            paths += found
    return paths


def test_python_blocks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    blocks = [block for block in readme_blocks() if block.language == "python"]
    assert blocks, "README.md shows no ```python block"
    namespace = {"__name__": "__main__"}
    for block in blocks:
        source = "\n" * (block.line - 1) + block.text  # tracebacks then show README's own lines
        exec(compile(source, str(ROOT / "README.md"), "exec"), namespace)


def test_make_commands_are_targets():
    goals = set().union(*(make_goals(b.text) for b in readme_blocks() if b.language in SHELLS))
    assert goals, "README.md shows no make command in a ```sh block"
    assert goals - make_targets((ROOT / "Makefile").read_text(encoding="utf-8")) == set()


def sciops_commands(blocks: list[Block]) -> list[list[str]]:
    """The words of every `sciops …` line in a shell block."""
    lines = [line for b in blocks if b.language in SHELLS for line in b.text.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("sciops ")]


def run_commands(blocks: list[Block]) -> None:
    """Run the `sciops …` lines of some blocks here; there has to be one at least."""
    commands = sciops_commands(blocks)
    assert commands, "there is no sciops command in a ```sh block"
    for words in commands:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output


def test_sciops_commands_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_commands(readme_blocks())


def test_pictures_and_pages_that_it_links_to_are_there():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)", readme)
    assert [link for link in links if not (ROOT / link).exists()] == []
    pictures = [ROOT / link for link in links if link.endswith(".png")]
    assert len(pictures) == 1 and pictures[0].stat().st_size < 200_000


def test_benchmarks_of_the_table_of_results_are_there():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("\n## Results\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[-2] for line in table.splitlines() if line.startswith("| ")][1:]
    named = [command for row in rows for command in re.findall(r"`(\w+)", row)]
    assert len(rows) > 10 and len(named) >= len(rows)
    assert [name for name in named if not (ROOT / "benchmarks" / f"{name}.py").exists()] == []


def test_every_data_set_has_a_card():
    cards = {path.parent.name for path in (ROOT / "datasets").glob("*/README.md")}
    assert cards == set(sciops.datasets().index)


def test_files_of_the_map_exist():
    assert [path for path in mapped_paths(readme_blocks()) if not (ROOT / path).exists()] == []


def test_map_shows_every_file():
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "sciops").rglob("*.py")}
    missing = files - set(mapped_paths(readme_blocks()))
    assert {path for path in missing if not path.endswith("__init__.py")} == set()


def test_this_reader_of_readmes():
    script = "git clone x && cd x\n$ PYTHON=python3.12 make -s demo  # then: make tea\nmake a b"
    assert make_goals(script) == {"demo", "a", "b"}
    assert make_targets("X := 1\n.PHONY: x\ntest-slow: lint ## y\n\techo a: b\n") == {"test-slow"}
    readme = "# T\n```python\nx = 1\n```\n\n```\nsciops/a.py  one\n    and more\ntests/  two\n```\n"
    blocks = find_blocks(readme)
    assert blocks[0] == ("python", "x = 1\n", 3)
    assert mapped_paths(blocks) == ["sciops/a.py", "tests/"]
