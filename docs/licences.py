"""Licences of all that sciops needs: `python -m docs.licences` writes LICENCES.md.

What is needed is what pyproject.toml requires, the extras included, and what that requires in turn,
as far as it is installed.  A licence that is not known ends it with an error: look it up, and add
it to `KNOWN` or `LOOKED_UP`.
"""

import re
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

# what a licence may be called → how we call it
KNOWN = {
    r"(the )?mit( license| no attribution)?( \(mit\))?|expat": "MIT",
    r"apache.?(software )?(license)?,?.?(version )?2(\.0)?|apache(.software)?.license.*|apache": (
        "Apache-2.0"
    ),
    r"(new |modified |3-clause )?bsd(.license)?(.3.clause)?(.*revised.*|.license)?|bsd.3.*": "BSD",
    r"bsd.2.clause.*|simplified bsd": "BSD",
    r"(python|psf).*": "PSF",
    r"mpl.2.0|mozilla public license 2\.0.*": "MPL-2.0",
    r"isc.*": "ISC",
    r"(the )?unlicense.*": "Unlicense",
    r"zlib|hpnd|mit-cmu|historical permission.*|0bsd|cc0-1\.0|zpl.*": "permissive",
    r"lgpl.*|gnu lesser.*": "LGPL",
}
# packages whose metadata do not say it, or not in one word
LOOKED_UP = {"biopython": "Biopython (permissive)", "grakel": "BSD", "torch": "BSD"}


def needed() -> list[Distribution]:
    """The installed packages that sciops needs, in alphabetical order."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    left = [*project["dependencies"], *(text for several in extras for text in several)]
    found: dict[str, Distribution] = {}
    while left:
        requirement = Requirement(left.pop())
        name = canonicalize_name(requirement.name)
        if name == project["name"] or name in found or not _applies(requirement):
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        left += [text for text in found[name].requires or [] if "extra ==" not in text]
    return [found[name] for name in sorted(found)]


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def licence_of(package: Distribution) -> str | None:
    """The licence of a package, None if it is not known."""
    about = package.metadata
    name = canonicalize_name(about["Name"])
    if name in LOOKED_UP:
        return LOOKED_UP[name]
    classified = [c.split(" :: ")[-1] for c in about.get_all("Classifier", []) if "License" in c]
    said = [about.get("License-Expression") or "", *classified, about.get("License") or ""]
    for text in said:
        parts = re.split(r"\s+(?:and|or|with)\s+|/|;", text.strip().strip("()").lower())
        names = [_known(part.strip(" ()")) for part in parts if "\n" not in text]
        if names and all(names):
            return " and ".join(sorted(set(names)))
    return None


def _known(text: str) -> str | None:
    return next((name for form, name in KNOWN.items() if re.fullmatch(form, text)), None)


def table(packages: list[Distribution]) -> str:
    """Name, version and licence, as Markdown."""
    rows = [f"| {p.metadata['Name']} | {p.version} | {licence_of(p)} |" for p in packages]
    return "\n".join(["| package | version | licence |", "|---|---|---|", *rows])


def main() -> int:
    packages = needed()
    unknown = [p for p in packages if licence_of(p) is None]
    for package in unknown:
        about = package.metadata
        said = about.get("License-Expression") or about.get("License") or "nothing"
        print(f"{about['Name']}: its licence is not known; it says {said[:80]!r}", file=sys.stderr)
    if unknown:
        return 1
    head = (
        "# Licences\n\nOf what sciops needs, with all extras (`make licences` writes this page).\n"
    )
    (ROOT / "LICENCES.md").write_text(f"{head}\n{table(packages)}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
