"""Execute the tutorials and store their outputs in place.

    python -m tutorials.execute              all of them
    python -m tutorials.execute 01 07        those whose names begin so

Each has a kernel and a temporary working directory of its own.  SCIOPS_EXAMPLES, the folder of real
data, is `shared/data` beside the repository where that exists, as in the tests.
"""

import argparse
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent
EXAMPLES = FOLDER.parents[1] / "shared" / "data"
QUIET = "--log-level=ERROR"  # of the kernel: it warns that it listens on this machine
PARAMETERS = "parameters"  # the tag of the cell after which other values are put


def notebooks(beginnings: tuple[str, ...] = ("",)) -> list[Path]:
    """The tutorials in their order."""
    return sorted(p for p in FOLDER.glob("[0-9]*.ipynb") if p.name.startswith(beginnings))


def executed(
    path: Path, folder: Path, *, quick: bool = False, environment: Mapping[str, str] | None = None
) -> nbformat.NotebookNode:
    """A notebook with its outputs, run in a working directory; an error in it is raised.

    quick:       at its reduced budget
    environment: variables that its kernel has besides those of this process
    """
    notebook = nbformat.read(path, as_version=4)
    if quick:
        notebook.cells.insert(
            _after_parameters(notebook), nbformat.v4.new_code_cell("QUICK = True")
        )
    own = {"MPLBACKEND": "Agg", "SCIOPS_NO_PROGRESS": "1", **(environment or {})}
    paths = [str(FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=None,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=[QUIET],
        startup_timeout=300,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **own})
    return notebook


def _after_parameters(notebook: nbformat.NotebookNode) -> int:
    """Where values go that replace those of the cell tagged `parameters`."""
    tagged = [PARAMETERS in cell.metadata.get("tags", []) for cell in notebook.cells]
    if sum(tagged) != 1:
        raise ValueError(f"one cell should have the tag {PARAMETERS!r}, {sum(tagged)} have it")
    return tagged.index(True) + 1


def store(path: Path) -> None:
    """Execute a notebook in full and write it with its outputs."""
    examples = {"SCIOPS_EXAMPLES": str(EXAMPLES)} if EXAMPLES.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        notebook = executed(path, Path(folder), environment=examples)
    notebook.metadata["language_info"] = {"name": "python"}  # no versions: they only make noise
    nbformat.write(notebook, path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tutorials.execute", description=__doc__)
    parser.add_argument("beginnings", nargs="*", help="of names; all if there are none")
    asked = tuple(parser.parse_args().beginnings) or ("",)
    chosen = notebooks(asked)
    if not chosen:
        known = ", ".join(path.name for path in notebooks())
        raise SystemExit(f"no tutorial begins with {' or '.join(asked)}; there are {known}")
    for path in chosen:
        print(path.name, flush=True)
        store(path)


if __name__ == "__main__":
    main()
