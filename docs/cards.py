"""What the page about data formats is made of: the cards of the data sets, and the known layouts.

    <!-- card: darcy -->     the card of a data set
    <!-- store -->           how a store lies on disk
    <!-- layouts -->         all layouts of files with fields

A page asks for them by these comments.
"""

import re
from pathlib import Path

from sciops.domains.layouts import SUFFIXES, layouts

CARD = re.compile(r"^<!-- card: (\w+) -->$", re.MULTILINE)


def filled_in(markdown: str, root: Path) -> str:
    folder = root / "datasets"
    markdown = CARD.sub(lambda found: lower(_text(folder / found[1]), found[1]), markdown)
    if "<!-- store -->" in markdown:
        markdown = markdown.replace("<!-- store -->", lower(_text(folder).partition("\n## ")[2]))
    return markdown.replace("<!-- layouts -->", table())


def _text(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8").strip()


def lower(text: str, anchor: str | None = None) -> str:
    """Headings one level lower; the first gets an anchor.

    >>> lower("# Darcy\\n\\n## Files\\n", "darcy")
    '## Darcy { #darcy }\\n\\n### Files\\n'
    """
    if anchor is not None:
        first, line, rest = text.partition("\n")
        text = f"{first} {{ #{anchor} }}{line}{rest}"
    return re.sub(r"^#", "##", text, flags=re.MULTILINE)


def table() -> str:
    """A row for each layout: what a file is recognised by, and whom it is from."""
    rows = ["| layout | of | files | variables | source | licence |", "|---|---|---|---|---|---|"]
    for name, layout in layouts().items():
        files = SUFFIXES[name.split("_")[0]].replace(" ", ", ")
        keys = ", ".join(f"`{key}`" for key in layout.keys)
        about = f"{layout.domain.name} | {files} | {keys} | {layout.source} | {layout.license}"
        rows.append(f"| `{name}` | {about} |")
    return "\n".join(rows)
