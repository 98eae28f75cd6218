"""The tutorials run, are stored with their outputs, and have nothing of a machine in them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from tutorials.execute import EXAMPLES, FOLDER, executed, notebooks

PATHS = notebooks()
LARGEST, LARGEST_TOGETHER = 300_000, 2_000_000  # bytes
OF_A_MACHINE = re.compile(r"(?<![\w.:/<])/\w+/\w|\b\w:\\+\w")
WITH_REAL_DATA = [path for path in PATHS if "SCIOPS_EXAMPLES" in path.read_text(encoding="utf-8")]


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def said(output: nbformat.NotebookNode) -> str:
    """All text of an output."""
    texts = [text for kind, text in output.get("data", {}).items() if not kind.startswith("image")]
    return "\n".join([output.get("text", ""), *map(str, texts)])


def assert_quiet(notebook: nbformat.NotebookNode) -> None:
    kinds = {(output.output_type, output.get("name")) for output in outputs(notebook)}
    assert kinds <= {("stream", "stdout"), ("execute_result", None), ("display_data", None)}


def pictures(notebook: nbformat.NotebookNode) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs(notebook))


def small_notebook(*cells: str, tags: tuple[str, ...] = ("parameters",)) -> nbformat.NotebookNode:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    notebook.cells[0].metadata["tags"] = list(tags)
    return notebook


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_runs_at_a_reduced_budget(path, tmp_path):
    stored = pictures(nbformat.read(path, 4))
    environment = {"SCIOPS_DATA_DIR": str(tmp_path / "kept"), "SCIOPS_EXAMPLES": str(tmp_path)}
    notebook = executed(path, tmp_path, quick=True, environment=environment)
    assert_quiet(notebook)
    assert pictures(notebook) == stored


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_REAL_DATA, ids=lambda path: path.stem)
def test_runs_with_real_data(path, tmp_path):
    if not EXAMPLES.exists():
        pytest.skip("the real data are not on this machine")
    notebook = executed(path, tmp_path, quick=True, environment={"SCIOPS_EXAMPLES": str(EXAMPLES)})
    assert_quiet(notebook)
    assert not {"synthetic", "simulated"} & set("".join(map(said, outputs(notebook))).split())


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_is_stored_with_its_outputs(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert_quiet(notebook)
    assert pictures(notebook) >= 2
    assert OF_A_MACHINE.findall("\n".join(map(said, outputs(notebook)))) == []
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_begins_with_a_title_and_a_budget(path):
    first, budget = nbformat.read(path, 4).cells[:2]
    assert first.source.startswith(f"# {int(path.name[:2])} · ")
    assert budget.metadata["tags"] == ["parameters"]
    assert budget.source.startswith("QUICK = False")


def test_are_numbered_and_small_together():
    assert [int(path.name[:2]) for path in PATHS] == list(range(1, len(PATHS) + 1))
    assert sum(path.stat().st_size for path in PATHS) < LARGEST_TOGETHER


def test_are_formatted():
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, FOLDER], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_links_lead_to_files_and_the_page_lists_every_notebook():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    texts = [
        c.source for p in PATHS for c in nbformat.read(p, 4).cells if c.cell_type == "markdown"
    ]
    links = re.findall(r"\]\(([^)#]+)\)", page), re.findall(r"\]\(([^)#]+)\)", "\n".join(texts))
    assert [link for some in links for link in some if not (FOLDER / link).exists()] == []
    assert [link for link in links[0] if link.endswith(".ipynb")] == [path.name for path in PATHS]


def test_this_execution(tmp_path):
    path = tmp_path / "some.ipynb"
    cells = "QUICK = False", "import os; print(os.environ['FEW'] if QUICK else 'all', os.getcwd())"
    nbformat.write(small_notebook(*cells, "raise KeyError(QUICK)"), path)
    with pytest.raises(CellExecutionError, match=r"KeyError.*: True"):
        executed(path, tmp_path, quick=True, environment={"FEW": "few"})
    nbformat.write(small_notebook(*cells), path)
    notebook = executed(path, tmp_path, quick=True, environment={"FEW": "few"})
    assert outputs(notebook)[0].text == f"few {Path(tmp_path).resolve()}\n"
    nbformat.write(small_notebook(*cells, tags=()), path)
    with pytest.raises(ValueError, match="one cell should have the tag 'parameters', 0 have it"):
        executed(path, tmp_path, quick=True)


def test_the_pattern_finds_paths_of_machines():
    for text in ("/home/me/x", "in /var/ipykernel_1/2.py:5", "'C:\\\\Users\\\\me'", "(/srv/x)"):
        assert OF_A_MACHINE.search(text)
    for text in ("runs/tmp/x", "https://a.b/home/", "K / L", json.dumps({"a": "b/c"})):
        assert not OF_A_MACHINE.search(text)
