"""Licences of what is installed are known, and the page has them all."""

from email.message import Message

import pytest

from docs import licences
from docs.licences import ROOT, licence_of, needed


class Package:
    """A distribution that says this of itself."""

    version = "1"

    def __init__(self, **about: str):
        self.metadata = Message()
        self.metadata["Name"] = "toy"
        for name, value in about.items():
            self.metadata[name.replace("_", "-")] = value


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({"License_Expression": "Apache-2.0"}, "Apache-2.0"),
        (
            {"License_Expression": "MIT AND (BSD-3-Clause OR Apache-2.0)"},
            "Apache-2.0 and BSD and MIT",
        ),
        ({"Classifier": "License :: OSI Approved :: MIT License"}, "MIT"),
        ({"License": "BSD 3-Clause"}, "BSD"),
        ({"License": "Our own, ask us"}, None),
        ({"License_Expression": "MIT AND Proprietary"}, None),
        ({}, None),
    ],
)
def test_what_metadata_say(about, expected):
    assert licence_of(Package(**about)) == expected


def test_everything_that_is_installed_has_a_known_licence():
    packages = needed()
    assert [p.metadata["Name"] for p in packages if licence_of(p) is None] == []
    page = (ROOT / "LICENCES.md").read_text(encoding="utf-8")
    missing = [p.metadata["Name"] for p in packages if f"| {p.metadata['Name']} |" not in page]
    assert not missing, f"{missing} are not in LICENCES.md; run `make licences`"


def test_an_unknown_licence_ends_with_an_error(monkeypatch, capsys):
    monkeypatch.setattr(licences, "needed", lambda: [Package(License="Our own, ask us")])
    assert licences.main() == 1
    assert "toy: its licence is not known; it says 'Our own, ask us'" in capsys.readouterr().err
