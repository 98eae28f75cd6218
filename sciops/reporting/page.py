"""The parts of an HTML page that needs nothing else: no network, no script, no file beside it.

Text is escaped where it enters the page.  Figures are inline SVG whose colours follow the page, in
light and dark.  The same content gives the same bytes.
"""

import io
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from sciops.plots.style import INK, MUTED, PALETTE, RULE, own_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# colour in a figure → name of the page's own, and its value on a dark page
ADAPTED = {
    INK: ("ink", "#e4e8ed"),
    MUTED: ("muted", "#97a1ad"),
    RULE: ("rule", "#333b45"),
    **{
        colour: (f"line{number}", dark)
        for number, (colour, dark) in enumerate(
            zip(
                PALETTE,
                ("#4ba6e0", "#f0803a", "#2fc39a", "#e29fc3", "#f0b73f", "#86cdf5"),
                strict=True,
            )
        )
    },
}

STYLESHEET = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --code: #eef1f4; LIGHT }
@media (prefers-color-scheme: dark) {
  :root { --page: #12161b; --card: #1a2027; --code: #232b34; DARK }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: clamp(1rem, 4vw, 3rem) clamp(.8rem, 3vw, 2rem); }
h1 { font-size: clamp(1.6rem, 4vw, 2.3rem); line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.25rem; margin: 0 0 .5rem; }
p { margin: 0 0 .9rem; max-width: 52rem; }
.lead { font-size: 1.1rem; }
.note { color: var(--muted); font-size: .93rem; }
.warning { border-left: 4px solid var(--line1); padding-left: .8rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem;
  margin: 1.4rem 0; }
.tile, section { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; }
.tile { padding: .8rem 1rem; }
.tile b { display: block; font-size: 1.5rem; font-weight: 600; line-height: 1.3;
  font-variant-numeric: tabular-nums; }
.tile span { color: var(--muted); font-size: .9rem; }
section { padding: clamp(1rem, 2.5vw, 1.6rem); margin: 0 0 1.2rem; }
section > :last-child { margin-bottom: 0; }
.wide { overflow-x: auto; margin: 0 0 1rem; }
figure { margin: 0 0 1rem; }
figure .wide { margin: 0; }
figure svg { display: block; width: 100%; height: auto; max-width: var(--natural);
  min-width: calc(.55 * var(--natural)); }
figcaption { color: var(--muted); font-size: .93rem; margin-top: .4rem; max-width: 52rem; }
.pair { display: grid; gap: 0 1.2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); }
.pair > * { min-width: 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; }
th, td { padding: .35rem .9rem .35rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
th { font-weight: 600; white-space: normal; vertical-align: bottom; }
tbody tr:last-child td { border-bottom: none; }
th:first-child, td:first-child, table.text td, table.text th { text-align: left; }
table.text td { vertical-align: top; }
table.text td:last-child { white-space: normal; overflow-wrap: anywhere; }
pre { background: var(--code); border-radius: 8px; padding: .8rem 1rem; margin: 0 0 .9rem;
  white-space: pre-wrap; overflow-wrap: anywhere;
  font: .92rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
summary { cursor: pointer; margin: .6rem 0; }
footer { color: var(--muted); font-size: .88rem; padding: .4rem 0; }
@media (max-width: 35rem) {
  table { font-size: .86rem; }
  th, td { padding-right: .6rem; }
  td:first-child { white-space: normal; min-width: 6rem; }
  .wide th:first-child, .wide td:first-child { position: sticky; left: 0; background: var(--card); }
}
@media print { body { background: none; } section, .tile { break-inside: avoid; } }
"""


def page(title: str, body: Sequence[str]) -> str:
    """A whole page."""
    light = " ".join(f"--{name}: {colour};" for colour, (name, _) in ADAPTED.items())
    dark = " ".join(f"--{name}: {colour};" for name, colour in ADAPTED.values())
    style = STYLESHEET.replace("LIGHT", light).replace("DARK", dark).strip()
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}\n</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    """A card with a heading."""
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def heading(text: str) -> str:
    """The title of the page."""
    return f"<h1>{escape(text)}</h1>"


def paragraph(text: str, kind: str = "") -> str:
    """Text of its own; kind: "lead", "note" or "warning".

    >>> paragraph("a < b", "note")
    '<p class="note">a &lt; b</p>'
    """
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def tiles(numbers: dict[str, str]) -> str:
    """Large numbers, {what: how much}."""
    cells = "\n".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
        for name, value in numbers.items()
    )
    return f'<div class="tiles">\n{cells}\n</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """A table; kind="text" for words instead of numbers."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    lines = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    head_row = f"<thead><tr>{top}</tr></thead>\n" if head else ""
    return (
        f'<div class="wide"><table class="{kind}">\n{head_row}<tbody>\n{lines}\n</tbody>\n</table>'
        "</div>"
    )


def code(text: str) -> str:
    """Text as it is typed."""
    return f"<pre>{escape(text)}</pre>"


def pair(*parts: str) -> str:
    """Side by side where there is room."""
    return '<div class="pair">\n' + "\n".join(parts) + "\n</div>"


def details(summary: str, *parts: str) -> str:
    """What is folded away until it is asked for."""
    return f"<details>\n<summary>{escape(summary)}</summary>\n" + "\n".join(parts) + "\n</details>"


def drawing(figure: "Figure", name: str, caption: str) -> str:
    """A figure as inline SVG; `name` must be another for each figure of a page."""
    width, _ = figure.get_size_inches()
    return (
        f'<figure>\n<div class="wide" style="--natural: {width:g}in">\n'
        f"{as_svg(figure, name, caption)}\n</div>\n"
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>"
    )


def as_svg(figure: "Figure", name: str, label: str) -> str:
    """SVG in the colours of the page, without anything that changes from one call to the next."""
    stream = io.StringIO()
    with own_style(**{"svg.hashsalt": name}):
        figure.savefig(stream, format="svg", transparent=True)
    text = stream.getvalue()
    text = re.sub(
        r"<metadata>.*?</metadata>|<!--.*?-->", "", text[text.index("<svg") :], flags=re.S
    )
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)  # ids are for the whole page
    for colour, (own, _) in ADAPTED.items():
        text = text.replace(colour, f"var(--{own})")
    opening = f'<svg role="img" aria-label="{escape(label)}"'
    text = re.sub(r"<svg\b", lambda _: opening, text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return re.sub(r"\n\s*(?=\n)|[ \t]+(?=\n)", "", text).strip()


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "epoch"), counted(1000, "sample")
    ('1 epoch', '1000 samples')
    """
    return f"{n} {what}" + ("" if n == 1 else "s")


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(4.26), duration(305), duration(7500)
    ('4.3 s', '5 min 5 s', '2 h 5 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
