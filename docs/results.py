"""The page of results, from the tables that the benchmarks wrote and their own descriptions.

A page may also ask for one table, or for a part of one with a heading of its own:

    <!-- results: pde_accuracy / darcy-slopes -->
"""

import ast
import re
from pathlib import Path

WANTED = re.compile(r"^<!-- results: (\w+)(?: / (.+?))? -->$", re.MULTILINE)

ALL = "<!-- all results -->"


def every_table(root: Path) -> str:
    """All tables, each with the description of the program that wrote it."""
    parts = []
    for file in sorted((root / "benchmarks" / "results").glob("*.md")):
        title, tables = split_title(file.read_text(encoding="utf-8"))
        parts += [f"## {title} {{ #{file.stem} }}", description(root, file.stem)]
        lower = re.sub(r"^##", "###", tables, flags=re.MULTILINE).strip()
        parts += [unbroken(lower.replace("\nMachines:\n", "\nMachines:\n\n"))]
    return "\n\n".join(parts)


def split_title(text: str) -> tuple[str, str]:
    """
    >>> split_title("# Music: nats\\n\\n| a |\\n")
    ('Music: nats', '\\n| a |\\n')
    """
    first, _, rest = text.partition("\n")
    return first.removeprefix("# "), rest


def description(root: Path, name: str) -> str:
    """The docstring of a benchmark, or of a program among the tests: what it does, its commands."""
    files = root / "benchmarks" / f"{name}.py", root / "tests" / name / "__main__.py"
    source = next(file for file in files if file.exists()).read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source))


def unbroken(table: str) -> str:
    """Numbers that stay on one line.

    >>> unbroken("0.5 ± 0.1 (3)")
    '0.5\xa0±\xa00.1\xa0(3)'
    """
    return re.sub(r" \((\d+)\)", "\xa0(\\1)", table.replace(" ± ", "\xa0±\xa0"))


def part(root: Path, name: str, heading: str | None) -> str:
    """The tables of a file, or those below one of its headings; never the names of machines."""
    _, text = split_title((root / "benchmarks" / "results" / f"{name}.md").read_text("utf-8"))
    text = text.partition("\nMachines:")[0]
    if heading is None:
        return unbroken(text.strip())
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    found = {body.partition("\n")[0].strip(): body.partition("\n")[2].strip() for body in sections}
    if heading not in found:
        known = ", ".join(found) or "none"
        raise ValueError(f"results/{name}.md has no part {heading!r}; it has {known}")
    return unbroken(found[heading])


def filled_in(markdown: str, root: Path, page_uri: str) -> str:
    """A page with the tables that it asks for, each with a link to its commands."""
    up = "../" * page_uri.count("/")

    def table(found: re.Match) -> str:
        link = f"[How to run this]({up}results.md#{found[1]})"
        return f"{part(root, found[1], found[2])}\n\n{link}"

    if ALL in markdown:
        markdown = markdown.replace(ALL, every_table(root))
    return WANTED.sub(table, markdown)
