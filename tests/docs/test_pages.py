"""What the pages of the documentation show is true, and what they are made of is all there."""

import re
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
import typer
import xarray

import sciops
from docs import cards, figures, formulas, front_picture, reference, results
from docs.docstrings import as_markdown
from sciops.cli.app import app
from sciops.cli.examples import EXAMPLES
from sciops.domains.layouts import layouts
from tests.test_readme import find_blocks, run_commands, sciops_commands

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@by_page
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    blocks = [b for b in find_blocks(page.read_text("utf-8")) if b.language == "python"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    namespace = {"__name__": "__main__"}
    for block in blocks:
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)


def guides_with_commands() -> list[Path]:
    guides = [page for page in PAGES if page.parent.name == "guides"]
    return [page for page in guides if sciops_commands(find_blocks(page.read_text("utf-8")))]


@pytest.mark.parametrize("page", guides_with_commands(), ids=lambda page: page.stem)
def test_commands_of_guides_run_in_order_and_the_data_page_reads_their_store(
    page, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    run_commands(find_blocks(page.read_text("utf-8")))
    if page.stem == "fields":
        for block in find_blocks((ROOT / "datasets" / "README.md").read_text("utf-8")):
            exec(compile(block.text, "datasets/README.md", "exec"), {"xarray": xarray})


@by_page
def test_commands_of_a_page_have_only_options_that_there_are(page):
    """Also of those that take hours."""
    for words in sciops_commands(find_blocks(page.read_text("utf-8"))):
        command = typer.main.get_command(app)
        while hasattr(command, "commands"):
            command, words = command.commands[words[0]], words[1:]
        command.make_context("sciops", words)


def test_the_front_picture_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    small = dict(resolution=17, n_train=4, n_val=2, n_test=3, epochs=1, frequencies=4)
    run = sciops.train_pde("darcy", op="fno", out=tmp_path / "run", progress=False, **small)
    front_picture.main(run.path, tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 20_000
    lines = front_picture.curves(pd.read_csv(front_picture.TABLE))
    assert set(lines) == set(front_picture.LINES)
    assert all(front_picture.TRAINED in table.index for table in lines.values())


@by_page
def test_files_and_names_that_a_page_mentions_are_there(page):
    text = page.read_text("utf-8")
    files = re.findall(r"`((?:sciops|benchmarks|datasets|docs)/[\w/.-]*)`", text)
    assert [file for file in files if not (ROOT / file).exists()] == []
    for name in re.findall(r"`(sciops(?:\.\w+)+)`", text):
        assert importable(name), name


def importable(name: str) -> bool:
    """Whether a dotted name is a module, or in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        try:
            for part in parts[count:]:
                value = getattr(value, part)
        except AttributeError:
            return False
        return True
    return False


@by_page
def test_tables_that_a_page_asks_for_are_there(page):
    filled = results.filled_in(cards.filled_in(page.read_text("utf-8"), ROOT), ROOT, page.name)
    assert "<!-- results" not in filled and "<!-- card" not in filled and "<!-- all r" not in filled


def test_every_table_of_results_is_shown_with_its_commands():
    text = results.every_table(ROOT)
    for file in (ROOT / "benchmarks" / "results").glob("*.md"):
        assert f"{{ #{file.stem} }}" in text
        assert re.search(rf"python -m (benchmarks|tests)\.{file.stem}\b", text), file.stem
        rows = [line for line in file.read_text("utf-8").splitlines() if line.startswith("|")]
        assert all(results.unbroken(row) in text for row in rows)
    with pytest.raises(ValueError, match=r"pde_accuracy.md has no part 'heat'; it has .*darcy"):
        results.part(ROOT, "pde_accuracy", "heat")


def test_a_part_of_the_results():
    table = results.part(ROOT, "pde_accuracy", "darcy-slopes")
    assert table.startswith("| op |") and "Machines" not in table and "##" not in table


def test_every_layout_and_every_card_is_shown():
    text = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert set(cards.CARD.findall(text)) == set(sciops.datasets().index)
    table = cards.table()
    assert all(f"| `{name}` |" in table for name in layouts())


def test_the_reference_has_every_command_and_every_public_name():
    text = reference.commands()
    assert all(f"## sciops {name}\n" in text for name in EXAMPLES)
    assert all(line in text for lines in EXAMPLES.values() for line in lines)
    pages = reference.api()
    assert all(f"heading: sciops.{name}\n" in pages["verbs"] + "\n" for name in reference._VERBS)
    operators = sciops.operators.__all__
    assert all(f"heading: sciops.operators.{name}\n" in pages["operators"] for name in operators)
    places = re.findall(r"^::: (\S+)$", "\n".join(pages.values()), re.MULTILINE)
    assert len(places) > 60 and [name for name in places if not importable(name)] == []


def test_docstrings_of_the_house_become_lists():
    text = (
        "One.\n\nn, m: how many\n      of them\nsize: of (out, *kernel)\n\n    y = x\n\n>>> f(1)\n2"
    )
    assert as_markdown(text) == (
        "One.\n\n- **`n, m`** how many of them\n- **`size`** of (out, \\*kernel)\n\n    y = x\n\n"
        "```pycon\n>>> f(1)\n2\n```"
    )
    assert as_markdown("Args:\n    n: how many\n    m: more\n        of them") == (
        "- **`n`** how many\n- **`m`** more of them"
    )
    assert as_markdown("Plain text: with a colon.\nAnd more.") == (
        "Plain text: with a colon.\nAnd more."
    )


def test_formulas_become_mathml_and_code_stays():
    page = '<p><span class="arithmatex">\\(a &lt; b^2\\)</span></p>'
    assert formulas.in_page(page).startswith('<p><math xmlns="http://www.w3.org/1998/Math/MathML"')
    assert "arithmatex" not in formulas.in_page(page)
    block = '<div class="arithmatex">\\[\nK x\n\\]</div>'
    assert 'display="block"' in formulas.in_page(block)
    notebook = "<p>$x^2$ costs</p><pre>$5 and $6$</pre><p>$$y$$</p><p>5 $ and 6 $</p>"
    made = formulas.in_notebook(notebook)
    assert made.count("<math") == 2 and "<pre>$5 and $6$</pre>" in made
    assert "<p>5 $ and 6 $</p>" in made


def test_pictures_are_drawn():
    drawn = figures.drawn()
    assert set(drawn) == set(figures.PICTURES)
    assert all(text.lstrip().startswith("<?xml") and "</svg>" in text for text in drawn.values())
    used = {
        name
        for page in PAGES
        for name in re.findall(r"figures/(\w+)\.svg", page.read_text("utf-8"))
    }
    assert used == set(drawn)
