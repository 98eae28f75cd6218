"""Whether a built site holds together: every internal link leads somewhere, nothing is fetched.

    python -m docs.check_site out/site

Links to other sites are left to the reader's browser; scripts, styles, fonts and pictures of other
sites are errors.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "embed": "src"}
SEEN = {"a": "href", "link": "href", **FETCHED}
STYLES = ("stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "modulepreload")


class Page(HTMLParser):
    """The anchors of a page, where it leads to, and what it fetches."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        target = found.get(SEEN.get(tag, ""))
        if target is None:
            return
        self.links.append(target)
        if tag in FETCHED or (tag == "link" and found.get("rel") in STYLES):
            self.fetched.append(target)


def problems(site: Path) -> list[str]:
    """What is wrong, a line for each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        return [f"{site} has no page"]
    return [
        f"{path.relative_to(site)}: {said}"
        for path, page in pages.items()
        for said in (*_fetched(page), *_broken(path, page, pages, site))
    ]


def _fetched(page: Page) -> Iterator[str]:
    for target in page.fetched:
        if urlsplit(target).netloc:
            yield f"fetches {target}"


def _broken(path: Path, page: Page, pages: dict[Path, Page], site: Path) -> Iterator[str]:
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        absolute = parts.path.startswith("/")
        if absolute and path.name == "404.html":
            continue  # served from anywhere, it names its files from the root
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        if absolute or not target.exists() or not target.is_relative_to(site):
            yield f"{link} leads nowhere"
        elif target in pages and not _has(pages[target], parts.fragment):
            yield f"{link} has no such anchor"


def _has(page: Page, anchor: str) -> bool:
    return anchor in ("", "__skip") or bool({anchor, unquote(anchor)} & page.anchors)


def main(site: Path) -> int:
    found = problems(site.resolve())
    print("\n".join(found) or f"{site}: every link leads somewhere, nothing is fetched")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
