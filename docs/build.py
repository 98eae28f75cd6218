"""What MkDocs calls while it builds the site: generated pages, pictures, notebooks, formulas.

Nothing is written beside the sources: a page that is made of the code cannot be out of date.
"""

import re
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

from docs import cards, figures, formulas, reference, results

COMMANDS = "<!-- all commands -->"
LINK = re.compile(r'href="(?![a-z]+:)(\.\./)?(?:docs/)?([^"#:]+)\.(?:md|ipynb)(?=["#])')


def root_of(config) -> Path:
    """The folder of mkdocs.yml, the repository."""
    return Path(config.config_file_path).parent


def notebooks(config) -> list[Path]:
    """The tutorials, in the order of their names; none if there is no such folder."""
    return sorted((root_of(config) / "tutorials").glob("*.ipynb"))


def on_config(config):
    """The tutorials come behind the first page."""
    pages = [f"tutorials/{path.name}" for path in notebooks(config)]
    if pages:
        config.nav.insert(1, {"Tutorials": pages})
    return config


@event_priority(100)  # before notebooks are looked for
def on_files(files, config):
    made = {f"api/{name}.md": text for name, text in reference.api().items()}
    made |= {f"figures/{name}.svg": text for name, text in figures.drawn().items()}
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    where = (str(root_of(config)), config.site_dir, config.use_directory_urls)
    for path in notebooks(config):
        files.append(File(f"tutorials/{path.name}", *where))
    return files


def on_page_markdown(markdown, page, config, files):
    """What a page asks for in a comment: tables of results, commands, cards of data sets."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, reference.commands())
    markdown = cards.filled_in(markdown, root_of(config))
    return results.filled_in(markdown, root_of(config), page.file.src_uri)


def on_page_content(html, page, config, files):
    if page.file.src_uri.endswith(".ipynb"):
        return formulas.in_notebook(as_pages(html))
    return formulas.in_page(html)


def as_pages(html: str) -> str:
    """Links of a notebook to notebooks and to files of docs/, as links to their pages.

    >>> as_pages('<a href="../docs/results.md#darcy"> <a href="02_own.ipynb">')
    '<a href="../results.html#darcy"> <a href="02_own.html">'
    """
    return LINK.sub(lambda found: f'href="{found[1] or ""}{found[2]}.html', html)
