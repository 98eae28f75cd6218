"""Formulas as MathML, made when the site is built: browsers need no script to show them."""

import re
from html import unescape

from latex2mathml.converter import convert

IN_LINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
ON_ITS_OWN = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
DOLLARS = re.compile(r"\$\$(.+?)\$\$|\$([^\s$](?:[^$\n]*[^\s$\\])?)\$", re.DOTALL)
AS_IT_IS = re.compile(r"(<(pre|code|script|style|svg|math)\b.*?</\2>|<[^>]+>)", re.DOTALL)


def in_page(html: str) -> str:
    """Formulas that arithmatex has found."""
    html = ON_ITS_OWN.sub(lambda found: mathml(found[1], "block"), html)
    return IN_LINE.sub(lambda found: mathml(found[1], "inline"), html)


def in_notebook(html: str) -> str:
    """Formulas between dollars, in text but not in code, output or tags."""
    parts, last = [], 0
    for kept in AS_IT_IS.finditer(html):
        parts += [_dollars(html[last : kept.start()]), kept[0]]
        last = kept.end()
    return "".join([*parts, _dollars(html[last:])])


def mathml(tex: str, display: str) -> str:
    """
    >>> mathml("x^2", "inline").startswith("<math")
    True
    """
    return convert(unescape(tex).strip(), display=display)


def _dollars(text: str) -> str:
    return DOLLARS.sub(
        lambda found: mathml(found[1] or found[2], "block" if found[1] else "inline"), text
    )
