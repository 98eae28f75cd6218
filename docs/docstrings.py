"""The docstrings of the house as Markdown, for mkdocstrings.

Parameters are lines `name: what it is`, aligned or not, which Markdown would melt into a paragraph;
here they become a list, and examples code.  Formulas are indented, which Markdown shows as they
are.
"""

import re

import griffe

PARAMETER = re.compile(r"^((?:`?[\w.*]+`?(?:, )?)+):(?: +(.*))?$")
STAR = re.compile(r"(?<=[(,\s])\*(?=\w+[,)])")  # of (out, *kernel), which is no emphasis
GOOGLE = ("Args:", "Returns:", "Raises:")


def as_markdown(text: str) -> str:
    """
    >>> print(as_markdown("A thing.\\n\\nn:   how many\\n     of them\\nsize: how large"))
    A thing.
    <BLANKLINE>
    - **`n`** how many of them
    - **`size`** how large
    """
    return "\n\n".join(map(_paragraph, re.split(r"\n\s*\n", text)))


def _paragraph(text: str) -> str:
    lines = text.split("\n")
    if lines[0].lstrip().startswith(">>>"):
        return "\n".join(["```pycon", *lines, "```"])
    if lines[0].strip() in GOOGLE:
        lines = [line.strip() if PARAMETER.match(line.strip()) else line for line in lines[1:]]
    if lines[0].startswith("    "):
        return text
    lines = [STAR.sub(r"\\*", line) if "`" not in line else line for line in lines]
    if not PARAMETER.match(lines[0]):
        return "\n".join(lines)
    items: list[str] = []
    for line in lines:
        found = PARAMETER.match(line)
        if found:
            items.append(f"- **`{found[1].replace('`', '')}`** {found[2] or ''}".rstrip())
        else:
            items[-1] += f" {line.strip()}"
    return "\n".join(items)


class HouseStyle(griffe.Extension):
    """Rewrites every docstring that is read."""

    def on_instance(self, *, obj: griffe.Object, **_) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
