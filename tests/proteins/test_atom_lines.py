"""What Biopython is given of a file: all that decides about a chain, and not much more."""

from pathlib import Path

import pytest

from sciops.proteins.atom_lines import cif_lines, pdb_lines
from sciops.proteins.structures import read_structure

from .test_structures import atom, cif, pdb, peptide, residue

SIDE = [atom(name, "ALA", 1, 0.5) for name in ("O", "H", "HA")]
HERE = Path("toy")


@pytest.fixture(params=["pdb", "cif"])
def kept(request):
    """The names of the atoms that are left of models."""
    write, read = (pdb, pdb_lines) if request.param == "pdb" else (cif, cif_lines)
    return lambda *models: _kept(read(write(*models).encode(), HERE), request.param)


def _kept(text, kind):
    if kind == "pdb":
        return [line[12:16].strip() for line in text.decode().splitlines() if line[:4] != "MODE"
                and line.startswith(("ATOM", "HETATM"))]  # fmt: skip
    rows = [line for line in text.decode().splitlines() if not line.startswith(("_", "data_"))]
    return [row.split()[0] for row in rows if row not in ("loop_", "#")]


def test_of_residues_the_backbone(kept):
    assert kept(peptide("ALA") + SIDE) == ["N", "CA", "C", "CB"]


def test_of_residues_without_backbone_the_first_atom(kept):
    assert kept(SIDE) == ["O"]
    assert kept(peptide("GLY") + [{**a, "number": 2} for a in SIDE])[4:] == ["O"]


def test_of_other_models_the_first_atom(kept):
    assert kept(*[peptide("ALA GLY")] * 3) == ["N", "CA", "C", "CB"] * 2 + ["N"] * 2


def test_lines_keep_their_numbers():
    text = "HEADER\nREMARK\n" + pdb(peptide("ALA"))
    lines = pdb_lines(text.encode(), HERE).decode().splitlines()
    assert lines[:2] == ["", ""] and lines[2:6] == text.splitlines()[2:6]


def test_nothing_follows_the_end():
    text = pdb(peptide("ALA")).replace("END\n", "END   \n") + pdb(peptide("TRP", first=2))
    assert len(pdb_lines(text.encode(), HERE).splitlines()) == 4


def test_residues_of_side_chains_alone_stay(tmp_path):
    atoms = [*peptide("ALA"), atom("OG", "SER", 2, 3.8), atom("HG", "SER", 2, 3.8)]
    (tmp_path / "a.pdb").write_text(pdb(atoms))
    assert read_structure(tmp_path / "a.pdb").sequence == "AS"


def test_words_in_quotation_marks(tmp_path):
    text = cif(peptide("ALA GLY")).replace(" A 1\n", " 'A' 1\n").replace(" CA ", ' "CA" ')
    (tmp_path / "a.cif").write_text(text)
    assert read_structure(tmp_path / "a.cif", chain="A").sequence == "AG"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("ATOM ", "ATOM\n"),
        lambda text: text.replace("_atom_site.Cartn_x\n", "_atom_site.x\n"),
        lambda text: text + text,
        lambda text: text.replace("loop_", ""),
        lambda text: "data_x\n",
    ],
)
def test_mmcif_that_is_not_written_as_usual(change):
    assert cif_lines(change(cif(residue("ALA", 1, 0.0))).encode(), HERE) is None
