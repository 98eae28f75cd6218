"""The site is built without a warning, with and without notebooks, and holds together."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.check_site import problems

ROOT = Path(__file__).parents[2]
TEXT = "# First steps\n\nA formula $x^2$, and pages: [1](../results.md), [2](../docs/index.md).\n"


def write_notebook(path: Path) -> None:
    shown = {"output_type": "stream", "name": "stdout", "text": ["$5 and $6\n"]}
    code = dict(cell_type="code", id="b", execution_count=1, metadata={}, source=["1"])
    cells = [dict(cell_type="markdown", id="a", metadata={}, source=[TEXT])]
    cells.append({**code, "outputs": [shown]})
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.parent.mkdir()
    path.write_text(json.dumps(dict(cells=cells, metadata=kernel, nbformat=4, nbformat_minor=5)))


@pytest.mark.slow
@pytest.mark.parametrize("with_notebook", [False, True])
def test_site(with_notebook, tmp_path):
    for name in ("docs", "sciops", "benchmarks", "datasets", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    if with_notebook:
        write_notebook(tmp_path / "tutorials" / "01_first.ipynb")
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    site = tmp_path / "out" / "site"
    assert problems(site) == []
    tutorial = site / "tutorials" / "01_first.html"
    assert tutorial.exists() is with_notebook
    if with_notebook:
        page = tutorial.read_text(encoding="utf-8")
        assert "<math" in page and "$5 and $6" in page
